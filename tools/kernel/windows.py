"""Congestion windows of this kernel's TCP, DCTCP or MPTCP, round trip by round trip, under scripted losses and marks.

    python tools/kernel/windows.py vectors/kernel/scripts.toml vectors/kernel/NAME.json [SCRIPT ...]

Needs root. Sender and receiver are sockets of this process in namespaces of their own. Time is cut into round trips:
the sender's packets are held, then delivered one by one except for the script's losses; the ACKs are held and delivered
in the same way. Timers of the kernel run meanwhile; nothing else depends on the clock.
"""

import ctypes
import json
import os
import platform
import socket
import struct
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import wires

MSS = 1460
DEFAULTS = {"sack": True, "delayed_ack": False, "packets": 2000, "rounds": 12, "lose": [], "mark": [], "mark_every": 1}
"""Of a script that does not state them."""
DATA_PHASE, ACK_PHASE = 0.05, 0.07
"""How long the sender's packets are collected, and how long the ACKs: a delayed ACK takes 40 ms, and the
timeout of 320 ms falls in the middle of a round trip. Seconds."""
LONGEST_WAIT = 8.0
"""For a timeout. Seconds."""
SLACK = 0.06
"""By which a round trip may take longer before timers of the kernel could notice. Seconds."""
ATTEMPTS = 50
"""To run a script without being held up for longer than that by other work of the machine."""
TCP_CC_INFO, SO_SNDBUFFORCE, SO_RCVBUFFORCE = 26, 32, 33
IPPROTO_MPTCP, SOL_MPTCP, MPTCP_TCPINFO = 262, 284, 2
BUFFER = 1 << 24
DELAYING_BUFFER = 1 << 17
"""Linux delays no ACK while the receive window grows: with this buffer for some twenty packets. Bytes."""
PORT = 5001

SETTINGS: dict[str, int | str] = {
    "net.ipv4.tcp_timestamps": 0,
    "net.ipv4.tcp_dsack": 0,
    "net.ipv4.tcp_frto": 0,
    "net.ipv4.tcp_comp_sack_nr": 0,
    "net.ipv4.tcp_no_metrics_save": 1,
    "net.ipv4.tcp_early_retrans": 0,
    "net.ipv4.tcp_recovery": 0,
    "net.ipv4.tcp_rmem": f"4096 {BUFFER} {BUFFER}",
    "net.ipv4.tcp_wmem": f"4096 {BUFFER} {BUFFER}",
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
}


def settings_of(script: dict[str, Any]) -> dict[str, int | str]:
    """Settings of the namespaces for a script."""
    ecn = 1 if script["protocol"] == "dctcp" else 0
    more = {"net.ipv4.tcp_sack": int(script["sack"]), "net.ipv4.tcp_ecn": ecn}
    if "kernel_recovery" in script:
        more["net.ipv4.tcp_recovery"] = script["kernel_recovery"]
    if script.get("kernel_probes"):
        more["net.ipv4.tcp_early_retrans"] = 3
    return SETTINGS | more


class HeldUpError(Exception):
    """A round trip took so long that a timer may have expired for that reason alone."""


class Plan:
    """Lost and marked copies of packets; a prefix "LINE:" names one of several lines."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.lost = {key for text in script["lose"] if "@" not in text for key in _keys(text)}
        self.lost_places = {tuple(map(int, text[6:].split("@"))) for text in script["lose"] if "@" in text}
        rounds = [text.removeprefix("round ") for text in script["mark"] if text.startswith("round ")]
        self.rounds = {number for text in rounds for _, number, _ in _keys(text)}
        self.every = script["mark_every"]
        self.marks = {key for text in script["mark"] if not text.startswith("round ") for key in _keys(text)}
        self.copies: dict[tuple[int, int], int] = {}

    def fate(self, line: int, number: int, place: tuple[int, int]) -> tuple[bool, bool]:
        """Whether this copy of the packet is lost, and whether it is marked; `place`: round trip, and place there."""
        copy = self.copies[line, number] = self.copies.get((line, number), 0) + 1
        key = (line, number, copy)
        trip, position = place
        lost = key in self.lost or place in self.lost_places
        return lost, key in self.marks or (trip in self.rounds and position % self.every == 0)


def _keys(text: str) -> list[tuple[int, int, int]]:
    line, _, rest = text.rpartition(":")
    numbers, _, copy = rest.partition("#")
    limits, _, step = numbers.partition("/")
    first, _, last = limits.partition("-")
    return [
        (int(line or 0), number, int(copy or 1)) for number in range(int(first), int(last or first) + 1, int(step or 1))
    ]


def _ranges(numbers: list[int]) -> str:
    """The numbers in their order: "40 70-72"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


