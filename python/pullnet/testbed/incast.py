"""Kernel TCP in an incast through a testbed: all hosts answer a single host at the same time.

All hosts are driven by one thread, so that on two cores the switch keeps one to itself.
"""

import selectors
import socket
import statistics
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pullnet.errors import InputError
from pullnet.testbed import kernel
from pullnet.testbed.bed import Bed

PORT = 5001
RTO_MS = 190.0
"""A flow that took longer has waited for Linux's least retransmission timeout, 200 ms."""
_CHUNK = 1 << 18
_LIMIT_S = 30.0


@dataclass
class Flow:
    """A persistent connection from one sender to the receiver."""

    sender: socket.socket
    receiver: socket.socket
    to_send: int = 0
    to_receive: int = 0


@dataclass(frozen=True)
class Outcome:
    """Completion times. Unit: milliseconds; percentiles are over all flows of all rounds."""

    congestion_control: str
    senders: int
    size: int
    rounds: int
    ideal_ms: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    last_p50_ms: float
    rounds_over_190_ms: int
    dropped: int
    lasts_ms: list[float] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def available() -> list[str]:
    """Congestion controls of this kernel."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()


def incast(bed: Bed, *, size: int, rounds: int, congestion_control: str, protocol: int = 0) -> Outcome:
    """Run an incast to the first host from all others, `size` bytes each, so many times.

    `protocol` is that of the sockets: 0 for TCP, or `socket.IPPROTO_MPTCP`.
    """
    if congestion_control not in (known := available()):
        raise InputError(f"{congestion_control}: this kernel has {', '.join(known)}")
    flows = _connect(bed, congestion_control, protocol)
    try:
        _round(flows, size)  # Slow start from nothing is not what is measured.
        before = _dropped(bed)
        times = [_round(flows, size) for _ in range(rounds)]
        dropped = _dropped(bed) - before
    finally:
        for flow in flows:
            flow.sender.close()
            flow.receiver.close()
    return _outcome(bed, times, size, congestion_control, dropped)


def _outcome(bed: Bed, times: list[list[float]], size: int, congestion_control: str, dropped: int) -> Outcome:
    every = sorted(time * 1e3 for round in times for time in round)
    lasts = [max(round) * 1e3 for round in times]
    senders = len(bed.plan.hosts) - 1
    return Outcome(
        congestion_control,
        senders,
        size,
        len(times),
        senders * _on_the_wire(size, bed.plan.mtu) * 8e3 / bed.plan.hosts[0].rate_bps,
        _percentile(every, 50),
        _percentile(every, 90),
        _percentile(every, 99),
        statistics.median(lasts),
        sum(last > RTO_MS for last in lasts),
        dropped,
        [round(last, 3) for last in lasts],
    )


def _on_the_wire(size: int, mtu: int) -> int:
    """Bytes of the frames that carry `size` bytes: 20 B of IP, 32 B of TCP with timestamps, 14 B of Ethernet each."""
    return size + -(-size // (mtu - 52)) * 66


def _percentile(ordered: list[float], percent: int) -> float:
    """Nearest rank."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _dropped(bed: Bed) -> int:
    return sum(int(port["counters"]["if_out_discards"]) for port in bed.status()["ports"])


def _connect(bed: Bed, congestion_control: str, protocol: int) -> list[Flow]:
    receiver, *senders = bed.plan.hosts
    with kernel.inside(bed.plan.namespace(receiver.name)):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((receiver.ip, PORT))
    listener.listen(len(senders))
    flows = []
    with listener:
        listener.settimeout(_LIMIT_S)
        for sender in senders:
            with kernel.inside(bed.plan.namespace(sender.name)):
                out = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
            out.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
            out.settimeout(_LIMIT_S)
            out.connect((receiver.ip, PORT))
            flows.append(Flow(out, listener.accept()[0]))
    for flow in flows:
        flow.sender.setblocking(False)
        flow.receiver.setblocking(False)
        flow.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return flows


def _round(flows: list[Flow], size: int) -> list[float]:
    """Let every sender send at once; seconds until its last byte has arrived, for each."""
    payload, room = memoryview(bytes(min(size, _CHUNK))), bytearray(_CHUNK)
    times = [0.0] * len(flows)
    with selectors.DefaultSelector() as ready:
        for number, flow in enumerate(flows):
            flow.to_send = flow.to_receive = size
            ready.register(flow.sender, selectors.EVENT_WRITE, number)
            ready.register(flow.receiver, selectors.EVENT_READ, number)
        start, left = time.perf_counter(), len(flows)
        while left:
            events = ready.select(timeout=_LIMIT_S)
            if not events:
                raise InputError(f"{left} flows did not move for {_LIMIT_S:.0f} s; is the switch of the testbed up?")
            for key, _ in events:
                flow = flows[key.data]
                if key.events == selectors.EVENT_WRITE:
                    flow.to_send -= flow.sender.send(payload[: min(flow.to_send, len(payload))])
                    if flow.to_send == 0:
                        ready.unregister(flow.sender)
                    continue
                got = flow.receiver.recv_into(room)
                if got == 0:
                    raise InputError("a connection of the incast was closed by the kernel")
                flow.to_receive -= got
                if flow.to_receive == 0:
                    times[key.data] = time.perf_counter() - start
                    ready.unregister(flow.receiver)
                    left -= 1
    return times
