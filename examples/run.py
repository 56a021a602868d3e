"""Runs a notebook's cells in this process and writes what they show into the notebook.

In: `python examples/run.py NOTEBOOK.ipynb`. Out: the same file with its outputs. A cell shows what it prints
and the value of its last expression: as SVG, HTML or text, as Jupyter does. It needs no Jupyter.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

_FORMS = (("image/svg+xml", "to_svg"), ("text/html", "_repr_html_"))  # the first that a value has


def run(path: Path, names: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its code cells.

    Args:
        path: the `.ipynb` file; it is not changed.
        names: what the cells find defined, and what they define.
    """
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        cell["execution_count"] = number
        cell["outputs"] = _outputs("".join(cell["source"]), f"{path.name}, cell {number}", number, names)
    return notebook


def _outputs(source: str, place: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value, said = None, io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(tree, place, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
    outputs: list[dict[str, Any]] = []
    if said.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(said.getvalue())})
    if value is not None:
        shown = {"data": _data(value), "execution_count": number, "metadata": {}}
        outputs.append({**shown, "output_type": "execute_result"})
    return outputs


def _data(value: Any) -> dict[str, Any]:
    found = {"text/plain": _lines(repr(value))}
    for kind, method in _FORMS:
        if hasattr(value, method):
            # The picture alone: GitHub takes SVG out of HTML, and shows it as an image.
            return {**found, kind: _lines(getattr(value, method)())}
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Run the notebook that the command line names, and keep its outputs."""
    path = Path(sys.argv[1])
    done = run(path, {"__name__": "__main__"})
    path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
