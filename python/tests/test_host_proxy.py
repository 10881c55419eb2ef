"""`pullnet host proxy` between two daemons, with the programs of every day: curl and an HTTP server."""

import http.server
import json
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pullnet.cli.main import status
from pullnet.errors import HostError, InputError
from pullnet.host.proxy import Proxy

from .conftest import WATCHDOG_S, wait_until
from .test_host import Daemon, daemons, folder

__all__ = ["daemons", "folder"]

CONTENT = bytes(range(256)) * 20_000


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body[::-1])

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


def curl(*arguments: str) -> bytes:
    command = ["curl", "--silent", "--show-error", "--fail", "--max-time", str(int(WATCHDOG_S)), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_works_unchanged(daemons: tuple[Daemon, Daemon], server: str, tmp_path: Path) -> None:
    here, there = daemons
    host = there.address.partition(":")[0]
    with (
        Proxy(serve=80, to=server, socket=there.socket),
        Proxy(listen="127.0.0.1:0", to=f"{host}:80", socket=here.socket) as near,
    ):
        url = f"http://127.0.0.1:{near.number}/"
        assert curl(url) == CONTENT
        # Several requests follow each other on one connection, and several connections come at once.
        assert curl("--parallel", url, url, url) == CONTENT * 3
        body = tmp_path / "body"
        body.write_bytes(CONTENT)
        assert curl("--data-binary", f"@{body}", url) == CONTENT[::-1]
        near.check()
        wait_until(lambda: near.counts()["open"] == 0)
        counts = near.counts()
        assert (counts["refused"], counts["reset"], counts["unreached"]) == (0, 0, 0)
        assert counts["to_tcp_bytes"] > 5 * len(CONTENT)


def test_the_command_runs_until_it_is_told_to_stop(daemons: tuple[Daemon, Daemon], server: str) -> None:
    there = daemons[1]
    options = ["--serve", "80", "--to", server, "--socket", str(there.socket)]
    command = [sys.executable, "-m", "pullnet", "host", "proxy", *options]
    for stop in (signal.SIGINT, signal.SIGTERM):
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert running.stderr is not None
        assert running.stderr.readline() == f"carries service 80 to {server}\n"
        running.send_signal(stop)
        assert running.wait(WATCHDOG_S) == 0
        assert json.loads(running.stderr.read())["accepted"] == 0


def test_what_is_wrong_is_said(daemons: tuple[Daemon, Daemon], capfd: pytest.CaptureFixture[str]) -> None:
    here, there = daemons
    socket = ["--socket", str(here.socket)]
    assert status(["host", "proxy", "--listen", "127.0.0.1:0", "--to", "somewhere", *socket]) == 2
    assert "--to somewhere: is no service of a host; write for instance 10.0.0.2:7" in capfd.readouterr().err
    assert status(["host", "proxy", "--to", "127.0.0.1:80", *socket]) == 2
    assert "use either --listen" in capfd.readouterr().err
    with Proxy(serve=7, to="127.0.0.1:80", socket=here.socket):
        assert status(["host", "proxy", "--serve", "7", "--to", "127.0.0.1:80", *socket]) == 3
        assert "service 7 has a listener already; stop the program that does" in capfd.readouterr().err
    with pytest.raises(HostError, match="there is no such socket; start pullnetd"):
        Proxy(serve=7, to="127.0.0.1:80", socket=there.socket.parent / "none")
    with pytest.raises(InputError, match="--to nowhere: is no TCP address"):
        Proxy(serve=7, to="nowhere", socket=here.socket)
