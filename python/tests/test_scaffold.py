"""Parts that `tools/new` writes compile, pass their tests, and change no more files than CONTRIBUTING says."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
MADE = {
    "protocol": "made-protocol",
    "discipline": "made-queue",
    "pattern": "made-traffic",
    "topology": "made-network",
    "probe": "made-table",
}
CHANGED = {
    "protocol": [
        "Cargo.toml",
        "crates/core/protocols/registry/Cargo.toml",
        "crates/core/protocols/registry/src/lib.rs",
    ],
    "discipline": [
        "crates/core/qdisc/src/lib.rs",
        "crates/core/qdisc/src/switch.rs",
    ],
    "pattern": ["crates/model/workload/src/patterns/mod.rs"],
    "topology": ["crates/model/scenario/src/topology.rs", "crates/model/topology/src/lib.rs"],
    "probe": ["crates/model/probes/src/lib.rs"],
}


@pytest.fixture(scope="module")
def scaffold() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scaffold_new", ROOT / "tools" / "scaffold" / "new.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def copy_of_the_sources(to: Path) -> Path:
    """The workspace without anything that was built."""
    for name in ("Cargo.toml", "Cargo.lock", "rustfmt.toml", "clippy.toml"):
        to.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    result = Path("python/pullnet/results/result.py")
    (to / result).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(ROOT / result, to / result)
    shutil.copytree(ROOT / "crates", to / "crates", ignore=shutil.ignore_patterns("target"), dirs_exist_ok=True)
    return to


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy_of_the_sources(tmp_path / "tree")


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree for tests that write nothing."""
    return copy_of_the_sources(tmp_path_factory.mktemp("unchanged"))


def test_each_kind_changes_the_stated_files_and_names_the_new_part(scaffold: ModuleType, tree: Path) -> None:
    for kind, name in MADE.items():
        before = {path: (tree / path).read_text() for path in CHANGED[kind]}
        plan = scaffold.generate(tree, kind, name)
        assert sorted(plan.changed) == CHANGED[kind]
        for path, text in before.items():
            now = (tree / path).read_text().splitlines()
            assert set(text.split()) - set(" ".join(now).split()) == set(), path
            forms = (name, scaffold.Name(name).snake, scaffold.Name(name).camel)
            assert any(form in line for line in now for form in forms), path
        for path in plan.new:
            text = (tree / path).read_text()
            assert "tencil" not in text and "tencil" not in path, path


def test_the_section_that_each_kind_names_is_in_the_guide(scaffold: ModuleType) -> None:
    headings = [line[3:] for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line.startswith("## ")]
    assert scaffold.HEADINGS.keys() == scaffold.KINDS.keys()
    assert [heading for heading in scaffold.HEADINGS.values() if heading not in headings] == []


def test_commands_of_the_guide_can_be_run_as_written() -> None:
    named = set(re.findall(r"`(tools/[\w/-]+(?:\.sh|\.py)?)[ `]", (ROOT / "CONTRIBUTING.md").read_text()))
    assert "tools/new" in named
    assert [path for path in sorted(named) if not os.access(ROOT / path, os.X_OK)] == []


