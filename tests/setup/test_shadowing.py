"""`import audit` beside a module of the user's that has the name of a package of this project."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from audit.core.errors import AuditError, ImportShadowed


def imports(folder, program="import audit; print('imported')"):
    """What a Python says that is started in a folder."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("file", ["lineage.py", "views.py", "views/__init__.py"])
def test_a_module_of_the_users_is_named(tmp_path, file):
    """The error says its code, which file shadows which package, and the way out."""
    mine = tmp_path / file
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("x = 1\n")
    done = imports(tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    name = file.partition("/")[0].removesuffix(".py")
    assert "[AUDIT_IMPORT_SHADOWED]" in last
    assert f"{file} shadows the package {name} of spark-access-history" in last
    assert "rename that module" in last


def test_a_module_that_was_imported_before_is_named(tmp_path):
    """Also where it is gone from the path by then."""
    done = imports(
        tmp_path, "import sys, types; sys.modules['views'] = types.ModuleType('views'); import audit"
    )
    assert "[AUDIT_IMPORT_SHADOWED] a module views without a file shadows the package views" in done.stderr


def test_other_modules_do_not_matter(tmp_path):
    """Modules of other names, and folders without __init__.py, shadow nothing."""
    for name in ("catalog", "policies", "time_travel", "errors"):
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    (tmp_path / "views").mkdir()
    assert imports(tmp_path).stdout == "imported\n"


def test_it_is_an_import_error():
    """`except ImportError` catches it, and so does `except AuditError`; it survives pickling."""
    error = ImportShadowed("a shadows b", "rename a")
    assert isinstance(error, ImportError)
    assert isinstance(error, AuditError)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - the test's own bytes
    assert str(again) == "[AUDIT_IMPORT_SHADOWED] a shadows b; rename a"
