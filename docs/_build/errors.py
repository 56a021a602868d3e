"""Writes docs/reference/errors.md: every error that the packages raise on purpose, by its code.

    python docs/_build/errors.py

`tests/setup/test_error_codes.py` fails when the page is not what this writes.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[1] / "reference" / "errors.md"
PACKAGES = ("audit", "lineage", "views")
_HEAD = """# Error codes

Every error that this project raises on purpose is an `audit.errors.AuditError`. Its text is
`[CODE] problem; way out`; `code`, `problem` and `way_out` are attributes. A code never changes between
versions. An error in a row below another one's is a kind of it, so `except` catches it, too.

This page is written by `docs/_build/errors.py`.

| Code | Error | What it says | A kind of |
|---|---|---|---|
"""


def classes() -> Iterator[type[Exception]]:
    """Every exception that a module of the packages defines."""
    for package in map(importlib.import_module, PACKAGES):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                module = importlib.import_module(found.name)
                for _, value in inspect.getmembers(module, inspect.isclass):
                    is_own = value.__module__ == found.name
                    if is_own and issubclass(value, Exception) and not issubclass(value, Warning):
                        yield value


def page() -> str:
    """The page as it should be."""
    from audit.core.errors import AuditError

    errors = {error.code: error for error in classes() if issubclass(error, AuditError)}
    return _HEAD + "".join(f"{_row(errors[code])}\n" for code in sorted(errors))


def _row(error: type[Exception]) -> str:
    above = [base.__name__ for base in error.__mro__[1:] if base.__module__.startswith(PACKAGES)]
    summary = (inspect.getdoc(error) or "").partition("\n\n")[0].replace("\n", " ")
    name = f"{error.__module__}.{error.__name__}"
    return f"| `{error.code}` | `{name}` | {summary} | {', '.join(f'`{one}`' for one in above[:1])} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
