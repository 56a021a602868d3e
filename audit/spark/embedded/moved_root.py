"""A root of the embedded session that lies elsewhere now: moved, copied, or restored from a backup.

In: a root's folder, before Spark opens its metastore. Out: a root that is on its own: the metastore, and the
logs of tables that share files, name places under the folder where it lies. The folder where it lay before
is neither read nor written: it may be gone, or be a root that goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from audit.core.file_paths import spellings, without_scheme

if TYPE_CHECKING:
    import pyarrow as pa

FILE = "root.json"
"""In a root: the folders where it has lain, the newest last."""

# Columns of Hive's metastore (2.3) that hold locations, and the key of a row.
_PLACES = (
    ("DBS", "DB_LOCATION_URI", ("DB_ID",)),
    ("SDS", "LOCATION", ("SD_ID",)),
    ("SERDE_PARAMS", "PARAM_VALUE", ("SERDE_ID", "PARAM_KEY")),
)


@dataclass(frozen=True, slots=True)
class Move:
    """From one folder to another."""

    old: str
    new: str

    def moved(self, place: str) -> str:
        """A location under the old folder as it is under the new one; any other as it was.

        >>> Move("/a/root", "/b/root").moved("file:/a/root/warehouse/_tables/t")
        'file:/b/root/warehouse/_tables/t'
        >>> Move("/a/r s", "/b").moved("file:///a/r%20s"), Move("/a", "/b").moved("/ab/c")
        ('file:///b', '/ab/c')
        """
        for old, new in self.spellings():
            if place == old or place.startswith(f"{old}/"):
                return new + place[len(old) :]
        return place

    def spellings(self) -> list[tuple[str, str]]:
        """Each way to write the old folder, with the new one in the same."""
        return list(zip(spellings(self.old), spellings(self.new), strict=True))


def folders_of(root: Path) -> list[str]:
    """Where a root has lain, the newest last; [] for one that no embedded session has opened."""
    try:
        found: list[str] = json.loads((root / FILE).read_text(encoding="utf-8"))["folders"]
    except FileNotFoundError:
        return []
    return found


def moves_of(folder: Path) -> tuple[Move, ...]:
    """From each former folder of a root to the present one, for a folder that is the root or lies in it."""
    for root in (folder.absolute(), *folder.absolute().parents):
        if found := folders_of(root):
            return tuple(Move(old, found[-1]) for old in found[:-1])
    return ()


def adopt(folder: Path, derby: Callable[[], Any]) -> None:
    """Make a root name its own folder, where it names another one.

    A crash leaves a root that is adopted again at the next start: each step may be done twice.

    Args:
        folder: of the root.
        derby: opens a JDBC connection to its metastore.
    """
    known, here = folders_of(folder), str(folder)
    if known and known[-1] == here:
        return
    if (folder / "metastore").is_dir():
        connection = derby()
        former = [known[-1]] if known else _warehouse_of(connection)
        for move in (Move(old, here) for old in former if old != here):
            _adopt_logs(folder, move)
            _adopt_metastore(connection, move)
        connection.commit()
        connection.close()
        known = known or former
    _note(folder, [*(one for one in known if one != here), here])


def _note(folder: Path, folders: list[str]) -> None:
    path = folder / FILE
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"folders": folders}), encoding="utf-8")
    fresh.replace(path)


def _warehouse_of(connection: Any) -> list[str]:
    """The folder of a root that has not noted it: Spark makes the schema `default` in its warehouse."""
    rows = connection.createStatement().executeQuery(
        'SELECT "DB_LOCATION_URI" FROM "DBS" WHERE "NAME" = \'default\''
    )
    if not rows.next():
        return []
    place = unquote(without_scheme(str(rows.getString(1))))
    return [place.removesuffix("/warehouse")]


def _adopt_metastore(connection: Any, move: Move) -> None:
    for table, column, keys in _PLACES:
        key = ", ".join(f'"{name}"' for name in keys)
        rows = connection.createStatement().executeQuery(f'SELECT {key}, "{column}" FROM "{table}"')  # noqa: S608
        found = []
        while rows.next():
            before = rows.getString(len(keys) + 1)
            after = None if before is None else move.moved(str(before))
            if after != before:
                found.append((after, [rows.getString(at + 1) for at in range(len(keys))]))
        same = " AND ".join(f'"{name}" = ?' for name in keys)
        update = connection.prepareStatement(f'UPDATE "{table}" SET "{column}" = ? WHERE {same}')  # noqa: S608
        for after, values in found:
            for at, value in enumerate([after, *values], 1):
                update.setString(at, value)
            update.executeUpdate()


def _adopt_logs(folder: Path, move: Move) -> None:
    """Delta writes the path of a file in another folder in full (4.4), as in a clone."""
    for log in folder.rglob("_delta_log"):
        for path in _entries(log):
            _rewrite(path, (_checkpoint if path.suffix == ".parquet" else _commit)(path, move))


def _entries(log: Path) -> Iterator[Path]:
    yield from log.glob("*.json")
    yield from log.glob("*.parquet")
    yield from (log / "_sidecars").glob("*.parquet")
    # A checksum may list all files (Delta 4.4, VersionChecksum.allFiles).
    yield from (one for one in log.glob("*.crc") if not one.name.startswith("."))


def _rewrite(path: Path, write: Callable[[Path], None] | None) -> None:
    if write is None:
        return
    stat, fresh = path.stat(), path.with_name(f".{path.name}.new")
    write(fresh)
    # Delta reads the time of a commit from its file, where it is not inside.
    os.utime(fresh, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    # Hadoop's checksum of the file as it was.
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    fresh.replace(path)


def _commit(path: Path, move: Move) -> Callable[[Path], None] | None:
    before = path.read_text(encoding="utf-8")
    after = before
    for old, new in move.spellings():
        after = after.replace(f'"{old}/', f'"{new}/')
    return None if after == before else lambda fresh: _write_text(fresh, after)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _checkpoint(path: Path, move: Move) -> Callable[[Path], None] | None:
    import pyarrow.parquet as pq

    before = pq.read_table(path)
    after = before
    for at, name in enumerate(before.column_names):
        column = before.column(at).combine_chunks()
        now = _moved_in(column, move)
        if now is not column:
            after = after.set_column(at, before.schema.field(name), now)
    return None if after is before else lambda fresh: pq.write_table(after, fresh)


def _moved_in(values: pa.Array, move: Move) -> pa.Array:
    """The same array where no text in it, or in its structs, is a place under the old folder."""
    import pyarrow as pa

    if pa.types.is_string(values.type):
        texts = values.to_pylist()
        moved = [None if text is None else move.moved(text) for text in texts]
        return values if moved == texts else pa.array(moved, values.type)
    if not pa.types.is_struct(values.type):
        return values
    fields = [values.type.field(at) for at in range(values.type.num_fields)]
    before = [values.field(at) for at in range(len(fields))]
    after = [_moved_in(one, move) for one in before]
    if all(one is other for one, other in zip(before, after, strict=True)):
        return values
    return pa.StructArray.from_arrays(after, fields=fields, mask=values.is_null())
