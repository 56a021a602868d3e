"""Which files a table under a root has, without a JVM.

In: a root and the name of a table. Out: delta-rs's table, its data files, which lineage and `audit query`
read by themselves, their size and the types of its columns. A log that is not whole is told.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import orjson

from audit.core.errors import TableMissingError, TableUnreadable
from audit.core.file_paths import local_path, without_scheme

if TYPE_CHECKING:
    from deltalake import DeltaTable


_HARMLESS = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Features of Delta under which a data file still holds what it says."""
_IN_SQL = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.(?:.+\.)?(?:parquet|json)")
_HINT = "_last_checkpoint"
_COPY_ALL = "bring it back from a backup: copy all of the table's folder, `_delta_log` first"


class UnsupportedStore(Exception):
    """Tables that delta-rs cannot read; Spark reads them."""


def open_table(root: str, name: str, version: int | None = None, *, plain: bool = True) -> DeltaTable:
    """A table under a root, at a version; the newest by default.

    Args:
        root: the folder that it lies in.
        name: of its folder.
        version: None: the newest.
        plain: its files alone have to tell what is in it; otherwise the caller looks at deletion vectors
            and mapped columns.

    Raises:
        TableMissingError: there is none of that name.
        TableUnreadable: it is on a local disk, its files alone have to tell, and its log is not whole.
        UnsupportedStore: delta-rs cannot read where it lies, or its log; or its files alone do not tell
            what is in it, and have to.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    local = local_path(root)
    # As a URL: in a path delta-rs (1.6) would take a % for the beginning of an escape.
    where = f"{root.rstrip('/')}/{name}" if local is None else (local.absolute() / name).as_uri()
    if plain and local is not None:
        _require_whole_log(local / name / "_delta_log", name)
    try:
        table = DeltaTable(where, version=version)
    except TableNotFoundError as error:
        if str(error).startswith("Unknown scheme"):
            raise UnsupportedStore(str(error)) from error
        raise TableMissingError(
            f"there is no table {name} under {root}",
            "it comes with the first statements that are taken in: run `audit ingest`, or audit.flush(spark)",
        ) from error
    except (DeltaError, OSError, ValueError) as error:
        # What follows the first line is a trace of delta-rs's own.
        raise UnsupportedStore(str(error).partition("\n")[0]) from error
    if plain:
        _require_plain(table)
    return table


def _require_plain(table: DeltaTable) -> None:
    # delta-rs (1.6) opens a table with deletion vectors or mapped columns, and lists files whose rows are
    # partly deleted, or whose columns have other names.
    features = set(table.protocol().reader_features or ()) - _HARMLESS
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        features.add("columnMapping")
    else:
        features.discard("columnMapping")
    if features:
        raise UnsupportedStore(f"{table.table_uri} has {', '.join(sorted(features))}")


def data_files(table: DeltaTable) -> list[str]:
    """The local files of a table's version."""
    # delta-rs gives percent-encoded names.
    folder = urlsplit(table.table_uri).path
    return [unquote(folder) + unquote(without_scheme(uri).removeprefix(folder)) for uri in table.file_uris()]


def require_files(table: DeltaTable, name: str) -> None:
    """Look whether the files of a table's version are there.

    Raises:
        TableUnreadable: one is gone; the error names it, and the commit that added it.
    """
    for file in data_files(table):
        if not Path(file).exists():
            folder = Path(unquote(urlsplit(table.table_uri).path))
            raise TableUnreadable(
                f"the file {file} of {name} is gone{_added_by(folder / '_delta_log', Path(file).name)}",
                "bring it back from a backup, or with RESTORE TABLE",
            )


def _added_by(log: Path, file: str) -> str:
    """Which commit has added a file, as far as the log still tells it."""
    for commit in sorted(log.glob("*.json"), reverse=True):
        if _COMMIT.fullmatch(commit.name):
            actions = [orjson.loads(line) for line in commit.read_bytes().splitlines() if line]
            if any(file in unquote(one["add"]["path"]) for one in actions if "add" in one):
                told = next(
                    one["commitInfo"] for one in [*actions, {"commitInfo": {}}] if "commitInfo" in one
                )
                moment = datetime.fromtimestamp(told.get("timestamp", 0) / 1000, timezone.utc)
                what = f"{told.get('operation')}, {moment:%Y-%m-%d %H:%M} UTC"
                return f", which version {int(commit.stem)} added ({what})"
    return ""


