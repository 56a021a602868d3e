"""Where the two engines say different things of one statement, and which of it is explained.

In: a `Difference`, its statement and the `Access` by text. Out: what explains it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from lineage.engine_diff import Difference
from lineage.model import Access, Domain


@dataclass(frozen=True, slots=True)
class Explanation:
    """A difference that is no fault: which, and why."""

    name: str
    reason: str
    holds: Callable[[Difference, str, Access], bool]


def _made_up(difference: Difference, sql: str, text: Access) -> bool:
    # A name that the statement gives is a word of it, or stands in back-ticks; else a table gives it.
    if difference.kind != "name" or difference.plan.casefold() in _read(text):
        return False
    name, words = difference.plan.casefold(), sql.casefold()
    if name == "null":
        return True
    is_given = re.fullmatch(r"[^\W\d]\w*", name) and re.search(rf"(?<!['\w]){name}(?!['\w])", words)
    return not is_given and f"`{name.replace('`', '``')}`" not in words


def _read(text: Access) -> set[str]:
    return {column.name.casefold() for item in text.direct_objects_accessed for column in item.columns}


def _of_a_path(difference: Difference, sql: str, _text: Access) -> bool:
    name = difference.plan
    return difference.kind == "name" and bool(re.search(rf":[^,]*\b{re.escape(name)}\b", sql, re.IGNORECASE))


def _argument(difference: Difference, _sql: str, text: Access) -> bool:
    called = any(item.domain is Domain.FUNCTION for item in text.direct_objects_accessed)
    return called and difference.where.endswith("direct_sources") and difference.plan == []


def _like(difference: Difference, sql: str, _text: Access) -> bool:
    return difference.kind == "ddl" and bool(re.search(r"(?i)\bcreate\s+table\b.*\blike\b", sql))


def _unnamed(difference: Difference, sql: str, _text: Access) -> bool:
    name = difference.where.rpartition(" ")[2].rpartition(".")[2]
    return difference.kind == "objects" and difference.text is None and name not in sql.casefold()


def _cut_short(difference: Difference, sql: str, _text: Access) -> bool:
    columns = difference.text[-1] if difference.kind == "ddl" and difference.text else ()
    return ("union", "ADD") in columns and bool(re.search(r"(?i)\bunion\b", sql))


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
        "an argument of a SQL table function",
        "The document makes each argument a direct source of what a function yields; the plan's engine sees"
        " the function opened, and an argument that only filters is no source there.",
        _argument,
    ),
    Explanation(
        "a function in the default of a parameter",
        "A call that leaves a parameter out is given its default by Spark's analyzer, in whose plan it looks"
        " like any argument. The statement names no function of it.",
        _unnamed,
    ),
    Explanation(
        "a view's query that an old parser cuts short",
        "Under spark.sql.legacy.parseQueryWithoutEof a view ends before its first UNION, which becomes an"
        " alias. The text's engine takes the columns that the catalog has then.",
        _cut_short,
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
