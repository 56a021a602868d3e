"""Which tables and views a view reads by name.

In: views with their texts, and what the catalog has. Out: a row for each pair, in the columns of Snowflake's
OBJECT_DEPENDENCIES. A view's text keeps names, so that each dependency is BY_NAME.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from audit.spark.delta.values import is_path
from lineage.model import Domain
from lineage.names import qualify, quote_name
from lineage.sql.parse import parse

if TYPE_CHECKING:
    from audit.spark.delta.values import View

Known = Mapping[str, tuple[Domain, int]]
"""Domain and objectId of tables and views, by their full names in lower case."""
Row = tuple[Any, ...]


def dependency_rows(views: Iterable[View], known: Known) -> Iterator[Row]:
    """What each view reads, each object once, in the order of the text.

    >>> from audit.spark.delta.values import View
    >>> view = View(("c", "s", "v"), "WITH w AS (SELECT * FROM t) SELECT * FROM w JOIN gone", ("c", "s"))
    >>> there = {"c.s.v": (Domain.VIEW, 1), "c.s.t": (Domain.TABLE, 2)}
    >>> [row[:5] for row in dependency_rows([view], there)]
    [('c', 's', 't', 2, 'TABLE'), ('c', 's', 'gone', None, None)]

    Args:
        views: as the catalog has them.
        known: what the catalog has; id and domain of anything else are None.
    """
    for view in views:
        reader = (*view.name, _found(view.name, known)[0], "VIEW", "BY_NAME")
        references = (_full(parts, view.current) for parts in parse(view.text).references)
        for parts in dict.fromkeys(references):
            yield (*_placed(parts), *_found(parts, known), *reader)


def _full(parts: tuple[str, ...], current: tuple[str, str]) -> tuple[str, ...]:
    # delta.`/data/t` is a path in any catalog.
    return parts if is_path(parts) else qualify(parts, current)


def _placed(parts: tuple[str, ...]) -> tuple[str | None, str | None, str]:
    """Catalog, schema and name; a path has neither, and a schema of several parts is joined."""
    if is_path(parts):
        return None, None, parts[-1]
    return parts[0], quote_name(parts[1:-1]), parts[-1]


def _found(parts: tuple[str, ...], known: Known) -> tuple[int | None, str | None]:
    if is_path(parts):
        return None, Domain.STAGE.value.upper()
    found = known.get(quote_name(parts).casefold())
    return (None, None) if found is None else (found[1], found[0].value.upper())