def size(table: DeltaTable) -> int:
    """Bytes of the files of a table's version; those of older versions stay until a VACUUM."""
    # Of a table without files delta-rs (1.6) has no such column.
    actions = table.get_add_actions()
    return sum(actions["size_bytes"].to_pylist()) if actions.num_rows else 0


def column_types(table: DeltaTable) -> dict[str, str]:
    """The type of each column of a table, as Spark's `simpleString` writes it."""
    return types_of(table.schema().to_json())


def types_of(schema: str) -> dict[str, str]:
    """The type of each column, as Spark's `simpleString` writes it.

    >>> types_of('{"type": "struct", "fields": [{"name": "a", "type": "long"}]}')
    {'a': 'bigint'}

    Args:
        schema: as Delta's log has it, JSON.
    """
    fields: list[dict[str, Any]] = json.loads(schema)["fields"]
    return {field["name"]: _simple(field["type"]) for field in fields}


def _simple(kind: Any) -> str:
    """A type of Delta's schema as Spark writes it.

    >>> struct = {"type": "struct", "fields": [{"name": "a", "type": "long"}]}
    >>> _simple({"type": "array", "elementType": struct})
    'array<struct<a:bigint>>'
    """
    if isinstance(kind, str):
        return _IN_SQL.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{_simple(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_simple(kind['keyType'])},{_simple(kind['valueType'])}>"
    fields = [f"{one['name']}:{_simple(one['type'])}" for one in kind["fields"]]
    return f"struct<{','.join(fields)}>"


def _require_whole_log(log: Path, name: str) -> None:
    """Look whether each commit since the newest checkpoint is there, and has been written to its end.

    A root may be copied in part. delta-rs (1.6) reads what there is, and gives fewer records without a word.

    Args:
        log: the folder; nothing is said of one that is not there.
        name: of the table.

    Raises:
        TableUnreadable: a file is damaged, gone, or may not be read.
    """
    try:
        _look(log, name)
    except FileNotFoundError:
        return  # no table, which who opens it says; or a file that a clean-up has taken meanwhile
    except OSError as error:
        raise TableUnreadable(
            f"the log of {name} cannot be read: {log} ({error.strerror or error})",
            "let this user read the folder of the root",
        ) from error


def _look(log: Path, name: str) -> None:
    files = [one.name for one in log.iterdir()]
    commits = sorted(int(found[1]) for one in files if (found := _COMMIT.fullmatch(one)))
    checkpoints = {int(found[1]) for one in files if (found := _CHECKPOINT.fullmatch(one))}
    if not commits and not checkpoints:
        return
    if _HINT in files:
        _require_checkpoint(log, name, checkpoints)
    newest = max(checkpoints, default=-1)
    since = [one for one in commits if one > newest]
    for wanted, version in enumerate(since, newest + 1):
        if wanted != version:
            raise _damaged(name, log / f"{wanted:020}.json", "is not there")
    for one in since:
        _require_end(log / f"{one:020}.json", name)


def _require_checkpoint(log: Path, name: str, checkpoints: set[int]) -> None:
    try:
        hinted = orjson.loads((log / _HINT).read_bytes())["version"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise _damaged(name, log / _HINT, "is damaged") from None
    # A newer one has its name before the hint names it, and older ones are cleaned up.
    if not any(one >= hinted for one in checkpoints):
        raise _damaged(name, log / f"{hinted:020}.checkpoint.parquet", "is not there")


def _require_end(file: Path, name: str) -> None:
    # Each line is an action; what a copy has cut off is the end.
    last = file.read_bytes().rstrip().rpartition(b"\n")[2]
    try:
        orjson.loads(last)
    except orjson.JSONDecodeError:
        raise _damaged(name, file, "is damaged") from None


def _damaged(name: str, file: Path, how: str) -> TableUnreadable:
    return TableUnreadable(f"the log of {name} is not whole: {file} {how}", _COPY_ALL)
