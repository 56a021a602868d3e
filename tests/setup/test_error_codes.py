"""Errors raised on purpose have one root, a code each, and a page that names them all."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path

import pytest

from audit.core.errors import AuditError, CopyError
from lineage.errors import BadFunctionError, BadNameError

SCRIPT = Path(__file__).parents[2] / "docs" / "_build" / "errors.py"
# As those whose name begins with `_`: caught inside the package that raises them, nobody else sees them.
INSIDE = {"BoundReachedError", "CatalogMovedError", "ImportRaced", "NotNow", "Refused", "UnsupportedStore"}


@pytest.fixture(scope="module")
def script():
    """The script that writes the page."""
    spec = importlib.util.spec_from_file_location("errors_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_code_says(script):
    """Else: python docs/_build/errors.py."""
    assert script.PAGE.read_text(encoding="utf-8") == script.page()


def test_there_is_one_root(script):
    """Whoever catches AuditError catches all."""
    others = {error.__name__ for error in script.classes() if not issubclass(error, AuditError)}
    assert {name for name in others if not name.startswith("_")} == INSIDE


def test_each_error_has_a_code_of_its_own(script):
    """In capitals, and no other error's."""
    errors = [error for error in script.classes() if issubclass(error, AuditError)]
    codes = [vars(error).get("code") for error in errors]
    assert [e.__name__ for e, code in zip(errors, codes, strict=True) if code is None] == []
    assert len(set(codes)) == len(codes)
    assert all(code.replace("_", "").isupper() for code in codes)


def test_errors_survive_pickling():
    """Those of lineage as well, whose kinds have arguments of their own."""
    for error in (CopyError("no", "leave it"), BadNameError("a..b"), BadFunctionError("SELECT 1")):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
        assert (type(again), str(again)) == (type(error), str(error))
        assert (again.problem, again.way_out) == (error.problem, error.way_out)
