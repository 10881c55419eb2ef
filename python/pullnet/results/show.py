"""A result as a person reads it on a terminal."""

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table

from pullnet.results.result import Result
from pullnet.results.stuck import LISTED, stuck_flow
from pullnet.results.summary import FlowCounts, Spread, Summary


def show(result: Result, console: Console) -> None:
    """Print the summary of `result`, and where it lies."""
    summary = result.summary
    world = "" if summary.world == "simulator" else f" ({summary.world})"
    console.print(f"{summary.scenario}, seed {summary.seed}{world}", style="bold", markup=False, highlight=False)
    console.print(_facts(summary))
    if summary.fct_us.p50 is not None:
        console.print(_flows(summary))
    for line in notes(summary):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if result.path is not None:
        console.print(f"result: {result.path}", markup=False, highlight=False, soft_wrap=True)


def _facts(summary: Summary) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, value in facts(summary):
        table.add_row(name, value)
    return table


def facts(summary: Summary) -> Iterator[tuple[str, str]]:
    """Return what a run came to, as names and values."""
    packets, cost, simulated = summary.packets, summary.cost, summary.world == "simulator"
    yield "simulated" if simulated else "played", f"{time(summary.simulated_us)}, {summary.ended}"
    yield "flows", flow_counts(summary.flows)
    yield "goodput", f"{number(summary.goodput_gbps.total)} Gb/s in {window(summary)}"
    use = summary.utilisation
    yield "utilisation", f"{number(use.mean)} (worst host {number(use.min)}, best {number(use.max)})"
    yield (
        "data packets",
        f"{packets.data_sent} sent, {packets.data_delivered} delivered, {packets.retransmitted} sent again",
    )
    yield (
        "in the network",
        f"{packets.trimmed} trimmed, {packets.returned} returned, {packets.dropped} dropped, {packets.lost} lost",
    )
    if packets.trimmed:
        yield (
            "trimmed at",
            ", ".join(f"{tier} {count}" for tier, count in packets.trimmed_by_tier.items() if count),
        )
    unexplained = summary.unexplained_timeouts
    yield "timeouts", str(summary.timeouts) + (f", {unexplained} of them without a lost packet" if unexplained else "")
    due = summary.deadlines
    if due.stated:
        yield "deadlines", f"{due.met} met, {due.missed} missed ({number(due.share_met)} met)"
    jobs = summary.coflows
    if jobs.started:
        yield "coflows", f"{jobs.completed} of {jobs.started} completed, {number(jobs.cct_us.mean)} us on average"
    for tenant, of_tenant in summary.by_tenant.items():
        yield f"tenant {tenant}", f"{number(of_tenant.goodput_gbps)} Gb/s, {flow_counts(of_tenant.flows)}"
    speed = "" if cost.packet_hops_per_cpu_s is None else f", {cost.packet_hops_per_cpu_s / 1e6:.2f} M packet-hops/s"
    yield "cost", f"{cost.wall_s:.2f} s, {cost.cpu_s:.2f} CPU-s{speed}, {cost.peak_rss_bytes / 1e6:.0f} MB"
    if simulated:
        yield "fingerprint", summary.fingerprint


def window(summary: Summary) -> str:
    """Return the measurement window in words."""
    start, end = summary.window_us
    unit, factor = _unit(end)
    return f"{start / factor:g} to {end / factor:g} {unit}"


def time(us: float) -> str:
    """Return a time in the largest unit in which it is at least 1: "63.5164 ms"."""
    unit, factor = _unit(us)
    return f"{us / factor:g} {unit}"


def _unit(us: float) -> tuple[str, float]:
    """Return the unit in which a time is shown, and how many microseconds it is."""
    return next(((unit, factor) for unit, factor in (("s", 1e6), ("ms", 1e3)) if us >= factor), ("us", 1.0))


def flow_counts(flows: FlowCounts) -> str:
    """Return "17 started, 16 completed, ..."."""
    parts = [f"{flows.started} started", f"{flows.completed} completed"]
    parts += [f"{flows.failed} failed"] if flows.failed else []
    parts += [f"{flows.unfinished} unfinished"] if flows.unfinished else []
    parts += [f"{flows.endless} of them endless"] if flows.endless else []
    return ", ".join(parts)


def _flows(summary: Summary) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("FCT in us")
    for heading in ("completed", "unfinished", "mean", "p50", "p90", "p99", "max", "slowdown p50", "p99"):
        table.add_column(heading, justify="right")
    for tag, of_tag in summary.by_tag.items():
        table.add_row(tag or "-", *_cells(of_tag.flows, of_tag.fct_us, of_tag.slowdown))
    if len(summary.by_transport) > 1:
        for name, carried in summary.by_transport.items():
            table.add_row(f"by {name}", *_cells(carried.flows, carried.fct_us, carried.slowdown))
    if len(summary.by_tag) > 1:
        table.add_row("all", *_cells(summary.flows, summary.fct_us, summary.slowdown))
    return table


def _cells(flows: FlowCounts, fct: Spread, slowdown: Spread) -> list[str]:
    values = [fct.mean, fct.p50, fct.p90, fct.p99, fct.max, slowdown.p50, slowdown.p99]
    return [str(flows.completed), str(flows.unfinished), *(number(value) for value in values)]


def number(value: float | None) -> str:
    """Return four significant digits, or a dash for what was not measured."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def notes(summary: Summary) -> Iterator[str]:
    """Return what a reader must not overlook."""
    if summary.interrupted:
        yield "interrupted: everything here ends where the run was broken off"
    elif not summary.complete:
        yield "ended early: the time limit came before all flows were done"
    for reason, count in summary.failures.items():
        yield f"failed: {count} flows: {reason}"
    for flow in summary.stuck[:LISTED]:
        yield f"stuck: {stuck_flow(flow)}"
    if len(summary.stuck) > LISTED:
        yield f"stuck: {len(summary.stuck) - LISTED} more flows; summary.json lists them all"
    for warning in summary.warnings:
        yield f"warning: {warning}"
