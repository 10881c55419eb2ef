"""Testbeds: a scenario's network in network namespaces of this machine, with software switches."""

from pullnet.testbed.bed import Bed, down, read, up

__all__ = ["Bed", "down", "read", "up"]
