"""The golden vectors of trimming and of drop-tail (vectors/qdisc), replayed through the queues of the RTL."""

import json
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

VECTORS = Path(__file__).resolve().parents[2] / "vectors" / "qdisc"
KINDS = ["data", "control", "header", "returned", "foreign"]
DEFAULTS = {"data_queue": "8 packets", "control_queue": "72 kB", "control_per_data": 10, "trim_to": "64 B"}
TAIL_DEFAULTS = {**DEFAULTS, "data_queue": "200 packets"}


def room(text: str) -> tuple[int, bool]:
    """Room in a queue: a number, and whether it counts bytes."""
    number, unit = text.split()
    return int(float(number) * {"packets": 1, "B": 1, "kB": 1000}[unit]), unit != "packets"


async def settle(dut: Any, discipline: str, config: dict[str, Any]) -> None:
    """Set the queue of this discipline up as the head of a file says."""
    tail = discipline == "drop-tail"
    given = {**TAIL_DEFAULTS, "data_queue": config.get("queue", TAIL_DEFAULTS["data_queue"])} if tail else DEFAULTS
    given = {**given, **config}
    dut.drop_tail.value = int(tail)
    dut.data_limit.value, dut.data_in_bytes.value = room(given["data_queue"])
    dut.control_limit.value, dut.control_in_bytes.value = room(given["control_queue"])
    dut.control_per_data.value = int(given["control_per_data"])
    dut.use_coin.value = given.get("victim", "coin") == "coin"
    dut.send_back.value = bool(given.get("return_to_sender", True))
    dut.mark.value = int("mark_above" in given)
    dut.mark_above.value = room(given.get("mark_above", "0 packets"))[0]
    dut.in_valid.value = dut.next.value = dut.done.value = 0
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0


def verdict(dut: Any) -> object:
    """Return the verdict in the words of the vectors."""
    number = int(dut.victim_id.value)
    match int(dut.verdict.value):
        case 0:
            return "queued"
        case 1:
            return {"trimmed": number}
        case 2:
            return {"returned": number}
        case 3:
            return {"dropped": number, "why": "data queue full", "trimmed": False}
        case _:
            return {"dropped": number, "why": "control queue full", "trimmed": bool(int(dut.victim_cut.value))}


async def enqueue(dut: Any, line: dict[str, Any]) -> object:
    """Offer a packet and return the verdict."""
    packet = line["pkt"]
    dut.in_id.value, dut.in_len.value = packet["id"], packet["len"]
    dut.in_kind.value = KINDS.index(packet["class"])
    dut.in_ect.value = int(packet.get("ect", False))
    dut.in_keep.value = min(64, packet["len"])
    dut.arriving_loses.value = line.get("coin") != "tail"
    dut.in_valid.value = 1
    await cocotb.triggers.Timer(1, "ns")
    assert int(dut.in_ready.value) == 1
    assert int(dut.coin_used.value) == ("coin" in line), line
    marked = line["verdict"] == "marked" or line.get("marked", False)
    assert int(dut.marks.value) == int(marked), line
    found = "marked" if line["verdict"] == "marked" and verdict(dut) == "queued" else verdict(dut)
    await FallingEdge(dut.clk)
    dut.in_valid.value = 0
    return found


async def dequeue(dut: Any) -> object:
    """Take the next packet."""
    dut.next.value = 1
    await cocotb.triggers.Timer(1, "ns")
    there = int(dut.next_valid.value)
    await FallingEdge(dut.clk)
    dut.next.value = 0
    if not there:
        return None
    kind = KINDS[int(dut.out_kind.value)]
    found = {"id": int(dut.out_id.value), "len": int(dut.out_len.value), "class": kind}
    # A frame that was marked where it came in is marked where it leaves; the vectors say `ce` of it.
    return {**found, "ce": True} if int(dut.out_marked.value) else found


async def step(dut: Any, line: dict[str, Any], where: str) -> None:
    """One line of a file."""
    if line["op"] == "enqueue":
        assert await enqueue(dut, line) == line["verdict"], where
    elif line["op"] == "dequeue":
        packet = line["pkt"]
        wanted = packet and {key: value for key, value in packet.items() if key != "ect"}
        assert await dequeue(dut) == wanted, where
    else:
        dut.done.value = 1
        await FallingEdge(dut.clk)
        dut.done.value = 0


async def replay(dut: Any, file: Path) -> int:
    """Compare every line of a file; return how many there are."""
    head, *lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    await settle(dut, head["discipline"], head["config"])
    for number, line in enumerate(lines, 2):
        where = f"{file.name}, line {number}"
        await step(dut, line, where)
        if head["discipline"] == "drop-tail":
            # Its front is a register one cycle behind its memory.
            await FallingEdge(dut.clk)
        await cocotb.triggers.Timer(1, "ns")
        after = line["after"]
        held = (int(dut.held_data.value), int(dut.held_control.value))
        assert held == (after["data_packets"], after["control_packets"]), where
    return len(lines)


def vectors(discipline: str) -> list[Path]:
    """The files of a discipline whose settings the RTL has: it marks by frames held, on arrival."""
    heads = {file: json.loads(file.read_text(encoding="utf-8").split("\n", 1)[0]) for file in VECTORS.glob("*.jsonl")}
    files = [file for file, head in heads.items() if head["discipline"] == discipline]
    return sorted(file for file in files if heads[file]["config"].get("mark_at", "enqueue") == "enqueue")


@cocotb.test()
async def the_trimming_queue_decides_as_the_vectors_say(dut: Any) -> None:
    """Every line of every file of the trimming discipline."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    files = vectors("trim")
    lines = [await replay(dut, file) for file in files]
    assert len(files) >= 10
    assert sum(lines) > 750


@cocotb.test()
async def the_drop_tail_queue_decides_as_the_vectors_say(dut: Any) -> None:
    """Replay the drop-tail vectors, except the file with marks on departure."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    files = vectors("drop-tail")
    lines = [await replay(dut, file) for file in files]
    assert len(files) >= 4
    assert sum(lines) > 300
