"""Software switches: reading their files, running them, telling them things."""

from pullnet.switch.control import ask
from pullnet.switch.daemon import read, run

__all__ = ["ask", "read", "run"]
