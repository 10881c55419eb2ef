"""The example notebooks run from top to bottom, and their last values show themselves."""

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def execute(text: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; return the value of its last line if that is an expression."""
    parts = ast.parse(text)
    last = parts.body.pop() if isinstance(parts.body[-1], ast.Expr) else None
    exec(compile(parts, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notebook.parent)
    plt.switch_backend("agg")
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 1
    for cell in cells:
        assert (cell["outputs"], cell["execution_count"]) == ([], None), "clear the outputs before a commit"
        value = execute("".join(cell["source"]), names)
        if not isinstance(value, (dict, type(None), Figure)):
            assert value._repr_html_().lstrip().startswith("<"), f"{type(value)} shows nothing in a notebook"


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 3
