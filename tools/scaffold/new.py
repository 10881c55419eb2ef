"""Writes a small working protocol, queue discipline, traffic pattern, topology or probe, and adds it to the lists.

Usage: tools/new protocol|discipline|pattern|topology|probe NAME

The templates lie beside this file, under the name `stencil-name`. Each compiles and passes the tests of the
registry that it joins, so that an author starts from something that runs. Nothing is written unless everything can
be.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = Path(__file__).resolve().parent / "templates"

# Words of Rust that cannot be the name of a module; as a module, a basic type or crate would hide that of the language.
RESERVED = re.compile(
    r"abstract|as|async|await|become|box|break|const|continue|crate|do|dyn|else|enum|extern|false|final|fn|for|gen|if|"
    r"impl|in|let|loop|macro|match|mod|move|mut|override|priv|pub|ref|return|self|static|struct|super|trait|true|try|type|"
    r"typeof|unsafe|unsized|use|virtual|where|while|yield|"
    r"bool|char|str|[iu](8|16|32|64|128|size)|f(32|64)|alloc|core|std"
)
# Types and traits that every Rust file knows without naming them, and may use by way of a macro.
PRELUDE = re.compile(
    r"AsMut|AsRef|Box|Clone|Copy|Debug|Default|DoubleEndedIterator|Drop|Eq|Err|"
    r"ExactSizeIterator|Extend|Fn|FnMut|FnOnce|From|FromIterator|Hash|Into|IntoIterator|"
    r"Iterator|None|Ok|Option|Ord|PartialEq|PartialOrd|Result|Send|Sized|Some|String|Sync|"
    r"ToOwned|ToString|TryFrom|TryInto|Unpin|Vec"
)


class ScaffoldError(Exception):
    """What cannot be done, and the remedy."""


@dataclass(frozen=True)
class Name:
    """A name in the three forms in which sources write it."""

    kebab: str

    @classmethod
    def parse(cls, text: str) -> "Name":
        """Checks that the three forms can be told apart and are valid."""
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", text) or len(text) > 40:
            raise ScaffoldError(
                f"{text!r} is not a valid name: use at most 40 lower-case letters, digits and single hyphens, a letter "
                'first, for instance "go-back-n"'
            )
        if RESERVED.fullmatch(text):
            raise ScaffoldError(f"{text!r} is a word of the language Rust: choose another name")
        return cls(text)

    @property
    def snake(self) -> str:
        """As modules write it."""
        return self.kebab.replace("-", "_")

    @property
    def camel(self) -> str:
        """As types write it."""
        return "".join(part.capitalize() for part in self.kebab.split("-"))

    def fill(self, template: str) -> str:
        """The template with this name in place of `stencil-name`."""
        text = template.replace("stencil-name", self.kebab).replace("stencil_name", self.snake)
        return text.replace("StencilName", self.camel)


@dataclass
class Plan:
    """Files to write, and files to change, by their path from the root."""

    root: Path
    name: Name
    new: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    templates: list[str] = field(default_factory=list)

    def write(self, path: str, template: str) -> None:
        """Plans a new file."""
        path = self.name.fill(path)
        # Rust would find the module or the test of a folder twice.
        for there in (path, path.removesuffix(".rs")):
            if (self.root / there).exists():
                raise ScaffoldError(f"{there} exists: choose another name, or remove it")
        self.templates.append((TEMPLATES / template).read_text())
        self.new[path] = self.name.fill(self.templates[-1])

    def edit(self, path: str, change: Callable[[str], str]) -> None:
        """Plans a change of a file."""
        text = self.changed.get(path) or (self.root / path).read_text()
        try:
            self.changed[path] = change(text)
        except ScaffoldError as error:
            raise ScaffoldError(f"{path}: {error}") from None

    def check(self) -> None:
        """Refuses a name whose types would hide others in the files that it joins, before anything is written."""
        templates, types = "\n".join(self.templates), r"\b[A-Z]\w*"
        made = {self.name.fill(word) for word in re.findall(r"StencilName\w*", templates)}
        used = {word: "the standard library" for word in made if PRELUDE.fullmatch(word)}
        used |= dict.fromkeys(re.findall(types, templates), "the new code")
        for path in self.changed:
            code = re.sub(r"//.*", "", (self.root / path).read_text()) if path.endswith(".rs") else ""
            used |= dict.fromkeys(re.findall(types, code), path)
        for word in sorted(made & used.keys()):
            raise ScaffoldError(
                f"{self.name.kebab!r} would make a type `{word}`, which {used[word]} has already: choose another name"
            )
        if shutil.which("rustfmt") is None:
            raise ScaffoldError(
                "the command rustfmt was not found: install it, for instance by rustup component add rustfmt"
            )

    def apply(self) -> None:
        """Writes everything."""
        for path, text in {**self.new, **self.changed}.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        # Lists of modules and imports are sorted here, too.
        rust = [str(self.root / path) for path in {**self.new, **self.changed} if path.endswith(".rs")]
        config = ["--config-path", str(self.root / "rustfmt.toml")]
        subprocess.run(["rustfmt", "--edition", "2024", *config, *rust], check=True)


def sorted_line(start: str, line: str, like: str) -> Callable[[str], str]:
    """Adds `line` in order to the lines that match `like` in the block that begins behind `start`."""

    def change(text: str) -> str:
        at = text.find(start)
        if at < 0:
            raise ScaffoldError(f"the line {start.strip()!r} was not found: the template is older than the file")
        head, tail = text[: at + len(start)], text[at + len(start) :]
        lines = tail.splitlines(keepends=True)
        matching = [index for index, other in enumerate(lines) if re.match(like, other)]
        if not matching:
            raise ScaffoldError(f"no line like {like!r} was found: the template is older than the file")
        before = "".join(lines[: matching[0]])
        items, rest = [], lines[matching[0] :]
        while rest and re.match(like, rest[0]):
            # An item ends on its line, or with the brace that it opens.
            length = rest.index("};\n") + 1 if rest[0].endswith("{\n") else 1
            items.append("".join(rest[:length]))
            rest = rest[length:]
        if line + "\n" in items:
            raise ScaffoldError(f"{line.strip()!r} is there already: choose another name")
        place = next((index for index, other in enumerate(items) if other > line + "\n"), len(items))
        return head + before + "".join([*items[:place], line + "\n", *items[place:], *rest])

    return change


def before(anchor: str, addition: str) -> Callable[[str], str]:
    """Adds text in front of the first `anchor`."""

    def change(text: str) -> str:
        if anchor not in text:
            raise ScaffoldError(f"{anchor.strip()!r} was not found: the template is older than the file")
        return text.replace(anchor, addition + anchor, 1)

    return change


def behind(anchor: str, addition: str) -> Callable[[str], str]:
    """Adds text behind the first `anchor`."""

    def change(text: str) -> str:
        if anchor not in text:
            raise ScaffoldError(f"{anchor.strip()!r} was not found: the template is older than the file")
        return text.replace(anchor, anchor + addition, 1)

    return change


def last_in_list(start: str, addition: str, end: str = "\n}") -> Callable[[str], str]:
    """Adds text at the end of the list that `start` opens and `end` closes."""

    def change(text: str) -> str:
        at = text.find(start)
        close = text.find(end, at)
        if at < 0 or close < 0:
            raise ScaffoldError(f"{start.strip()!r} was not found: the template is older than the file")
        return text[:close] + addition + text[close:]

    return change


def protocol(plan: Plan) -> None:
    """A crate of its own, and its lines in the workspace and in the registry."""
    name, folder = plan.name, "crates/core/protocols/stencil-name"
    for path in (
        "Cargo.toml",
        "README.md",
        "src/lib.rs",
        "src/config.rs",
        "src/header.rs",
        "src/endpoint.rs",
        "tests/stencil_name.rs",
    ):
        plan.write(f"{folder}/{path}", f"protocol/{path}")
    crate = f"pullnet-{name.kebab}"
    if f"\n{crate} =" in (plan.root / "Cargo.toml").read_text():
        raise ScaffoldError(f"there is a crate {crate} already (Cargo.toml): choose another name")
    dependency = f'{crate} = {{ path = "{name.fill(folder)}" }}\n'
    plan.edit("Cargo.toml", before("pullnet-protocols =", dependency))
    registry = "crates/core/protocols/registry"
    line = f"{crate}.workspace = true"
    plan.edit(f"{registry}/Cargo.toml", sorted_line("[dependencies]\n", line, r"pullnet-"))
    source = f"{registry}/src/lib.rs"
    exported = f"pub use pullnet_{name.snake}::{name.camel};"
    plan.edit(source, sorted_line("use alloc::string::String;\n", exported, r"(pub )?use pullnet_"))
    plan.edit(source, last_in_list("\nprotocols! {", f"\n    {name.camel},"))


def discipline(plan: Plan) -> None:
    """A module, and its name in the crate and in the list."""
    name, crate = plan.name, "crates/core/qdisc"
    plan.write(f"{crate}/src/stencil_name.rs", "discipline/src.rs")
    plan.write(f"{crate}/tests/stencil_name.rs", "discipline/test.rs")
    lib = f"{crate}/src/lib.rs"
    plan.edit(lib, sorted_line("extern crate alloc;\n", f"mod {name.snake};", r"(pub )?mod "))
    exported = f"pub use {name.snake}::{{{name.camel}, {name.camel}Config, {name.camel}Queue, {name.camel}Rule}};"
    plan.edit(lib, sorted_line("extern crate alloc;\n", exported, r"pub use "))
    row = f'    {name.camel}({name.camel}Config) = "{name.kebab}": "{name.kebab}: one FIFO per port",'
    listed = f"{crate}/src/switch.rs"
    plan.edit(
        listed,
        sorted_line(
            "BitsPerSec, Bytes, Picos, QueueSize};\n", f"use crate::{name.snake}::{name.camel}Config;", r"use crate::"
        ),
    )
    plan.edit(listed, last_in_list("\nswitches! {", f"\n{row}"))


def pattern(plan: Plan) -> None:
    """A module, and its two lines in the list."""
    name, crate = plan.name, "crates/model/workload"
    plan.write(f"{crate}/src/patterns/stencil_name.rs", "pattern/src.rs")
    plan.write(f"{crate}/tests/stencil_name.rs", "pattern/test.rs")
    listed = f"{crate}/src/patterns/mod.rs"
    plan.edit(listed, sorted_line("every file needs).\n", f"mod {name.snake};", r"mod "))
    plan.edit(listed, last_in_list("\npatterns! {", f"\n    {name.snake}::{name.camel},"))


def topology(plan: Plan) -> None:
    """A module of the builder, and the keys by which a scenario names it."""
    name, crate = plan.name, "crates/model/topology"
    plan.write(f"{crate}/src/stencil_name.rs", "topology/src.rs")
    plan.write(f"{crate}/tests/stencil_name.rs", "topology/test.rs")
    lib, scenario = f"{crate}/src/lib.rs", "crates/model/scenario/src/topology.rs"
    plan.edit(lib, sorted_line("computed on first use.\n", f"mod {name.snake};", r"mod "))
    plan.edit(lib, sorted_line("mod tree;\n", f"pub use {name.snake}::{name.camel};", r"pub use "))
    plan.edit(scenario, behind("use pullnet_topology::{\n", f"    {name.camel},\n"))
    settings, function = name.fill((TEMPLATES / "topology/scenario.rs").read_text()).split("\n\n", 1)
    plan.edit(scenario, before("/// Every topology that a scenario can name.", settings + "\n\n"))
    plan.edit(scenario, before("fn from_file(", function.rstrip() + "\n\n"))
    row = name.fill((TEMPLATES / "topology/kind.rs").read_text()).rstrip()
    plan.edit(scenario, last_in_list("static KINDS:", "\n" + row, "\n];"))


def probe(plan: Plan) -> None:
    """An optional table, and its lines in the list."""
    name, crate = plan.name, "crates/model/probes"
    if name.snake in of_every_result(plan.root):
        raise ScaffoldError(
            f"every result has `{name.snake}` already (python/pullnet/results/result.py): choose another name"
        )
    plan.write(f"{crate}/src/stencil_name.rs", "probe/src.rs")
    plan.write("crates/sim/tests/stencil_name.rs", "probe/test.rs")
    listed = f"{crate}/src/lib.rs"
    plan.edit(listed, sorted_line("mod table;\n", f"mod {name.snake};", r"mod "))
    exported = f"pub use {name.snake}::{{{name.camel}, {name.camel}Row}};"
    plan.edit(listed, sorted_line("mod table;\n", exported, r"pub use "))
    plan.edit(listed, last_in_list("\nprobe::probes! {", f"\n    {name.snake}: {name.camel},"))


SETUP = "make setup  # so that the command pullnet knows the new part"


def of_every_result(root: Path) -> set[str]:
    """Names that `result.NAME` in Python has for something else than an optional table, and tables of every run."""
    source = (root / "python/pullnet/results/result.py").read_text()
    return {*re.findall(r"^    def (\w+)\(self", source, re.M), *re.findall(r"^        self\.(\w+) = ", source, re.M)}


KINDS: dict[str, tuple[Callable[[Plan], None], tuple[str, ...]]] = {
    "protocol": (
        protocol,
        (
            "cargo test -p pullnet-{kebab} -p pullnet-protocols",
            "cargo update --workspace --offline --manifest-path fuzz/Cargo.toml",
            "cargo update --workspace --offline --manifest-path tools/no-std-check/Cargo.toml",
            "BLESS=1 cargo test --no-fail-fast -p pullnet-scenario --test reference --test bad",
            SETUP,
        ),
    ),
    "discipline": (
        discipline,
        (
            "cargo test -p pullnet-qdisc --test {snake}",
            "BLESS=1 cargo test --no-fail-fast -p pullnet-scenario --test reference --test bad",
            "BLESS=1 cargo test -p pullnet-switch --test reference",
            SETUP,
        ),
    ),
    "pattern": (
        pattern,
        (
            "cargo test -p pullnet-workload --test {snake}",
            "BLESS=1 cargo test --no-fail-fast -p pullnet-scenario --test reference --test bad",
            SETUP,
        ),
    ),
    "topology": (
        topology,
        (
            "cargo test -p pullnet-topology --test {snake}",
            "BLESS=1 cargo test --no-fail-fast -p pullnet-scenario --test reference --test bad",
            SETUP,
        ),
    ),
    "probe": (
        probe,
        (
            "cargo test -p pullnet-probes",
            "cargo test -p pullnet-sim --test {snake}",
            "BLESS=1 cargo test --no-fail-fast -p pullnet-scenario --test reference --test bad",
            SETUP,
            ".venv/bin/python tools/results_doc.py",
        ),
    ),
}


# The section of CONTRIBUTING.md on each kind.
HEADINGS = {
    "protocol": "A protocol",
    "discipline": "A queue discipline",
    "pattern": "A traffic pattern",
    "topology": "A topology",
    "probe": "A probe",
}


def taken(root: Path, name: Name) -> None:
    """Refuses a name that a part of any kind has already."""
    lists = {
        "a protocol": (root / "crates/core/protocols").glob("*/src/*.rs"),
        "a discipline": [root / "crates/core/qdisc/src/switch.rs"],
        "a pattern": (root / "crates/model/workload/src/patterns").glob("*.rs"),
        "a topology": [root / "crates/model/scenario/src/topology.rs"],
        "a probe": (root / "crates/model/probes/src").glob("*.rs"),
    }
    written = re.compile(
        rf'const NAME: &\'static str = "{name.kebab}";|\) = "{name.kebab}": |name: "{name.kebab}",|'
        rf'const (TABLE|KEY): &\'static str = "{name.snake}";|^\s*"{name.kebab}"$',
        re.M,
    )
    for kind, paths in lists.items():
        for path in paths:
            if written.search(path.read_text()):
                raise ScaffoldError(f"{name.kebab!r} is {kind} already ({path.relative_to(root)}): choose another name")


def generate(root: Path, kind: str, text: str) -> Plan:
    """Plans and writes everything for one new part."""
    if kind not in KINDS:
        raise ScaffoldError(f"{kind!r} is not a kind of part: use {', '.join(KINDS)}")
    name = Name.parse(text)
    taken(root, name)
    plan = Plan(root, name)
    KINDS[kind][0](plan)
    plan.check()
    plan.apply()
    return plan


def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    asked = not {"-h", "--help"}.isdisjoint(arguments)
    if len(arguments) != 2 or asked:
        print(__doc__.strip() if __doc__ else "", file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    kind, text = arguments
    try:
        plan = generate(ROOT, kind, text)
    except ScaffoldError as error:
        print(f"new: {error}", file=sys.stderr)
        return 2
    for path in plan.new:
        print(f"new      {path}")
    for path in plan.changed:
        print(f"changed  {path}")
    print("\nNext:")
    for command in KINDS[kind][1]:
        print("  " + command.format(kebab=plan.name.kebab, snake=plan.name.snake))
    print(f'Then replace its rules by yours; CONTRIBUTING.md, "{HEADINGS[kind]}", tells the rest.')
    print('To remove it again: CONTRIBUTING.md, "A new part".')
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
