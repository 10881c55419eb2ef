"""Two hosts joined directly, without a switch: what calls are timed on."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from pullnet.errors import InputError
from pullnet.testbed import kernel, state
from pullnet.testbed.bed import undo
from pullnet.testbed.plan import PREFIX, checked

_SYSCTLS = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_fastopen": "3",
    "net.ipv4.ip_local_port_range": "1024 65535",
}


@dataclass(frozen=True)
class Host:
    """One of them."""

    namespace: str
    ip: str
    mac: str


@contextlib.contextmanager
def pair(name: str, *, mtu: int = 1500) -> Iterator[tuple[Host, Host]]:
    """Give two hosts whose interfaces `eth0` are the two ends of one veth; afterwards they are gone.

    A record is written first, as for a testbed: `pullnet testbed down --name NAME` removes the remains of a killed
    command.
    """
    kernel.require()
    name = checked(name)
    with state.alone(name):
        if state.load(name) is not None:
            raise InputError(f"{name}: is there already; take it down first: pullnet testbed down --name {name}")
        hosts = tuple(Host(f"{PREFIX}-{name}-h{n}", f"10.78.0.{n + 1}", f"02:70:6e:02:00:0{n}") for n in range(2))
        there = [host.namespace for host in hosts if kernel.inode(host.namespace) is not None]
        if there:
            raise InputError(f"{', '.join(there)}: there already, and not made by pullnet; remove it with ip netns del")
        made = state.State(name, "", mtu=mtu)
        try:
            _make(made, hosts)
            yield hosts[0], hosts[1]
        finally:
            undo(made)


def _make(made: state.State, hosts: tuple[Host, ...]) -> None:
    for host in hosts:
        made.namespaces.append(state.Namespace(host.namespace))
        state.save(made)
        made.namespaces[-1].inode = kernel.add(host.namespace)
        state.save(made)
    one, other = hosts
    ends = f"mtu {made.mtu} address {one.mac} type veth peer name eth0 mtu {made.mtu} address {other.mac}"
    kernel.ip(["-n", one.namespace], [f"link add name eth0 {ends} netns {other.namespace}"])
    for host, peer in ((one, other), (other, one)):
        with kernel.inside(host.namespace):
            kernel.set_sysctl(_SYSCTLS)
            kernel.offloads_off("eth0")
        neighbour = f"neigh add {peer.ip} lladdr {peer.mac} dev eth0 nud permanent"
        own = ["link set dev lo up", "link set dev eth0 up", f"addr add {host.ip}/24 dev eth0", neighbour]
        kernel.ip(["-n", host.namespace], own)
