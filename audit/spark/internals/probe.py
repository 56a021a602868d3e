"""The check at attach: whether all that the table of internals lists is there.

In: a SparkSession. Out: nothing, or one error that names what is missing and the versions. Once everything
was found in a JVM, it is not looked for again.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from audit.core.errors import InternalsChangedError
from audit.spark import java_classes, jvm
from audit.spark.internals.pyspark_members import PYTHON_SURFACES
from audit.spark.internals.spark_members import JVM_SURFACES
from audit.spark.internals.surface import CHECKED, PythonMember, Side

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

SURFACES = (*PYTHON_SURFACES, *JVM_SURFACES)
_NAMED = 12  # of what is missing, in the message
# Connections to JVMs, one for all sessions of a JVM, in which everything was found.
_WHOLE: WeakSet[Any] = WeakSet()


def require_internals(spark: SparkSession) -> None:
    """See that what this package relies on is there.

    Raises:
        InternalsChangedError: something is missing, or has another shape.
    """
    context = spark.sparkContext
    client = jvm.view(context)._gateway_client
    if client in _WHOLE:
        return
    has_hive = spark.conf.get("spark.sql.catalogImplementation") == "hive"
    members = (member for surface in PYTHON_SURFACES for member in surface.python)
    surfaces = (surface for surface in JVM_SURFACES if has_hive or surface.side is not Side.HIVE)
    lines = [member.line for surface in surfaces for member in surface.members]
    missing = [*missing_in_python(members), *missing_in_jvm(spark, lines)]
    if missing:
        raise InternalsChangedError(_problem(spark, missing), _way_out())
    _WHOLE.add(client)


def missing_in_jvm(spark: SparkSession, lines: Iterable[str]) -> list[str]:
    """Those members, by their lines, that the session's JVM does not have, once each."""
    probe = java_classes.instance(jvm.view(spark.sparkContext), "capture.InternalsProbe")
    found: str = probe.missing("\n".join(sorted(set(lines))))
    return found.splitlines()


def missing_in_python(members: Iterable[PythonMember]) -> list[str]:
    """The lines of those members that this process does not have.

    >>> missing_in_python([PythonMember("json", "dumps", ("obj",)), PythonMember("json", "dumps", ("text",))])
    ['json.dumps(text)']
    """
    return [member.line for member in members if not _is_there(member)]


def _is_there(member: PythonMember) -> bool:
    try:
        owner = _load(member.owner)
    except (ImportError, AttributeError):
        return False
    if member.is_instance and not hasattr(owner, member.name):
        return any(_sets(each, member.name) for each in owner.__mro__[:-1])
    if not hasattr(owner, member.name):
        return False
    if not member.parameters:
        return True
    named = [
        name
        for name in inspect.signature(getattr(owner, member.name)).parameters
        if name not in ("self", "cls")
    ]
    return tuple(named[: len(member.parameters)]) == member.parameters


def _sets(owner: type, name: str) -> bool:
    """Whether the code of a class names an attribute, as what sets it in `__init__` does."""
    return any(name in one.__code__.co_names for one in vars(owner).values() if inspect.isfunction(one))


def _load(name: str) -> Any:
    """A module, or a class of one, by its full name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return getattr(importlib.import_module(module), last)


def _problem(spark: SparkSession, missing: list[str]) -> str:
    shown = ", ".join(missing[:_NAMED]) + (
        f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    )
    return f"{_versions(spark)} lack what this package relies on: {shown}"


def _versions(spark: SparkSession) -> str:
    found = {"PySpark": "pyspark", "Delta": "delta-spark"}
    here = {name: importlib.metadata.version(package) for name, package in found.items()}
    return f"PySpark {here['PySpark']}, Spark {spark.version} and Delta {here['Delta']}"


def _way_out() -> str:
    checked = ", ".join(f"{name} {version}" for name, version in CHECKED.items())
    return f"use the versions it was made for ({checked}); docs/internals.md says what each member is for"
