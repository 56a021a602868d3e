"""The two tables of imports under a root, read and written by delta-rs.

In: a root, rows. Out: Delta tables. A lock keeps the processes of one machine apart, Spark's drivers too, as
commits to a local disk are not atomic across them (`audit.store.commit_lock`); a number of our own in Delta's
log makes one of two imports elsewhere fail, which begins again.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from audit.core.file_paths import local_path
from audit.exchange.errors import ImportFailed
from audit.exchange.opened_tables import opened_table
from audit.spark.arrow import arrow_type
from audit.store.later_tables import IMPORTED_EVENTS, IMPORTED_LINEAGE
from audit.store.tables import AuditTable

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

Row = dict[str, Any]
_APPLICATION = "audit-import"
_DAY = "query_date"
_THREADS = threading.Lock()


class ImportRaced(Exception):
    """Another import has committed since the tables were read."""


@contextmanager
def import_lock(root: str) -> Iterator[None]:
    """One writer on a local root; elsewhere nothing: Delta's commits are atomic there.

    Raises:
        ImportFailed: the root cannot be written.
    """
    folder = local_path(root)
    if folder is None:
        yield
        return
    try:
        file = (folder / "commit.lock").open("ab")
    except OSError as error:
        raise ImportFailed(
            f"the root {folder} cannot be written ({error.strerror or error})",
            "give this user write permission there",
        ) from error
    # As the JVM's own lock on it: the kernel's, which keeps processes apart, but not threads of one.
    with _THREADS, file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


def require_writable(root: str) -> None:
    """Look whether delta-rs knows the store of a root.

    Raises:
        ImportFailed: it does not.
    """
    for table in (IMPORTED_EVENTS, IMPORTED_LINEAGE):
        opened(root, table)


def opened(root: str, table: AuditTable) -> DeltaTable | None:
    """A table; None where nothing was imported yet.

    Raises:
        ImportFailed: delta-rs cannot read where it lies.
    """
    return opened_table(root, table.name, ImportFailed, "import on")


def rows_where(
    table: DeltaTable | None, column: str, values: Sequence[str], columns: Sequence[str]
) -> list[Row]:
    """The rows that have one of some values in a column.

    Args:
        table: None gives no rows.
        column: which column.
        values: of it.
        columns: that the rows are to have.
    """
    if table is None or not values:
        return []
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow import compute

    # Filtered here: for each file Arrow (23) would compare thousands of values with its statistics.
    wanted, rows = pa.array(values, pa.string()), table.to_pyarrow_dataset()
    keys = rows.to_table(columns=[column, _DAY])
    days = compute.unique(keys.filter(compute.is_in(keys[column], wanted))[_DAY]).to_pylist()
    if not days:
        return []
    # Whole events are read of the days alone that have such a row.
    found = rows.to_table(columns=[*dict.fromkeys((column, *columns))], filter=ds.field(_DAY).isin(days))
    kept: list[Row] = found.filter(compute.is_in(found[column], wanted)).select(list(columns)).to_pylist()
    return kept


def append(root: str, table: AuditTable, there: DeltaTable | None, rows: Sequence[Row]) -> None:
    """Commit rows to a table as it was read; it is made where it was not there.

    A commit of its own makes it: of two that make it with rows delta-rs (1.6) would commit both.

    Raises:
        ImportFailed: it cannot be written.
        ImportRaced: another import has committed meanwhile.
    """
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError

    made = _arrow(table, rows)
    local = local_path(root)
    where = f"{root.rstrip('/')}/{table.name}" if local is None else (local.absolute() / table.name).as_uri()
    try:
        if there is None:
            there = DeltaTable.create(where, made.schema, partition_by=[_DAY])
            # Two may make it (delta-rs 1.6); this one then sees what the other has committed since.
            if there.transaction_version(_APPLICATION) is not None:
                raise ImportRaced(f"another import has made {table.name}")
        number = (there.transaction_version(_APPLICATION) or 0) + 1
        properties = CommitProperties(app_transactions=[Transaction(_APPLICATION, number)])
        write_deltalake(there, made, mode="append", commit_properties=properties)
    except CommitFailedError as error:
        raise ImportRaced(str(error)) from error
    except (DeltaError, OSError) as error:
        if there is None and opened(root, table) is not None:  # another import has made it
            raise ImportRaced(str(error)) from error
        raise ImportFailed(
            f"{table.name} under {root} cannot be written: {str(error).partition(chr(10))[0]}",
            "mend the cause, and import the files again: what was taken in is not taken in again",
        ) from error


def _arrow(table: AuditTable, rows: Sequence[Row]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import compute

    fields = [(name, arrow_type(kind)) for name, kind, _ in table.columns]
    made = pa.Table.from_pylist(list(rows), schema=pa.schema(fields))
    return made.append_column(_DAY, compute.cast(made[table.time], "date32"))
