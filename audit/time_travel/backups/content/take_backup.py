"""Makes the files of a backup: of a table, or of all that is in a schema.

In: a table or schema, an empty folder of a store. Out: the folder, published, and its `BackupContent`. A
killed run is run again with the same folder: which versions it holds was written down first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from audit.spark.delta.values import Table, View
from audit.time_travel.backups.content.backup_content import (
    NAME,
    BackupContent,
    BackupTable,
    LeftOut,
    ObjectGrant,
    content_in,
    is_description,
    parse_content,
    write_content,
)
from audit.time_travel.backups.content.copy_version import Progress, not_whole, require_local
from audit.time_travel.backups.files.manifest import ReadNow
from audit.time_travel.backups.store.backup_store import NO_LOCK, BackupStore, Published, Source
from audit.time_travel.errors import NoHistoryError, UnknownObjectError
from lineage.model import Domain
from lineage.names import SESSION_CATALOG, quote_name

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.delta.table_copies import CopiedVersion

PLAN = "plan.part"
"""The file of an unpublished folder that says which versions go into it; `publish` deletes it."""
_AT_ONCE = 4
_READ_AT_ONCE = 256 << 20
"""Bytes of new files that are hashed while the statement waits, less than a second; `audit backup run` hashes
the others."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told how a backup or a restore goes on; by several threads.

    Attributes:
        taken: of each file.
        read: of the bytes that were read for their hash.
    """

    taken: Progress = lambda _: None
    read: Callable[[int], None] = lambda _: None


NOBODY = Watch()
"""Nobody is told."""
WATCH = ContextVar("WATCH", default=NOBODY)
"""Who is told how the restore of a statement goes on; the statement itself has no place for it."""


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """A block whose statements tell how their restores go on."""
    before = WATCH.set(watch)
    try:
        yield
    finally:
        WATCH.reset(before)


@dataclass(frozen=True, slots=True)
class BackupFolder:
    """Where a backup lies, or goes.

    Attributes:
        store: of all backups.
        folder: of the backup in it, new or left by a killed run.
        previous: earlier backups of the same object: files that they share are not read again.
    """

    store: BackupStore
    folder: str
    previous: tuple[str, ...] = ()


GrantsOn = Callable[[Domain, tuple[str, ...], "str | None"], Iterable[tuple[str, str, str, bool]]]
"""The grants on an object, by domain, full name and Delta's id of a table: privilege, USER or ROLE, grantee,
WITH GRANT OPTION."""


def take_table(
    catalog: DeltaCatalog,
    table: Table,
    version: int | None,
    target: BackupFolder,
    made: int,
    watch: Watch,
    grants_on: GrantsOn,
) -> tuple[BackupContent, Published]:
    """Back up a version of a Delta table.

    Args:
        catalog: a session that reads the table as it is.
        table: with its location.
        version: None for the newest.
        target: where it goes.
        made: now, UTC microseconds.
        watch: is told how it goes on.
        grants_on: asked for each object.

    Returns:
        What it holds, and what its manifest adds up to.

    Raises:
        NoHistoryError: it is no Delta table.
        BackupIncompleteError: a file of it is missing, or cannot be taken.
        BackupNotLocalError: it, or a file of it, is not on this machine.
        UnreadableTableError: its log is damaged.
    """

    def plan() -> BackupContent:
        planned = _planned(catalog, table, version, 0, target.store)
        grants = tuple(_grants(grants_on, Domain.TABLE, table.name, planned.table_id))
        return BackupContent(Domain.TABLE, table.name, made, tables=(planned,), grants=grants)

    return _taken(catalog, plan, target, watch)


def take_schema(
    catalog: DeltaCatalog,
    name: str,
    target: BackupFolder,
    made: int,
    watch: Watch,
    grants_on: GrantsOn,
) -> tuple[BackupContent, Published]:
    """Back up the Delta tables, views and functions of a schema.

    The newest version of each table is looked up first, one after the other, then their files are taken. What
    is written later is not in the backup. What is written while the versions are looked up, some milliseconds
    a table, may be: of a transaction over two tables the backup may hold one half, as with CREATE SCHEMA …
    CLONE. Delta has no commit over several tables.

    Args and raises as `take_table`; tables that are not Delta's are named in `left_out`.

    Raises:
        UnknownObjectError: there is no such schema.
    """

    def plan() -> BackupContent:
        facts = catalog.schema_facts(name)
        if facts is None:
            raise UnknownObjectError(f"there is no schema {quote_name((name,))}", "check its name")
        there = catalog.tables(name)
        left_out: list[LeftOut] = []
        tables = tuple(_of_delta(catalog, there, left_out, target.store))
        views = tuple(one.facts for one in there if isinstance(one, View))
        functions = tuple(catalog.functions(name))
        full = (SESSION_CATALOG, str(facts["name"]))
        objects = [
            *((Domain.TABLE, one.name, one.table_id) for one in tables),
            *((Domain.VIEW, one.name, None) for one in there if isinstance(one, View)),
            *((Domain.FUNCTION, (*full, str(one["name"])), None) for one in functions),
        ]
        grants = tuple(grant for one in objects for grant in _grants(grants_on, *one))
        return BackupContent(
            Domain.SCHEMA, full, made, facts, tables, views, functions, tuple(left_out), grants
        )

    return _taken(catalog, plan, target, watch)


def _grants(
    grants_on: GrantsOn, domain: Domain, name: tuple[str, ...], table_id: str | None
) -> Iterable[ObjectGrant]:
    return (ObjectGrant(domain, name[-1], *one) for one in grants_on(domain, name, table_id))


def _of_delta(
    catalog: DeltaCatalog, there: Sequence[Table | View], left_out: list[LeftOut], store: BackupStore
) -> Iterable[BackupTable]:
    number = 0
    for one in there:
        if isinstance(one, View):
            continue
        try:
            planned = _planned(catalog, one, None, number, store)
        except NoHistoryError as error:
            left_out.append(LeftOut(one.name[-1], error.problem))
            continue
        number += 1
        yield planned


def _planned(
    catalog: DeltaCatalog, table: Table, version: int | None, number: int, store: BackupStore
) -> BackupTable:
    name = quote_name(table.name)
    if table.provider != "delta" or table.location is None:
        raise NoHistoryError(
            f"{name} is a table of {table.provider}: only a Delta table can be backed up",
            "CREATE TABLE … USING delta AS SELECT copies its rows",
        )
    if not store.takes(table.location):
        require_local(table.name, table.location)
    state = catalog.state(table.location)
    if state is None:
        raise NoHistoryError(
            f"no Delta table lies at {table.location}, where {name} is said to be",
            "restore its folder, or drop the table",
        )
    return BackupTable(
        f"tables/{number:04}", table.name, table.location, state.table_id,
        state.latest if version is None else version, facts=table.facts,
    )  # fmt: skip


def _taken(
    catalog: DeltaCatalog, plan: Callable[[], BackupContent], target: BackupFolder, watch: Watch
) -> tuple[BackupContent, Published]:
    store, work = target.store, target.store.work(target.folder)
    if store.is_published(target.folder):
        data = store.read(target.folder, NAME)
        return parse_content(data, f"{store.location(target.folder)}/{NAME}"), store.totals(target.folder)
    if not (work / NAME).exists():
        work.mkdir(parents=True, exist_ok=True)
        if not (work / PLAN).exists():
            write_content(work / PLAN, plan())
        planned = content_in(work / PLAN)
        tables = _tables(catalog, planned.tables, target, watch.taken)
        write_content(work / NAME, replace(planned, tables=tables))
    content, now = content_in(work / NAME), ReadNow(_READ_AT_ONCE, is_description)
    return content, store.publish(target.folder, NO_LOCK, watch.read, target.previous, now)


def _tables(
    catalog: DeltaCatalog, planned: Sequence[BackupTable], target: BackupFolder, done: Progress
) -> tuple[BackupTable, ...]:
    from pyspark.util import inheritable_thread_target

    work = target.store.work(target.folder)

    def take(one: BackupTable) -> BackupTable:
        below = work / one.folder
        below.parent.mkdir(parents=True, exist_ok=True)
        pairs = below.with_name(f"{below.name}.pairs.part")
        found = catalog.copy_log(one.location, one.version, quote_name(one.name), below, pairs, None)
        _take_listed(one, found, target, pairs, done)
        if len(planned) > 1:
            # Delta caches some megabytes a table (4.4).
            catalog.forget(one.location)
        # A version's id may be another one than today's: a REPLACE gives a table a new one.
        return replace(one, table_id=found.table_id, time=found.time, files=found.files, bytes=found.bytes)

    if len(planned) == 1:
        return (take(planned[0]),)
    # The threads carry the statement's job tag, so that its record has what they run.
    run = inheritable_thread_target(catalog.spark)(take)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return tuple(pool.map(run, planned))


def _take_listed(
    table: BackupTable, found: CopiedVersion, target: BackupFolder, pairs: Path, done: Progress
) -> None:
    with not_whole(table.name, found.version), pairs.open(encoding="utf-8") as lines:
        listed = map(json.loads, lines)
        files = (Source(path, f"{table.folder}/{name}") for path, name in listed)
        target.store.take(files, target.folder, done)
    pairs.unlink()


def bytes_now(catalog: DeltaCatalog, tables: Iterable[Table | View]) -> int:
    """Bytes of the newest versions of Delta tables; other objects have none in a backup.

    Raises:
        UnreadableTableError: the log of a table is damaged.
    """
    return sum(
        catalog.size(one.location).bytes or 0
        for one in tables
        if isinstance(one, Table)
        and one.provider == "delta"
        and one.location is not None
        and catalog.state(one.location) is not None
    )
