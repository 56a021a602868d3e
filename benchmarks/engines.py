"""Where the two engines say different things of one statement, and which of it is explained.

In: the `Access` by text and the `Access` by Spark's analyzed plan. Out: `Difference`s; none where they agree.
Ids are not compared: the engines are given the same relations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lineage.model import Access, AccessedObject, ColumnRef, Domain, ModifiedColumn, OutputColumn

Sources = set[tuple[str, str, tuple[str, ...]]]
_FUNCTIONS = (Domain.FUNCTION, Domain.PROCEDURE)


@dataclass(frozen=True, slots=True)
class Difference:
    """What the engines say otherwise: `kind` is objects, outputs, name, sources, modified or ddl."""

    kind: str
    where: str
    text: Any
    plan: Any

    def __str__(self) -> str:
        return f"{self.kind} of {self.where}: text {self.text}, plan {self.plan}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A difference that is no fault: which, and why."""

    name: str
    reason: str
    holds: Callable[[Difference, str, Access], bool]


def _made_up(difference: Difference, sql: str, _text: Access) -> bool:
    # A name that the statement gives is a word of it, or stands in back-ticks.
    if difference.kind != "name":
        return False
    name, text = difference.plan.casefold(), sql.casefold()
    if name == "null":
        return True
    is_given = re.fullmatch(r"[^\W\d]\w*", name) and re.search(rf"(?<!['\w]){name}(?!['\w])", text)
    return not is_given and f"`{name.replace('`', '``')}`" not in text


def _of_a_path(difference: Difference, sql: str, _text: Access) -> bool:
    name = difference.plan
    return difference.kind == "name" and bool(re.search(rf":[^,]*\b{re.escape(name)}\b", sql, re.IGNORECASE))


def _selected_in_vain(difference: Difference, sql: str, _text: Access) -> bool:
    both = (
        difference.kind == "objects" and isinstance(difference.text, set) and isinstance(difference.plan, set)
    )
    return both and difference.plan < difference.text and len(re.findall(r"(?i)\bselect\b", sql)) > 1


def _argument(difference: Difference, _sql: str, text: Access) -> bool:
    called = any(item.domain is Domain.FUNCTION for item in text.direct_objects_accessed)
    return called and difference.where.endswith("direct_sources") and difference.plan == []


def _like(difference: Difference, sql: str, _text: Access) -> bool:
    return difference.kind == "ddl" and bool(re.search(r"(?i)\bcreate\s+table\b.*\blike\b", sql))


EXPLAINED = (
    Explanation(
        "a name that Spark makes up",
        "An expression without an alias is named after Spark's own rendering of it, with casts and"
        " literals as its analyzer left them. No record holds that name; where a table is made of it, the"
        " table's own is taken.",
        _made_up,
    ),
    Explanation(
        "the name of a path into a VARIANT",
        "`v:a.b[0]` is named b by Spark; the text has the whole path. As above, no record holds it.",
        _of_a_path,
    ),
    Explanation(
        "a column that a subquery selects in vain",
        "The text's engine takes each column that the statement names for accessed, as the document does; the"
        " plan's engine leaves out those that nothing above the subquery uses.",
        _selected_in_vain,
    ),
    Explanation(
        "an argument of a SQL table function",
        "The document makes each argument a direct source of what a function yields; the plan's engine sees"
        " the function opened, and an argument that only filters is no source there.",
        _argument,
    ),
    Explanation(
        "CREATE TABLE … LIKE",
        "Spark's command holds the two names alone; the text's engine lists the columns of the catalog.",
        _like,
    ),
)


def explanation(difference: Difference, sql: str, text: Access) -> str | None:
    """The name of what explains a difference, None where nothing does."""
    return next((e.name for e in EXPLAINED if e.holds(difference, sql, text)), None)


def differences(text: Access, plan: Access) -> Iterator[Difference]:
    """Objects and their columns, outputs by name and sources, what is written, what is defined."""
    for kind in ("direct_objects_accessed", "base_objects_accessed"):
        yield from _of_objects(kind, getattr(text, kind), getattr(plan, kind))
    if plan.columns and (text.columns or text.statement_type == "SELECT"):
        yield from _of_outputs("output", text.columns, plan.columns)
    yield from _of_written(text, plan)
    one, two = _defined(text), _defined(plan)
    if one != two:
        yield Difference("ddl", plan.statement_type, one, two)


def _of_objects(
    kind: str, text: Iterable[AccessedObject], plan: Iterable[AccessedObject]
) -> Iterator[Difference]:
    one, two = _columns(text), _columns(plan)
    for name in sorted({*one, *two}):
        if one.get(name) != two.get(name):
            yield Difference("objects", f"{kind}: {name}", one.get(name, "nothing"), two.get(name, "nothing"))


def _columns(objects: Iterable[AccessedObject]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for item in objects:
        if item.domain not in _FUNCTIONS:
            found.setdefault(item.name.casefold(), set()).update(c.name.casefold() for c in item.columns)
    return found


def _of_outputs(
    what: str, text: Sequence[OutputColumn | ModifiedColumn], plan: Sequence[OutputColumn | ModifiedColumn]
) -> Iterator[Difference]:
    if len(text) != len(plan):
        yield Difference("outputs", what, [c.name for c in text], [c.name for c in plan])
        return
    for at, (one, two) in enumerate(zip(text, plan, strict=True)):
        if one.name.casefold() != two.name.casefold():
            yield Difference("name", f"{what} {at}", one.name, two.name)
        for kind in ("base_sources", "direct_sources"):
            first, second = _sources(getattr(one, kind)), _sources(getattr(two, kind))
            if first != second:
                where = f"{what} {two.name}, {kind}"
                yield Difference("sources", where, sorted(first - second), sorted(second - first))


def _sources(refs: Iterable[ColumnRef]) -> Sources:
    return {
        (r.object_name.casefold(), r.column_name.casefold(), tuple(p.casefold() for p in r.field_path))
        for r in refs
        if r.object_domain not in _FUNCTIONS
    }


def _of_written(text: Access, plan: Access) -> Iterator[Difference]:
    one = {o.name.casefold(): o for o in text.objects_modified}
    two = {o.name.casefold(): o for o in plan.objects_modified}
    for name in sorted({*one, *two}):
        if name not in one or name not in two:
            yield Difference("modified", name, name in one, name in two)
        else:
            yield from _of_outputs(
                f"written {name}", _by_name(one[name].columns), _by_name(two[name].columns)
            )


def _by_name(columns: Iterable[ModifiedColumn]) -> list[ModifiedColumn]:
    return sorted(columns, key=lambda column: column.name.casefold())


def _defined(access: Access) -> tuple[Any, ...] | None:
    ddl = access.object_modified_by_ddl
    if ddl is None:
        return None
    columns = ddl.properties.get("columns", {})
    changes = sorted((name.casefold(), column.get("subOperationType")) for name, column in columns.items())
    return (ddl.name.casefold(), ddl.domain.value, ddl.operation_type, changes)
