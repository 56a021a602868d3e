"""Packages that only reports need, imported when they are needed.

In: the name of a module. Out: the module, or an error that says what to install.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from audit.report.errors import ReportExtraMissing

_PACKAGES = {"vl_convert": "vl-convert-python"}


def required(module: str) -> ModuleType:
    """A module of the extra `report`.

    Raises:
        ReportExtraMissing: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ReportExtraMissing(
            f"a report of HTML or PDF needs {_PACKAGES.get(module, module)}, which is not installed",
            "pip install 'spark-access-history[report]'; --format csv and json do without",
        ) from error
