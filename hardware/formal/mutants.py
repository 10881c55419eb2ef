"""Breaks the RTL in one place at a time and sees that a property fails from reset on: mutants.py OUT [MODULE...].

A proof is worth only as much as the properties that it proves. Each change below is a mistake that somebody might make;
if bounded model checking finds no property that fails, the properties are too weak.
"""

import json
import sys
from pathlib import Path

from run import RTL, failed, run

# Module, what is wrong, the text of the RTL, and what stands in its place.
MUTANTS = [
    ("fifo", "takes words when it is full", "assign in_ready = count != (A + 1)'(DEPTH);", "assign in_ready = 1'b1;"),
    ("fifo", "forgets the word at its output", "load || (out_valid && !out_ready);", "load;"),
    (
        "short_fifo",
        "reads the word behind",
        "assign out_data = words[head];",
        "assign out_data = words[A'(head + 1'b1)];",
    ),
    ("deep_fifo", "reads ahead without room", "waiting != 0 && ahead != ($clog2(AHEAD) + 1)'(AHEAD);", "waiting != 0;"),
    ("skid", "writes over a word that waits", "if (!full && int'(tail) == place)", "if (int'(tail) == place)"),
    ("round_robin", "grants two at once", "first & (~first + 1'b1)", "first"),
    ("round_robin", "begins at the first in each turn", "~(grant | (grant - 1'b1))", "'1"),
    (
        "round_robin",
        "drops the grant of the last",
        "& (~first + 1'b1) : '0",
        "& (~first + 1'b1) & {1'b0, {(N - 1) {1'b1}}} : '0",
    ),
    ("cell_turns", "counts a request that a grant has met", "request & ~grant)", "request)"),
    ("cell_turns", "lets a port begin for ever", "stayed ? '0 : grant", "grant"),
    ("free_list", "gives a number out twice", "fresh <= fresh + WIDTH'(STEP);", "fresh <= fresh;"),
    ("free_list", "throws numbers away that come back", "out_ready && fresh_left == 0", "out_ready"),
    ("tail_queue", "takes frames without room", "keeps = takes && fits;", "keeps = takes;"),
    (
        "tail_queue",
        "does not count the frame in service",
        "- (done ? serving : '0)",
        "- (next_valid ? first_share : '0)",
    ),
    ("tail_queue", "takes in one frame after the other", "!(takes && wants)", "1'b1"),
    ("trim_queue", "takes in one frame after the other", "!(takes && wants)", "1'b1"),
    ("trim_queue", "serves control first, always", "control_count != 0 && !data_first;", "control_count != 0;"),
    ("trim_queue", "swaps the classes", "control = is_control(in.kind);", "control = !is_control(in.kind);"),
    ("trim_queue", "loses the header of the tail", "takes && to_control;", "takes && to_control && !swap;"),
    ("trim_queue", "leaves the length as it was", "header.len = len_t'(loser.keep);", "header.len = loser.len;"),
    ("trim_queue", "trims other protocols", "!data_fits && loser.kind == DATA;", "!data_fits;"),
    (
        "trim_queue",
        "overfills the control queue",
        "to_control = (control || trims) && control_fits;",
        "to_control = control || trims;",
    ),
    ("header_plan", "leaves the old length in the checksum", "{8'b0, ~frame.ip_len} + ", ""),
    (
        "trim_queue",
        "keeps the payload of what it trims",
        "header.has_body = 1'b0;",
        "header.has_body = loser.has_body;",
    ),
    (
        "trim_queue",
        "takes any number of long control frames",
        " && !(in_fit.is_long && long_count == LA'(LONG_CONTROL));",
        ";",
    ),
    ("releaser", "gives a payload back too early", "count.bodies == 2'(COPIES - 1)", "count.bodies == 2'(COPIES - 2)"),
    (
        "releaser",
        "gives a first cell back with its payload",
        "now.has_head && (!now.shared || final_head)",
        "(!now.shared || final_head)",
    ),
    (
        "egress",
        "keeps the first cell of what it sends",
        "'{held.head, held.body, 1'b1, held.has_body, held.shared}",
        "'{held.head, held.body, 1'b0, held.has_body, held.shared}",
    ),
    ("egress", "begins a cell without room for it", "room_then >= ($clog2(DEPTH) + 1)'(BANKS)", "room_then != 0"),
    (
        "egress",
        "reads one beat too few",
        "final_bank <= B'(cell_beats - 1'b1);",
        "final_bank <= B'(cell_beats - 2'd2);",
    ),
    ("egress", "begins again without room for it", "room_then > ($clog2(DEPTH) + 1)'(BANKS) && !rst;", "!rst;"),
    ("egress", "says that a frame has left when it is not its turn", "wants && turn;", "wants;"),
    ("admission", "sends frames back to where they came from", "    to_mask &= others;\n", ""),
    (
        "admission",
        "takes a frame from two ports",
        "in_ready <= rst ? '0 : grant;",
        "in_ready <= rst ? '0 : grant | (grant << 1);",
    ),
    (
        "admission",
        "forgets a frame that waits",
        "leave4 = step && (mask4 & ~now) == 0;",
        "leave4 = valid4;",
    ),
    ("admission", "loses headers that are sent back", "round_in_valid = back9;", "round_in_valid = 1'b0;"),
    ("admission", "keeps first cells of what is dropped", "release8.has_head = dropped8;", "release8.has_head = 1'b0;"),
    ("admission", "keeps payloads of what is cut", "(dropped8 || cut8);", "dropped8;"),
    (
        "admission",
        "forgets an offer that a queue does not take",
        "(order.to_queue & enqueue_ready) != 0;",
        "1'b1;",
    ),
    (
        "ingress",
        "takes beats without room for those on their way",
        "beats < ($clog2(DEPTH) + 1)'(DEPTH - ON_THE_WAY)",
        "beats < ($clog2(DEPTH) + 1)'(DEPTH)",
    ),
    (
        "ingress",
        "asks while the cell before has two more beats",
        "ending = after <= B'(1);",
        "ending = after <= B'(2);",
    ),
    (
        "ingress",
        "begins again without a first cell",
        "waiting > ($clog2(CELLS) + 1)'(1) && have_spare\n",
        "waiting > ($clog2(CELLS) + 1)'(1)\n",
    ),
    (
        "ingress",
        "gives two frames one payload",
        "have_body <= have_body ? !(place && body_used) : body_valid;",
        "have_body <= have_body || body_valid;",
    ),
    (
        "ingress",
        "places a frame at the end of each cell",
        "place = last_of_cell && ends_frame;",
        "place = last_of_cell;",
    ),
    ("parser", "makes a ticket for each beat", "out_valid <= valid5 && last5 && !rst;", "out_valid <= valid5 && !rst;"),
    ("parser", "counts bytes that do not belong to the frame", "* 14'(W / 8)) - len_t'(empty);", "* 14'(W / 8));"),
    (
        "parser",
        "believes an IP header that ends behind the frame",
        "ip3 = (top3.v4 || top3.v6) && len_t'({top3.next, 2'b10}) <= top3.len;",
        "ip3 = top3.v4 || top3.v6;",
    ),
    ("parser", "trims headers that do not fit into a cell", "ours4 && least4 <= len_t'(MAX_HEADERS) && ", "ours4 && "),
]


