"""The plan of a testbed."""

import re
from dataclasses import dataclass
from pathlib import Path

from pullnet import _core
from pullnet.errors import InputError
from pullnet.runs.scenario import compiled

PREFIX = "pn"


@dataclass(frozen=True)
class Host:
    """A host: a network namespace with one interface."""

    name: str
    port: str
    """Its port, and the interface at the switch."""
    mac: str
    ip: str
    rate_bps: int


@dataclass(frozen=True)
class Plan:
    """A testbed before it is there."""

    name: str
    file: Path
    mtu: int
    """Longest IP packet. Bytes."""
    hosts: tuple[Host, ...]
    switch_file: str

    def namespace(self, node: str) -> str:
        """Name of a host's namespace, or with `switch` that of all switches."""
        return f"{PREFIX}-{self.name}-{node}"

    @property
    def namespaces(self) -> list[str]:
        """All of them, the switches' first."""
        return [self.namespace(node) for node in ("switch", *(host.name for host in self.hosts))]


_ETHERNET = 14
_ORDINARY_MTU = 1500


def plan(scenario: Path, name: str | None, mtu: int | None, set: list[str], *, spin: bool) -> Plan:
    """Plan the testbed of a scenario. Raises `InputError` with every error at once.

    Switches that `spin` never sleep: exact, and a core is theirs alone.
    """
    core = compiled(scenario, set=set)
    hosts, switch_file = _core.testbed_plan(core)
    if spin:
        switch_file = switch_file.replace('wait = "adaptive"', 'wait = "spin"', 1)
    return Plan(
        checked(name or slug(scenario.stem)),
        scenario.resolve(),
        mtu or max(_ORDINARY_MTU, _core.frame_room(core) - _ETHERNET),
        tuple(Host(*row) for row in hosts),
        switch_file,
    )


def slug(text: str) -> str:
    """Make a text fit to be a name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:24].strip("-") or "testbed"


def checked(name: str) -> str:
    """Return a name of a testbed if it is one."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,23}", name):
        raise InputError(f"--name {name}: use 1 to 24 small letters, digits and dashes, for instance star7")
    return name