def test_what_is_written_is_formatted(scaffold: ModuleType, tree: Path) -> None:
    for kind, name in MADE.items():
        scaffold.generate(tree, kind, name)
    done = subprocess.run(["cargo", "fmt", "--all", "--check"], cwd=tree, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        ("protocol", "go-back-n", "is a protocol already"),
        ("topology", "trim", "is a discipline already"),
        ("discipline", "incast", "is a pattern already"),
        ("pattern", "star", "is a topology already"),
        ("pattern", "Mine", "is not a valid name: use at most 40 lower-case letters"),
        ("pattern", "two--hyphens", "is not a valid name"),
        ("pattern", "9lives", "is not a valid name"),
        ("pattern", "../up", "is not a valid name"),
        ("pattern", "a" * 41, "is not a valid name"),
        ("pattern", "match", "is a word of the language Rust"),
        ("discipline", "fifo", "crates/core/qdisc/src/fifo.rs exists"),
        ("probe", "port-series", "is a probe already"),
        ("probe", "ports", "is a probe already"),
        ("probe", "hosts", "every result has `hosts` already"),
        ("probe", "summary", "every result has `summary` already"),
        ("probe", "common", "crates/sim/tests/common exists"),
        ("discipline", "queues", "crates/core/qdisc/tests/queues exists"),
        ("discipline", "class", "would make a type `ClassRule`, which crates/core/qdisc/src/lib.rs has already"),
        ("discipline", "std", "is a word of the language Rust"),
        ("pattern", "u8", "is a word of the language Rust"),
        ("pattern", "traffic", "would make a type `Traffic`, which the new code has already"),
        ("protocol", "string", "would make a type `String`, which .*/registry/src/lib.rs has already"),
        ("protocol", "units", "there is a crate pullnet-units already"),
        ("table", "mine", "is not a kind of part: use protocol, discipline, pattern, topology, probe"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_is_written(
    scaffold: ModuleType, unchanged: Path, kind: str, name: str, error: str
) -> None:
    def state() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in unchanged.rglob("*")}

    before = state()
    with pytest.raises(scaffold.ScaffoldError, match=error):
        scaffold.generate(unchanged, kind, name)
    assert state() == before


def test_the_command_ends_with_2_for_a_name_that_cannot_be() -> None:
    command = [str(ROOT / "tools" / "new"), "probe", "Bad Name"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("new: 'Bad Name' is not a valid name: use ")


def test_help_is_no_error_wherever_it_is_asked_for() -> None:
    for arguments in (["--help"], ["protocol", "--help"]):
        command = [str(ROOT / "tools" / "new"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Usage: tools/new protocol|discipline|pattern|topology|probe NAME" in done.stdout


def test_without_rustfmt_nothing_is_written(
    scaffold: ModuleType, unchanged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(scaffold.ScaffoldError, match="the command rustfmt was not found: install it"):
        scaffold.generate(unchanged, "pattern", "made-traffic")
    assert not (unchanged / "crates/model/workload/tests/made_traffic.rs").exists()


def test_a_list_that_has_changed_its_shape_is_named(scaffold: ModuleType, tree: Path) -> None:
    listed = tree / CHANGED["pattern"][0]
    listed.write_text(listed.read_text().replace("patterns! {", "all_patterns! {"))
    with pytest.raises(scaffold.ScaffoldError, match=r"patterns/mod.rs: .*was not found"):
        scaffold.generate(tree, "pattern", "made-traffic")


@pytest.mark.long
def test_one_of_each_compiles_and_passes_the_tests_of_its_registry(scaffold: ModuleType) -> None:
    # Always in the same place, so that what was compiled before is found again.
    tree = ROOT / "target" / "scaffold"
    shutil.rmtree(tree, ignore_errors=True)
    copy_of_the_sources(tree)
    for name in ("scenarios", "vectors"):
        shutil.copytree(ROOT / name, tree / name)
    for kind, name in MADE.items():
        scaffold.generate(tree, kind, name)
    # The folder of the other tests: most dependencies are built there already. Cargo tells crates of a workspace apart
    # by name and version, not by folder: with an equal version, the checkout would be linked with what is made here.
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target")}
    manifest = tree / "Cargo.toml"
    text, changed = re.subn(r'(?m)^(\[workspace\.package\]\nversion = )"[^"]+"$', r'\1"0.0.0"', manifest.read_text())
    assert changed == 1
    manifest.write_text(text)
    own = [f"--test={name.replace('-', '_')}" for name in MADE.values()]
    crates = ["made-protocol", "qdisc", "workload", "topology", "sim"]
    packages = [word for crate in crates for word in ("-p", f"pullnet-{crate}")]
    for command in (
        ["cargo", "test", "--quiet", *packages, *own],
        ["cargo", "test", "--quiet", "-p", "pullnet-protocols", "--test", "registry", "--", "anything", "conformance"],
        ["cargo", "test", "--quiet", "-p", "pullnet-probes"],
        ["cargo", "check", "--quiet", "-p", "pullnet-sim", "--tests"],
    ):
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
