"""Up and down."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pullnet.errors import InputError
from pullnet.switch import ask
from pullnet.testbed import kernel, state
from pullnet.testbed.plan import Plan, checked, plan, slug

SWITCH_CORE = 1
HOST_CORE = 0
_SYSCTLS = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
    "net.ipv4.tcp_no_metrics_save": "1",
}
_PATIENCE_S = 120.0
_LOOP = "pullnet-switch"
"""Name of the thread in which a switch's loop runs."""


@dataclass(frozen=True)
class Bed:
    """A testbed that is up."""

    plan: Plan

    @property
    def control(self) -> Path:
        """The socket of its switches."""
        return state.path(self.plan.name, "sock")

    def status(self) -> dict[str, Any]:
        """How its switches stand."""
        status: dict[str, Any] = ask(self.control, {"do": "status"})
        return status

    def switch_threads(self) -> list[int]:
        """Return the kernel's numbers of the threads that move frames."""
        there = state.load(self.plan.name)
        return (
            [] if there is None else [thread for made in there.processes for thread in kernel.threads(made.pid, _LOOP)]
        )

    def command(self, host: str, command: list[str]) -> list[str]:
        """Return a command as it runs on a host."""
        if host not in (known := [host.name for host in self.plan.hosts]):
            raise InputError(f"{host}: is no host; there is {', '.join(known)}")
        return ["ip", "netns", "exec", self.plan.namespace(host), *command]


def read(
    file: Path, name: str | None = None, mtu: int | None = None, set: list[str] | None = None, *, spin: bool = False
) -> Plan:
    """Plan the testbed of a scenario file. Without `mtu` its longest packets fit, and those of 1500 B."""
    return plan(file, name, mtu, set or [], spin=spin)


def up(plan: Plan, *, core: int | None = SWITCH_CORE) -> Bed:
    """Make a testbed. If it is up already nothing happens; if making it fails, everything made is removed."""
    kernel.require()
    with state.alone(plan.name):
        if _is_up(plan):
            return Bed(plan)
        made = state.State(plan.name, str(plan.file), mtu=plan.mtu, switch_file=plan.switch_file)
        _refuse_foreign(plan)
        state.save(made)
        try:
            _make(plan, made, core)
        except BaseException:
            undo(made)
            raise
        return Bed(plan)


def _is_up(plan: Plan) -> bool:
    """Whether the testbed is there as planned. Removes the remains of a testbed that was not completed."""
    there = state.load(plan.name)
    if there is None:
        return False
    if there.phase == "making":
        undo(there)
        return False
    same = (there.file, there.mtu, there.switch_file) == (str(plan.file), plan.mtu, plan.switch_file)
    if not same:
        what = f"{plan.name}: is up with other settings or for {there.file}"
        raise InputError(f"{what}; take it down first: pullnet testbed down {there.file} --name {plan.name}")
    if not all(kernel.started(process.pid) == process.started for process in there.processes):
        raise InputError(f"{plan.name}: its switch has ended; take it down first: pullnet testbed down {there.file}")
    return True


def _refuse_foreign(plan: Plan) -> None:
    there = [name for name in plan.namespaces if kernel.inode(name) is not None]
    if there:
        raise InputError(
            f"{', '.join(there)}: there already, and not made by this testbed; choose another --name, or remove them "
            "yourself with ip netns del"
        )


def _make(plan: Plan, made: state.State, core: int | None) -> None:
    for name in plan.namespaces:
        made.namespaces.append(state.Namespace(name))
        state.save(made)
        made.namespaces[-1].inode = kernel.add(name)
        state.save(made)
    _links(plan)
    _switch(plan, made, core)
    made.phase = "up"
    state.save(made)