class Talk:
    """A connection of the kernel with itself."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.multipath = script["protocol"] == "mptcp"
        lines = 2 if self.multipath else 1
        self.hosts = wires.Hosts(lines, settings_of(script), quick_acks=not script["delayed_ack"])
        self.plan = Plan(script)
        self.numbers: list[dict[int, int]] = [{} for _ in range(lines)]
        """Number of each packet, by line and sequence number: segments of MPTCP are of several lengths."""
        self.near = [line.near for line in self.hosts.lines]
        self.far = [line.far for line in self.hosts.lines]
        if self.multipath:
            self._allow_subflows()
        self._connect()

    def _allow_subflows(self) -> None:
        for namespace in (self.hosts.sender, self.hosts.receiver):
            with wires.inside(namespace):
                wires.ip("mptcp limits set subflow 2 add_addr_accepted 2")
        with wires.inside(self.hosts.sender):
            wires.ip("mptcp endpoint add 10.78.1.1 dev eth1 subflow")

    def _socket(self) -> socket.socket:
        protocol = IPPROTO_MPTCP if self.multipath else socket.IPPROTO_TCP
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        control = "dctcp" if self.script["protocol"] == "dctcp" else "reno"
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, BUFFER)
        room = DELAYING_BUFFER if self.script["delayed_ack"] else BUFFER
        made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, room)
        made.setblocking(False)
        return made

    def _connect(self) -> None:
        with wires.inside(self.hosts.receiver):
            # Kept open: further subflows join through it.
            self.listener = self._socket()
            self.listener.bind(("0.0.0.0", PORT))
            self.listener.listen(1)
        with wires.inside(self.hosts.sender):
            self.sender = self._socket()
            self.sender.bind(("10.78.0.1", 0))
            self.sender.connect_ex(("10.78.0.2", PORT))
        accepted = None
        for _ in range(4):
            self._deliver_all()
            if accepted is None:
                try:
                    accepted, _ = self.listener.accept()
                except BlockingIOError:
                    continue
        if accepted is None:
            raise RuntimeError(f"{self.script['name']}: the connection is not established")
        self.receiver = accepted
        self.receiver.setblocking(False)

    def _deliver_all(self) -> None:
        """A round trip of the handshake: nothing is lost in it."""
        for line, frames in enumerate(wires.gather(self.near, DATA_PHASE)):
            for frame in frames:
                self.far[line].send(frame)
        for line, frames in enumerate(wires.gather(self.far, ACK_PHASE)):
            for frame in frames:
                self.near[line].send(frame)

    def run(self) -> list[dict[str, Any]]:
        """Send the script's packets; return a row for each round trip."""
        if self.multipath:
            self._join()
        self._write(self.script["packets"] * MSS)
        rows: list[dict[str, Any]] = []
        while len(rows) < self.script["rounds"]:
            begin = time.monotonic()
            flying = wires.gather(self.near, DATA_PHASE)
            waited = 0.0
            if not any(flying):
                before = time.monotonic()
                if not wires.wait(self.near, LONGEST_WAIT):
                    break
                waited = time.monotonic() - before
                flying = wires.gather(self.near, 0.005)
            sent = [self._cross(line, frames, len(rows)) for line, frames in enumerate(flying)]
            answers = wires.gather(self.far, ACK_PHASE)
            for line, frames in enumerate(answers):
                for frame in frames:
                    self.near[line].send(frame)
            if time.monotonic() - begin - waited > DATA_PHASE + ACK_PHASE + SLACK:
                raise HeldUpError
            row = {"sent": [_ranges(numbers) for numbers in sent], "acks": [len(frames) for frames in answers]}
            rows.append(row | ({"waited_ms": round(waited * 1000)} if waited else {}) | self._state())
        return rows

    def close(self) -> None:
        """Give the kernel back what the connection has taken."""
        # Without lingering: what was not acknowledged would keep its memory until the kernel gives the peer up.
        for end in (self.sender, self.receiver):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for end in (self.sender, self.receiver, self.listener, *self.near, *self.far):
            end.close()
        self.hosts.close()

    def _write(self, size: int) -> None:
        if self.sender.send(bytes(size)) != size:
            raise RuntimeError(f"{self.script['name']}: {size} B do not fit into the send buffer")

    def _join(self) -> None:
        """The second subflow joins once the first has carried data: one packet, which no window notices."""
        self._write(1)
        for _ in range(4):
            self._deliver_all()
            self._read()

    def _cross(self, line: int, frames: list[bytes], trip: int) -> list[int]:
        """Deliver the sender's frames of one line; return the numbers of its data packets."""
        numbers: list[int] = []
        for frame in frames:
            segment = wires.Segment.of(frame)
            if segment.payload == 0:
                self.far[line].send(frame)
                continue
            number = self.numbers[line].setdefault(segment.seq, len(self.numbers[line]))
            lost, mark = self.plan.fate(line, number, (trip, len(numbers)))
            numbers.append(number)
            if not lost:
                self.far[line].send(wires.marked(frame) if mark else frame)
                self._read()
        return numbers

    def _read(self) -> None:
        try:
            while self.receiver.recv(1 << 20):
                pass
        except BlockingIOError:
            return

    def _state(self) -> dict[str, Any]:
        infos = self._subflow_infos() if self.multipath else [self.sender.getsockopt(socket.IPPROTO_TCP, 11, 104)]
        fields = [struct.unpack_from("24I", info, 8) for info in infos]
        state: dict[str, Any] = {
            "window": [field[18] for field in fields],
            "threshold": [field[17] if field[17] < 1 << 30 else None for field in fields],
            "state": [info[1] for info in infos],
        }
        if self.script["protocol"] == "dctcp":
            _, _, alpha, _, _ = struct.unpack_from("HHIII", self.sender.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 16))
            state["alpha"] = alpha
        return state

    def _subflow_infos(self) -> list[bytes]:
        size, most = 104, 4
        buffer = ctypes.create_string_buffer(struct.pack("4I", 16, 0, 0, size).ljust(16 + most * size, b"\0"))
        length = ctypes.c_uint(len(buffer.raw) - 1)
        where = (self.sender.fileno(), SOL_MPTCP, MPTCP_TCPINFO)
        if wires.LIBC.getsockopt(*where, buffer, ctypes.byref(length)) != 0:
            raise OSError(ctypes.get_errno(), "MPTCP_TCPINFO")
        count = min(struct.unpack_from("4I", buffer.raw)[1], most)
        return [buffer.raw[16 + index * size : 16 + (index + 1) * size] for index in range(count)]


