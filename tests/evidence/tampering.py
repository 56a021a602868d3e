"""Changes to Delta tables by their files, as whoever has the rights of the file system makes them."""

from __future__ import annotations

import copy
import json
import time
import uuid
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from audit.store.delta_files import open_table


def log_of(root, table):
    """The folder of a table's log."""
    return Path(root) / table / "_delta_log"


def newest(root, table):
    """The newest version of a table."""
    return max(int(one.stem) for one in log_of(root, table).glob("*.json") if one.stem.isdigit())


def files_of(root, table):
    """The paths of the files of a table, relative to it, as its log names them."""
    listed = [
        unquote(one) for one in open_table(str(root), table).get_add_actions(flatten=True)["path"].to_pylist()
    ]
    return sorted(listed)


def rows_of(root, table):
    """All rows, and the file of each."""
    for name in files_of(root, table):
        for row in read(root, table, name).to_pylist():
            yield name, row


def read(root, table, name):
    """A file."""
    return pq.ParquetFile(Path(root) / table / name).read()


def in_place(root, table, name, change):
    """Write a file anew under its own name: the log does not tell."""
    path = Path(root) / table / name
    rows = read(root, table, name)
    changed = rows.from_pylist(change(rows.to_pylist()), rows.schema)
    pq.write_table(changed, path, compression="zstd")


def by_commit(root, table, name, change):
    """Replace a file by another one in a commit, as UPDATE and DELETE do."""
    rows = read(root, table, name)
    changed = change(rows.to_pylist())
    path = Path(root) / table / name
    new = path.with_name(f"part-00000-{uuid.uuid4()}.c000.zstd.parquet")
    actions = [{"remove": {"path": name, "dataChange": True, "deletionTimestamp": time.time_ns() // 10**6}}]
    if changed:
        pq.write_table(rows.from_pylist(changed, rows.schema), new, compression="zstd")
        folder = path.parent.name
        partition = dict([folder.split("=")]) if "=" in folder else {}
        actions.append(
            {
                "add": {
                    "path": str(new.relative_to(Path(root) / table)), "partitionValues": partition,
                    "size": new.stat().st_size, "modificationTime": time.time_ns() // 10**6,
                    "dataChange": True, "stats": json.dumps({"numRecords": len(changed)}),
                }
            }
        )  # fmt: skip
    commit(root, table, actions)


def by_delta_rs(root, table, name, change):
    """Delete the rows of a file and append others, as whoever has delta-rs and no JVM does."""
    rows = read(root, table, name)
    ids = ", ".join(f"'{one}'" for one in dict.fromkeys(rows["query_id"].to_pylist()))
    there = DeltaTable(Path(root) / table)
    there.delete(f"query_id IN ({ids})")
    changed = change(rows.to_pylist())
    if changed:
        write_deltalake(there, rows.from_pylist(changed, rows.schema), mode="append")


def commit(root, table, actions):
    """Add a commit to a log."""
    version = newest(root, table) + 1
    lines = [{"commitInfo": {"timestamp": time.time_ns() // 10**6, "operation": "DELETE"}}, *actions]
    (log_of(root, table) / f"{version:020}.json").write_text("\n".join(map(json.dumps, lines)) + "\n")


def put_back(root, table, version):
    """Take the newest commits away."""
    for number in range(version + 1, newest(root, table) + 1):
        for file in log_of(root, table).glob(f"*{number:020}.*"):
            file.unlink()


def each(change):
    """A change of all rows of a file, one by one; None deletes a row."""
    return lambda rows: [new for new in (change(copy.deepcopy(row)) for row in rows) if new is not None]


def everywhere(root, table, change, how=by_commit):
    """The same change in all files that it changes something in."""
    for name in files_of(root, table):
        rows = read(root, table, name).to_pylist()
        if each(change)(rows) != rows:
            how(root, table, name, each(change))