def _links(plan: Plan) -> None:
    """One pair of interfaces for each host: one end at the switch, called as its port, the other is the host's eth0."""
    switch = plan.namespace("switch")
    with kernel.inside(switch):
        kernel.set_sysctl(_SYSCTLS)
    pairs = [
        f"link add name {host.port} mtu {plan.mtu} type veth peer name eth0 mtu {plan.mtu} "
        f"address {host.mac} netns {plan.namespace(host.name)}"
        for host in plan.hosts
    ]
    kernel.ip(["-n", switch], [*pairs, *(f"link set dev {host.port} up" for host in plan.hosts)])
    for host in plan.hosts:
        with kernel.inside(plan.namespace(host.name)):
            kernel.set_sysctl(_SYSCTLS)
            kernel.offloads_off("eth0")
        others = [other for other in plan.hosts if other is not host]
        neighbours = [f"neigh add {other.ip} lladdr {other.mac} dev eth0 nud permanent" for other in others]
        own = ["link set dev lo up", "link set dev eth0 up", f"addr add {host.ip}/16 dev eth0"]
        kernel.ip(["-n", plan.namespace(host.name)], own + neighbours)


def _switch(plan: Plan, made: state.State, core: int | None) -> None:
    """Start the switches, in a session of their own, and wait until they answer."""
    config, control, log = (state.path(plan.name, ending) for ending in ("toml", "sock", "log"))
    config.write_text(plan.switch_file, encoding="utf-8")
    for port in plan.hosts:
        with kernel.inside(plan.namespace("switch")):
            kernel.offloads_off(port.port)
    program = [sys.executable, "-m", "pullnet"]
    options = ["--control", str(control), "--json"]
    # A machine with one core has no second one to give to the switch: one that spins leaves the others their share.
    if core in os.sched_getaffinity(0):
        options += ["--core", str(core), "--prefer", "group"]
    command = ["ip", "netns", "exec", plan.namespace("switch"), *program, "switch", str(config), *options]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
    made.processes.append(state.Process("switch", process.pid, kernel.started(process.pid) or 0))
    state.save(made)
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise InputError(f"the switch did not start:\n{log.read_text(errors='replace').strip()}")
        with contextlib.suppress(InputError):
            ask(control, {"do": "status"}, timeout_s=2)
            return
        time.sleep(0.05)
    raise InputError(f"the switch did not answer within {_PATIENCE_S:.0f} s; {log} may say why")


def down(file: Path | None, name: str | None = None) -> list[str]:
    """Take a testbed down, and nothing else; return the names of the namespaces that are gone."""
    kernel.require()
    name = checked(name or slug(file.stem if file else ""))
    with state.alone(name):
        there = state.load(name)
        if there is None:
            known = state.names()
            remedy = f"there is {', '.join(known)}" if known else "there is none"
            raise InputError(f"{name}: no testbed of this name was made by pullnet here ({state.folder()}); {remedy}")
        if file is not None and Path(there.file) != file.resolve():
            raise InputError(f"{name}: was made for {there.file}, not for {file}; name that file, or none")
        return undo(there)


def undo(made: state.State) -> list[str]:
    """Remove what was made, in the opposite order; what is not ours stays, and is named."""
    for process in made.processes:
        _end(process)
    made.processes.clear()
    gone, kept = [], []
    for namespace in reversed(made.namespaces):
        reason = _not_ours(namespace)
        if reason is None:
            if kernel.inode(namespace.name) is not None:
                kernel.delete(namespace.name)
                gone.append(namespace.name)
            made.namespaces.remove(namespace)
            state.save(made)
        else:
            kept.append(f"{namespace.name}: {reason}")
    if kept:
        raise InputError([*kept, f"nothing else of {made.name} is left; then remove {state.path(made.name)}"])
    state.forget(made.name)
    return gone


def _not_ours(namespace: state.Namespace) -> str | None:
    """Why a namespace is not removed; None if it is ours, or not there."""
    found = kernel.inode(namespace.name)
    if found is None or found == namespace.inode:
        return None
    if namespace.inode is None and kernel.is_bare(namespace.name):
        return None  # The command ended between making it and writing that down.
    return "was replaced by another process since; remove it yourself with ip netns del"


def _end(process: state.Process) -> None:
    """End a process by SIGTERM, then by SIGKILL, unless its number belongs to another process by now."""
    for number, patience_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        if kernel.started(process.pid) != process.started:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
        end = time.monotonic() + patience_s
        while time.monotonic() < end and kernel.started(process.pid) == process.started:
            _reap(process.pid)
            time.sleep(0.02)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