def _text(result: dict[str, Any]) -> str:
    """JSON with a line for each round trip."""
    parts = []
    for name, run in result["scripts"].items():
        lines = ",\n".join(f"  {json.dumps(row)}" for row in run["rounds"])
        parts.append(f' {json.dumps(name)}: {{"script": {json.dumps(run["script"])}, "rounds": [\n{lines}\n ]}}')
    return f'{{"kernel": {json.dumps(result["kernel"])}, "scripts": {{\n' + ",\n".join(parts) + "\n}}\n"


def measured(script: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a script until the machine does not hold it up."""
    for _ in range(ATTEMPTS):
        talk = Talk(script)
        try:
            return talk.run()
        except HeldUpError:
            print(f"{script['name']}: held up, again", flush=True)
        finally:
            talk.close()
    raise RuntimeError(f"{script['name']}: this machine is too busy")


def main() -> None:
    """Measure the named scripts of a file, or all of them."""
    scripts, out, chosen = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
    found: dict[str, Any] = {}
    for given in tomllib.loads(scripts.read_text(encoding="utf-8"))["script"]:
        script = DEFAULTS | given
        name, protocol = script["name"], script["protocol"]
        if chosen and name not in chosen:
            continue
        if protocol == "dctcp" and "dctcp" not in available:
            print(f"{name}: skipped, this kernel has no dctcp", flush=True)
            continue
        if protocol == "mptcp" and not Path("/proc/sys/net/mptcp").exists():
            print(f"{name}: skipped, this kernel has no MPTCP", flush=True)
            continue
        rows = measured(script)
        found[name] = {"script": script, "rounds": rows}
        print(name, [row["window"] for row in rows], flush=True)
    result = {"kernel": platform.release(), "scripts": found}
    out.write_text(_text(result), encoding="utf-8")
    os.sync()


if __name__ == "__main__":
    main()
