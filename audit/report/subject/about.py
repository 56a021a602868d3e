"""What a report about a person's row is about: the tables, and what the replay says of each statement.

In: the key, the names of the tables. Out: an `About` with the rows of the figures that the replay works out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.query.answer import Answer
from audit.report.binding import bound
from audit.report.errors import SubjectKeyInvalid, SubjectTableInvalid
from audit.report.kinds.object_names import find_object
from audit.report.kinds.subject import COULD_NOT, MAY_HAVE_READ, READ, SUMMARY
from audit.report.model import About
from audit.report.subject.columns import fields, fits, is_comparable
from audit.report.subject.key import Key, key_of
from audit.report.subject.replay import MAY, NOT, Replay, Said, Verdict
from audit.report.subject.replay import READ as SAID_READ
from audit.report.subject.statement import Reading, readings
from audit.report.subject.table_versions import TableVersions, opened

if TYPE_CHECKING:
    from audit.query.tables import Tables
    from audit.report.period import Period

_COLUMNS = (
    "query_start_time", "purpose", "query_tag", "object_name", "version", "columns_read", "masked",
    "user_name", "reason", "query_id",
)  # fmt: skip
_FIGURES: Mapping[Said, str] = {SAID_READ: READ.name, MAY: MAY_HAVE_READ.name, NOT: COULD_NOT.name}
_DOMAINS = """
SELECT DISTINCT object_domain
FROM account_usage.objects_read
WHERE object_id IN :object_ids
"""
_LOCATIONS = {
    "object_catalog": """
SELECT relation.object_id, relation.location
FROM account_usage.object_catalog
WHERE relation.location IS NOT NULL AND relation.object_id IN :object_ids
ORDER BY measured_at
""",
    "object_storage": """
SELECT table_id, location
FROM account_usage.object_storage
WHERE location IS NOT NULL AND table_id IN :object_ids
ORDER BY measured_at
""",
}
"""Where the files of a table lie, as an attached session has measured it last."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table that was named: its name on record, its ids (an old one was dropped), its folder if told."""

    name: str
    ids: tuple[int, ...]
    folder: str | None


def subject_about(tables: Tables, text: str, named: Sequence[str], period: Period) -> About:
    """What a report about a person's row is about.

    Args:
        tables: of the root.
        text: the key: `column = value`.
        named: the tables, as NAME or NAME=FOLDER.
        period: its days.

    Raises:
        SubjectKeyInvalid: the key is no comparison of a column with a value, or not of the column's type.
        SubjectTableInvalid: a name is a view's, or the table has no such column.
        ReportNameUnknown: nothing on record has this name.
        ReportNameAmbiguous: several objects answer to it.
    """
    import duckdb

    key = key_of(text)
    found = [_table(tables, one, period) for one in named]
    ids = tuple(sorted({number for one in found for number in one.ids}))
    folders = _folders(tables, found, ids)
    for one in found:
        _require_column(key, one, folders)
    read = readings(tables, {**period.values, "object_ids": ids})
    # A database of its own: the person's values are no part of the audit's.
    with duckdb.connect() as connection:
        versions = {
            number: TableVersions(connection, folders.get(number), place, number, key)
            for place, number in enumerate(ids)
        }
        replay = Replay(connection, versions, tables.now)
        replay.look_into(read)
        said = [(one, replay.verdict(one)) for one in read]
    return About(str(key), {"object_ids": ids}, _rows(said), is_the_asking_person=True)


def _table(tables: Tables, named: str, period: Period) -> _Table:
    name, sign, folder = named.partition("=")
    about = find_object(tables, name.strip(), period)
    ids = about.values["object_ids"]
    assert isinstance(ids, tuple)  # noqa: S101 - see find_object
    rows = tables.ask(bound(_DOMAINS, {"object_ids": ids}, tables.schema), {}).rows
    if other := sorted({one for (one,) in rows} - {"Table", None}):
        raise SubjectTableInvalid(
            f"{about.name} is a {other[0]}, which holds no rows of its own",
            "name the tables below it by --table",
        )
    if sign and opened(folder) is None:
        raise SubjectTableInvalid(
            f"{folder} holds no Delta table that can be read here",
            f"name the folder of {about.name}, or leave it out",
        )
    return _Table(about.name, ids, folder or None)


def _folders(tables: Tables, found: Iterable[_Table], ids: tuple[int, ...]) -> dict[int, str]:
    """Where the files of each table lie, as far as anybody knows."""
    folders: dict[int, str] = {}
    for name, sql in _LOCATIONS.items():
        if tables.has(name):
            rows = tables.ask(bound(sql, {"object_ids": ids}, tables.schema), {}).rows
            folders |= {number: location for number, location in rows if number not in folders}
    return folders | {number: one.folder for one in found if one.folder for number in one.ids}


def _require_column(key: Key, table: _Table, folders: Mapping[int, str]) -> None:
    """Whether the newest version has the column, and its type is the key's, where anybody can look."""
    places = {folders[one] for one in table.ids if one in folders}
    there = [made for one in places if (made := opened(one)) is not None]
    if not there:
        return
    columns = [column for one in there if (column := fields(one).get(key.column.casefold()))]
    if not columns:
        listed = ", ".join(sorted(one["name"] for one in fields(there[0]).values()))
        raise SubjectTableInvalid(f"{table.name} has no column {key.column}", f"its columns are {listed}")
    for column in columns:
        if is_comparable(column) and not fits(key, column):
            wanted = {"string": "a text in quotes", "date": "a day in quotes, as '2026-01-31'"}
            raise SubjectKeyInvalid(
                f"{key.column} of {table.name} is a {column['type']}, and the key's value is not",
                f"write {wanted.get(column['type'], 'a number')}",
            )


def _rows(said: Sequence[tuple[Reading, Verdict]]) -> dict[str, Answer]:
    """The rows of the figures that the replay works out."""
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _FIGURES.values()}
    for one, verdict in said:
        rows[_FIGURES[verdict.answer]].append(_row(one, verdict))
    made = {name: Answer(_COLUMNS, found) for name, found in rows.items()}
    numbers = (len({one.query_id for one, _ in said}), *(len(rows[name]) for name in _FIGURES.values()))
    names = ("statements", "read", "may_have_read", "could_not_have_read")
    return {**made, SUMMARY.name: Answer(names, [numbers])}


def _row(one: Reading, verdict: Verdict) -> tuple[Any, ...]:
    versions = ", ".join(map(str, one.versions))
    return (
        one.at, one.purpose or "none was given", one.query_tag, one.object_name, versions, one.columns,
        one.masks, one.user_name, verdict.reason, one.query_id,
    )  # fmt: skip
