"""Messages over NDP, through the daemon `pullnetd` of this machine.

>>> from pullnet import host
>>> host.call("10.0.0.2:61199", 7, b"how are you?")
b'well'

At the other machine:

>>> host.serve(7, lambda request: b"well")
"""

from pullnet.host.daemon import SOCKET, read, status
from pullnet.host.messages import Handler, Request, call, connect, serve

__all__ = ["SOCKET", "Handler", "Request", "call", "connect", "read", "serve", "status"]
