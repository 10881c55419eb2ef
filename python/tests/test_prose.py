"""The lint of plain language and that of lengths flag what they should, and nothing else."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tool_{name}", TOOLS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PROSE, LENGTHS = tool("prose"), tool("lengths")


@pytest.mark.parametrize(
    "line",
    [
        "What leaves the port is counted.",
        "It waits. Whoever comes first is served.",
        "A packet that nobody wants is dropped.",
        "The former is larger than the latter.",
        "Memory of which a part is set aside.",
        "The host asks for it once.",
        "Writes the file anew.",
    ],
)
def test_a_sentence_that_has_to_be_read_twice_is_flagged(line: str) -> None:
    assert PROSE.Line(Path("x.md"), 1, line).flags()


@pytest.mark.parametrize(
    "line",
    [
        "Hop count from that host; 0 if not computed yet.",
        "What happens if a packet is lost?",
        "Rejects a workload whose flow count would exhaust memory.",
        "The parameter says which one is used.",
    ],
)
def test_a_plain_sentence_is_not_flagged(line: str) -> None:
    assert PROSE.Line(Path("x.md"), 1, line).flags() == []


def test_comments_docs_and_literals_are_read_and_code_is_not() -> None:
    rust = '//! One.\nlet whatever = 1; // behind code\n    /// Two.\nrefuse("three words here now");\nx("a b");\n'
    assert [text for _, text in PROSE.rust(rust) if text] == ["One.", "Two.", "three words here now"]
    python = '"""One.\n\ntwo\n"""\n# Three.\nx = "four words are here"\nnobody = 1\n'
    assert [text for _, text in PROSE.python(python) if text] == ["One.", "two", "Three.", "four words are here"]
    assert [text for _, text in PROSE.markdown("one\n```sh\ntwo\n```\nthree\n")] == ["one", "three"]
    assert [text for _, text in PROSE.hashed("#!/bin/sh\n# one\ntwo # three\n")] == ["/bin/sh", "one"]


def test_a_folder_fails_above_its_share_and_not_by_a_single_line(capsys: pytest.CaptureFixture[str]) -> None:
    plain = [PROSE.Line(Path("a/x.md"), number, "A packet waits.") for number in range(97)]
    flagged = [PROSE.Line(Path("a/x.md"), 100 + number, "Nobody waits.") for number in range(3)]
    assert not PROSE.report(plain + flagged, 2.0, False)
    assert "a/x.md:100: unnamed subject: Nobody waits." in capsys.readouterr().out
    assert PROSE.report(plain + flagged, 3.0, False)
    assert PROSE.report(flagged[:1], 2.0, False)


def test_the_room_of_a_file_is_its_crate_or_its_folder() -> None:
    rooms = {
        "crates/core/protocols/ndp/src/sender/mod.rs": "crates/core/protocols/ndp",
        "crates/sim/tests/common/check.rs": "crates/sim",
        "python/pullnet/cli/run.py": "python/pullnet/cli",
        "docs/wire.md": "docs",
        "README.md": ".",
    }
    assert {path: PROSE.folder(Path(path)) for path in rooms} == rooms


def function(lines: int, above: str = "") -> str:
    return above + "fn long() {\n" + "    step();\n" * (lines - 2) + "}\n"


def test_a_long_function_needs_a_reason() -> None:
    assert not list(LENGTHS.rust(Path("x.rs"), function(60)))
    (item,) = LENGTHS.rust(Path("x.rs"), "\n" + function(61))
    assert (item.number, item.what) == (2, "the function long has 61 lines, 60 at most")
    for above in ("// Long: a table of cases.\n", "/// Does it.\n///\n/// Long: one story.\n#[test]\n"):
        assert not list(LENGTHS.rust(Path("x.rs"), function(61, above)))
    assert list(LENGTHS.rust(Path("x.rs"), "// Long: of another item.\n\n" + function(61)))


def test_declarations_of_a_trait_have_no_length() -> None:
    trait = "trait T {\n    fn one(\n        &self,\n    );\n" + "    /// More.\n    fn more(&self);\n" * 40 + "}\n"
    assert not list(LENGTHS.rust(Path("x.rs"), trait))


def test_a_struct_with_many_fields_needs_a_reason() -> None:
    fields = "".join(f"    /// Field.\n    pub field_{number}: u32,\n" for number in range(21))
    (item,) = LENGTHS.rust(Path("x.rs"), "pub struct Wide {\n" + fields + "}\n")
    assert item.what == "the struct Wide has 21 fields, 20 at most"
    assert not list(LENGTHS.rust(Path("x.rs"), "/// Long: a row.\npub struct Wide {\n" + fields + "}\n"))


def test_the_parameters_of_a_command_do_not_count() -> None:
    parameters = "".join(f"    p{number}: int,\n" for number in range(80))
    assert not list(LENGTHS.python(Path("x.py"), f"def run(\n{parameters}) -> None:\n    pass\n"))
    assert list(LENGTHS.python(Path("x.py"), "def run() -> None:\n" + "    pass\n" * 61))
