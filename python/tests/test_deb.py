"""The Debian package: built, installed into a root of its own, and used there."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import WATCHDOG_S

ROOT = Path(__file__).parents[2]
TOOLS = ("cargo", "cc", "dpkg", "dpkg-deb", "dpkg-architecture", "objdump", "strip")

pytestmark = [
    pytest.mark.skipif(any(shutil.which(tool) is None for tool in TOOLS), reason=f"needs {', '.join(TOOLS)}"),
    pytest.mark.skipif(os.getuid() != 0, reason="dpkg installs as root only"),
]


def run(*command: object, **further: object) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **further)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return str(done.stdout)


def dpkg(root: Path, *arguments: object) -> str:
    # The package's dependencies are this machine's, and scripts are to leave this machine alone.
    force = ("--force-depends", "--force-script-chrootless", "--force-confdef", "--force-confold")
    return run("dpkg", f"--root={root}", *force, *arguments)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("deb")
    return Path(run(ROOT / "tools/deb.sh", out, env=os.environ | {"PROFILE": "dev"}).strip())


@pytest.fixture
def root(package: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pullnet-root-") as folder:
        # The daemon is another user once it serves.
        made = Path(folder)
        made.chmod(0o755)
        (made / "var/lib/dpkg/updates").mkdir(parents=True)
        (made / "var/lib/dpkg/info").mkdir()
        (made / "var/lib/dpkg/status").touch()
        (made / "var/lib/dpkg/available").touch()
        dpkg(made, "--install", package)
        yield made


def test_the_package_says_what_it_holds(package: Path) -> None:
    assert run("dpkg-deb", "--field", package, "Package", "Depends").splitlines()[0] == "Package: pullnet-host"
    assert "libc6 (>= 2." in run("dpkg-deb", "--field", package, "Depends")
    held = run("dpkg-deb", "--contents", package)
    for path in ("usr/sbin/pullnetd", "usr/bin/pullnet-proxy", "usr/include/pullnet.h", "etc/pullnet/host.toml"):
        assert f" ./{path}\n" in held
    assert "/wireshark/plugins/pullnet.lua\n" in held
    owners = {line.split()[1] for line in held.splitlines()}
    assert owners == {"root/root"}


def test_the_daemon_serves_from_the_root_that_it_was_installed_to(root: Path) -> None:
    daemon, config = root / "usr/sbin/pullnetd", root / "etc/pullnet/host.toml"
    # The installed file has to be filled in first, and says so.
    told = subprocess.run([daemon, "--check", config], capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert "address: is missing" in told.stderr
    pid = os.getpid()
    address, socket = f"127.{1 + (pid >> 8) % 250}.{pid % 256}.77", root / "run/pullnet/host.sock"
    (root / "run").mkdir(exist_ok=True)
    config.write_text(
        f'backend = "udp"\naddress = "{address}"\nrate = "1 Gbps"\nfarewell = "0 s"\n[socket]\npath = "{socket}"\n'
    )
    run(daemon, "--check", config)
    running = subprocess.Popen([daemon, config], stderr=subprocess.PIPE, text=True)
    try:
        assert running.stderr is not None
        assert any(" serves " in line for line in running.stderr)
        talk = compiled(root)
        environment = {"LD_LIBRARY_PATH": str(library(root))}
        server = subprocess.Popen([talk, socket, "serve", "7", "1"], env=environment, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        assert server.stdout.readline() == "serves\n"
        assert run(talk, socket, "ask", f"{address}:61199", "7", "hello", env=environment) == "HELLO\n"
        assert server.wait(WATCHDOG_S) == 0
        running.send_signal(signal.SIGTERM)
        assert running.wait(WATCHDOG_S) == 0
    finally:
        running.kill()
        running.wait()


def library(root: Path) -> Path:
    return root / "usr/lib" / run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()


def compiled(root: Path) -> Path:
    """The example of the C library, made with what the package has installed."""
    program, source = root / "talk", root / "usr/share/doc/pullnet-host/talk.c"
    flags = ("-I", root / "usr/include", "-L", library(root), "-lpullnet")
    run("cc", "-std=c11", "-Wall", "-Werror", source, *flags, "-o", program)
    assert "libpullnet.so.0" in run("objdump", "-p", program)
    return program


def test_a_file_that_was_changed_survives_an_upgrade_and_a_removal(root: Path, package: Path) -> None:
    config = root / "etc/pullnet/host.toml"
    config.write_text("# mine\n")
    dpkg(root, "--install", package)
    assert config.read_text() == "# mine\n"
    dpkg(root, "--remove", "pullnet-host")
    assert config.read_text() == "# mine\n"
    assert not (root / "usr/sbin/pullnetd").exists()
    dpkg(root, "--purge", "pullnet-host")
    assert not (root / "etc/pullnet").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_units(root: Path, tmp_path: Path) -> None:
    for name in ("pullnetd.service", "pullnet-proxy@.service"):
        text = (root / "lib/systemd/system" / name).read_text()
        # Its programs and the pages that it names are in the root, not here.
        here = text.replace("/usr/sbin/", f"{root}/usr/sbin/").replace("/usr/bin/", f"{root}/usr/bin/")
        lines = [line for line in here.splitlines() if not line.startswith("Documentation=")]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "pullnetd.service", tmp_path / "pullnet-proxy@web.service"],
        capture_output=True,
        text=True,
        check=False,
    )
    # Units of this machine that these refer to are not ours to judge.
    ours = [line for line in done.stderr.splitlines() if "pullnet" in line]
    assert ours == []


@pytest.mark.skipif(shutil.which("systemd-nspawn") is None, reason="needs systemd-nspawn")
def test_systemd_runs_the_daemon(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "facts"
    run(ROOT / "python/tests/data/systemd.sh", package, out, timeout=WATCHDOG_S)
    facts = dict(line.split("=", 1) for line in out.read_text().splitlines())
    assert facts == {
        "started": "0",
        "state": "active",
        # The daemon gives its capabilities up once its sockets are open.
        "user": "pullnet",
        "capabilities": "0000000000000000",
        "seccomp": "2",
        "socket": "pullnet:pullnet:660",
        "reloaded": "0",
        "kept": "yes",
        "restarts": "1",
        "again": "active",
        "stopped": "0",
        "result": "success",
        "end": "inactive",
        "removed_alone": "0",
        "proxy": "active",
        "enabled": "enabled",
        "removed": "0",
        "proxy_end": "inactive",
        "left": "0",
    }, (tmp_path / "facts.log").read_text()


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_manual_pages_are_clean(root: Path, tmp_path: Path) -> None:
    from pullnet.cli.main import status

    assert status(["manual", str(tmp_path)]) == 0
    pages = [*tmp_path.glob("*.1"), *(ROOT / "packaging/man").iterdir()]
    assert {"pullnet-host-bench.1", "pullnet-host-proxy.1", "pullnetd.8", "pullnet-host.toml.5"} <= {
        page.name for page in pages
    }
    for page in pages:
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", "-rLL=80n", page], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), page.name
    for page in (root / "usr/share/man").rglob("*.gz"):
        run("gzip", "--test", page)


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="needs mandoc")
def test_mandoc_finds_no_error_in_the_pages() -> None:
    for page in (ROOT / "packaging/man").iterdir():
        run("mandoc", "-T", "lint", "-W", "error", page)
