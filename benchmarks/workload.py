"""Records as a warehouse makes them: dashboards and pipelines over a few thousand tables.

In: a seed. Out: what the analysis found for each statement, as the audit's own types, so that the rows come
out of the same code as in a driver. Most statements read 3 objects with 5 columns each; one in
three reads through a view; one in eight is an INSERT with the sources of 8 columns.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

from audit.record.access_record import Ended, Finding, ObjectVersion, Started, Status
from lineage.catalog.object_ids import column_id, object_id
from lineage.model import Access, AccessedObject, Column, ColumnRef, Domain, ModifiedColumn, ModifiedObject

TABLES = 2_000
COLUMNS = 30
USERS = 300
_READ_OBJECTS, _READ_COLUMNS, _WRITTEN_COLUMNS = 3, 5, 8


@dataclass(frozen=True, slots=True)
class Template:
    """A statement that runs again and again: its text and what it accesses.

    Attributes:
        text: of it.
        access: what it accesses, or would.
        versions: of the tables that it reads.
        status: how it ends.
        role_name: the role in force.
        is_event: it is no statement, and happened to the logging.
    """

    text: str
    access: Access
    versions: tuple[ObjectVersion, ...]
    status: Status = "SUCCESS"
    role_name: str | None = None
    is_event: bool = False

    def started(self, query_id: str, start_time: int, user: str) -> Started:
        """One run of it; `start_time` in UTC microseconds."""
        return Started(
            query_id=query_id,
            start_time=start_time,
            user_name=user,
            query_text=self.text,
            query_type=self.access.statement_type,
            action="SparkSession.sql",
            role_name=self.role_name,
            database_name="spark_catalog",
            schema_name="default",
            session_id="5e0b3b5e-3bb0-4b0c-9a44-0d7a3f1c2b11",
            application_id="local-1735689600000",
            query_hash=hashlib.sha256(self.text.encode()).hexdigest(),
            objects_tried=tuple(o.name for o in self.access.direct_objects_accessed),
        )

    def finding(self) -> Finding | None:
        """What the worker found out about it; None where access_history has no row of it."""
        if self.is_event or self.status != "SUCCESS":
            return None
        return Finding(self.access, "text", self.versions, rows_produced=25, bytes_scanned=1 << 20)


def ended(start_time: int, status: Status = "SUCCESS") -> Ended:
    """A statement that took a quarter of a second."""
    if status != "SUCCESS":
        return Ended(status, start_time + 250_000, "INSUFFICIENT_PRIVILEGES")
    return Ended(status, start_time + 250_000, rows_produced=25)


def templates(count: int, seed: int = 7) -> Iterator[Template]:
    """Different statements, always the same ones for a seed."""
    chance = random.Random(seed)  # noqa: S311 - data, no secret
    for _ in range(count):
        yield _template(chance)


def _template(chance: random.Random) -> Template:
    # Squared: some tables are read far more often than others.
    base = tuple(table_read(int(chance.random() ** 2 * TABLES), chance) for _ in range(_READ_OBJECTS))
    direct = (_view_of(base[0]), *base[1:]) if chance.random() < 1 / 3 else base
    read = [(o, c) for o in direct for c in o.columns]
    text = (
        f"SELECT {', '.join(c.name for _, c in read)} FROM {' JOIN '.join(o.name for o in direct)} USING (id)"  # noqa: S608
    )
    versions = tuple(ObjectVersion(o.name, "read", chance.randrange(500), o.object_id) for o in base)
    if chance.random() < 1 / 8:
        target = table_read(chance.randrange(TABLES), chance)
        written = ModifiedObject(target.name, Domain.TABLE, target.object_id, _written(direct, base, chance))
        access = Access("INSERT", direct, base, (written,))
        return Template(f"INSERT INTO {target.name} {text}", access, versions)
    return Template(text, Access("SELECT", direct, base), versions)


def table_read(number: int, chance: random.Random) -> AccessedObject:
    """A table, and some of its columns that a statement reads."""
    name = f"spark_catalog.schema_{number % 40}.table_{number}"
    of_table = object_id("TABLE", name)
    numbers = sorted(chance.sample(range(COLUMNS), _READ_COLUMNS))
    columns = tuple(Column(f"column_{n}", "", column_id(of_table, f"column_{n}")) for n in numbers)
    return AccessedObject(name, Domain.TABLE, of_table, columns)


def _view_of(table: AccessedObject) -> AccessedObject:
    name = table.name.replace("table_", "view_")
    of_view = object_id("VIEW", name)
    columns = tuple(Column(c.name, "", column_id(of_view, c.name)) for c in table.columns)
    return AccessedObject(name, Domain.VIEW, of_view, columns)


def _written(
    direct: tuple[AccessedObject, ...], base: tuple[AccessedObject, ...], chance: random.Random
) -> tuple[ModifiedColumn, ...]:
    def sources(objects: tuple[AccessedObject, ...], picks: list[tuple[int, int]]) -> tuple[ColumnRef, ...]:
        found = ((objects[i], objects[i].columns[j]) for i, j in picks)
        return tuple(ColumnRef(o.name, c.name, o.domain, o.object_id, c.column_id) for o, c in found)

    def column(number: int) -> ModifiedColumn:
        picks = [(chance.randrange(_READ_OBJECTS), chance.randrange(_READ_COLUMNS)) for _ in range(2)]
        return ModifiedColumn(f"column_{number}", number + 1, sources(base, picks), sources(direct, picks))

    return tuple(column(number) for number in range(_WRITTEN_COLUMNS))
