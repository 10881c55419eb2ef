"""Packets and classes of flows in the simulator of pHost's authors."""

PAYLOAD, PACKET = 1460, 1500
"""Bytes of a full packet, without and with its header."""
SHORT, LONG = 100 * 1024, 10 * 1024 * 1024
"""Bounds of the classes of the authors' code."""


def with_headers(load: float) -> float:
    """The load of a scenario, which is one of payload, as pHost's authors count it."""
    return round(load * PACKET / PAYLOAD, 2)
