"""No module of pullnet imports one that imports it, directly or through others."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "pullnet"
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def imported(name: str, path: Path) -> Iterator[str]:
    """Modules whose names `path` imports, for types only or within functions included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                if alias.name != "_core":
                    yield module if module in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_module_imports_one_that_imports_it() -> None:
    graph = {name: set(imported(name, path)) & MODULES.keys() - {name} for name, path in MODULES.items()}
    assert len(graph) > 100
    order = list(TopologicalSorter(graph).static_order())
    assert set(order) == graph.keys()
