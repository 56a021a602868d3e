"""The page `docs/internals.md`, from the table.

In: nothing. Out: the page on standard output: `python -m audit.spark.internals.page > docs/internals.md`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from audit.spark.internals.pyspark_members import PYTHON_SURFACES
from audit.spark.internals.spark_members import JVM_SURFACES
from audit.spark.internals.surface import CHECKED, Kind, Member, PythonMember, Surface

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HEAD = """# Internals that this package relies on

Generated from `audit/spark/internals` by `python -m audit.spark.internals.page > docs/internals.md`; a test
fails when this page is stale.

PySpark, Spark and Delta promise nothing about what is listed here. Checked with {versions}.
The first `audit.attach` of a JVM looks for every member (`audit/spark/internals/probe.py`). Where one is
missing, or has another shape, it raises `InternalsChangedError` (`AUDIT_INTERNALS_CHANGED`), and attaches
nothing.
What the Java code calls directly is checked by its compiler, against the jars of the same versions.
"""


def page() -> str:
    """The text of the page."""
    return "\n".join([_HEAD.format(versions=_versions()), *_sections((*PYTHON_SURFACES, *JVM_SURFACES))])


def _versions() -> str:
    return ", ".join(f"{name} {version}" for name, version in CHECKED.items())


def _sections(surfaces: Iterable[Surface]) -> Iterator[str]:
    for surface in surfaces:
        version = CHECKED.get(surface.side.value)
        yield f"## {surface.title}\n"
        yield f"- **Whose**: {surface.side.value}{f' {version}' if version else ''}"
        yield f"- **Used in**: {', '.join(f'`{path}`' for path in surface.used_in)}"
        yield f"- **For**: {surface.purpose}"
        yield f"- **When it changes**: {surface.breaks}"
        yield f"- **Publicly**: {surface.instead}"
        yield "- **Members**:"
        yield from (f"    - `{owner}`{names}" for owner, names in _members(surface))
        yield ""


def _members(surface: Surface) -> Iterator[tuple[str, str]]:
    found: dict[str, list[str]] = defaultdict(list)
    members: tuple[Member | PythonMember, ...] = (*surface.python, *surface.members)
    for member in members:
        found[member.owner] += [_shown(member)]
    for owner, names in found.items():
        shown = ", ".join(f"`{name}`" for name in dict.fromkeys(names) if name)
        yield owner, f": {shown}" if shown else ""


def _shown(member: Member | PythonMember) -> str:
    """A member below its owner.

    >>> _shown(Member(Kind.METHOD, "a.B", "c", "2"))
    'c(2 parameters)'
    """
    if isinstance(member, PythonMember):
        return f"{member.name}({', '.join(member.parameters)})" if member.parameters else member.name
    if member.kind is Kind.CLASS:
        return ""
    if member.kind is Kind.FIELD:
        return f"{member.name}: {member.shape.rpartition('.')[2]}"
    name = member.name or "constructor"
    if member.shape == "0":
        return f"{name}()"
    return f"{name}({member.shape} parameter{'' if member.shape == '1' else 's'})"


if __name__ == "__main__":
    sys.stdout.write(page())
