"""Every public method of PySpark and Delta has its place, so that no way in is forgotten."""

from __future__ import annotations

import importlib

import pytest

from audit.spark.pyspark_api.api_surface import SURFACE


def public_methods(path: str) -> set[str]:
    """The public names of a class."""
    module, name = path.rsplit(".", 1)
    return {n for n in dir(getattr(importlib.import_module(module), name)) if not n.startswith("_")}


@pytest.mark.parametrize("methods", SURFACE, ids=lambda m: m.owner)
def test_every_public_method_is_placed(methods):
    """A new version of a library that adds a method fails here until somebody says what it does."""
    unclassified = {n for n in public_methods(methods.owner) if methods.kind_of(n) is None}
    assert not unclassified, f"say in audit/capture/surface.py what {methods.owner}.{sorted(unclassified)} do"


@pytest.mark.parametrize("methods", SURFACE, ids=lambda m: m.owner)
def test_nothing_is_placed_that_is_not_there(methods):
    """A method that a library has dropped is dropped here, too."""
    placed = {*methods.runs, *methods.analyses, *(methods.changes or {}), *methods.lazy}
    assert placed <= public_methods(methods.owner)


def test_a_method_has_one_place():
    """No method both runs and builds."""
    for methods in SURFACE:
        places = [*methods.runs, *methods.analyses, *(methods.changes or {}), *methods.lazy]
        assert len(places) == len(set(places)), methods.owner


@pytest.mark.parametrize(
    "module",
    [
        "pyspark.sql.readwriter",
        "pyspark.sql.merge",
        "pyspark.sql.streaming.readwriter",
        "pyspark.sql.catalog",
    ],
)
def test_every_class_that_writes_is_listed(module):
    """A class of these modules that holds a writer or a catalog of the JVM is one of those listed."""
    listed = {m.owner for m in SURFACE}
    found = importlib.import_module(module)
    for name, value in vars(found).items():
        if isinstance(value, type) and value.__module__ == module and _reaches_the_jvm(value):
            assert f"{module}.{name}" in listed


def _reaches_the_jvm(value: type) -> bool:
    init = vars(value).get("__init__")
    names = init.__code__.co_names if init is not None and hasattr(init, "__code__") else ()
    return any(n in ("_jwrite", "_jwriter", "_jreader", "_jcatalog") for n in names)