def main() -> None:
    """Try every change to the modules that the command line names."""
    if len(sys.argv) < 2:
        sys.exit("usage: mutants.py OUT [MODULE...]")
    out = Path(sys.argv[1])
    chosen = sys.argv[2:] or sorted({module for module, *_ in MUTANTS})
    weak, results = [], {}
    for number, (module, wrong, text, instead) in enumerate(MUTANTS):
        if module not in chosen:
            continue
        sound = (RTL / f"{module}.sv").read_text(encoding="utf-8")
        if sound.count(text) != 1:
            sys.exit(f"mutants.py: {module}.sv has {text!r} {sound.count(text)} times, which must be once")
        place = out / f"mutant-{number}"
        place.mkdir(parents=True, exist_ok=True)
        broken = place / f"{module}.sv"
        broken.write_text(sound.replace(text, instead), encoding="utf-8")
        verdict, seconds = run(place, module, "bmc", {f"{module}.sv": broken})
        found = failed(place, module) if verdict == "FAIL" else []
        seen = ", ".join(found) or ("NOT SEEN" if verdict == "PASS" else f"NO VERDICT ({verdict})")
        if not found:
            weak.append(f"{module} {wrong}: {seen}")
        results[f"{module} {wrong}"] = {"verdict": verdict, "failed": found, "seconds": round(seconds)}
        # After each, so that a run that was broken off leaves what it has found.
        (out / "mutants.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
        print(f"{module} {wrong}: {seen} ({seconds:.0f} s)", flush=True)
    if weak:
        sys.exit(f"no property fails where {'; '.join(weak)}")


if __name__ == "__main__":
    main()
