"""The command `pullnet`."""

from pullnet.cli.main import main, status

__all__ = ["main", "status"]
