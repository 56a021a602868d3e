"""Statements told in a line each, as rows of the two lineage tables."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
from deltalake import write_deltalake

from audit.graph import Question, answer
from audit.graph.history import History
from audit.graph.snapshot import Snapshot
from lineage.catalog.object_ids import column_id, object_id
from lineage.names import quote_name, split_name

DAY = 86_400_000_000
NOON = 1_767_268_800_000_000  # 2026-01-01T12:00:00Z

_TEXT, _ID, _FLAG = pa.string(), pa.int64(), pa.bool_()
_HEAD = [("query_id", _TEXT), ("query_start_time", pa.timestamp("us", "UTC")), ("query_date", pa.date32()),
         ("user_name", _TEXT), ("query_type", _TEXT)]  # fmt: skip


def _end(end, *, column):
    fields = [(f"{end}_object_id", _ID), (f"{end}_object_name", _TEXT), (f"{end}_object_domain", _TEXT)]
    return [*fields, (f"{end}_column_id", _ID), (f"{end}_column_name", _TEXT)] if column else fields


COLUMN_SCHEMA = pa.schema(
    [*_HEAD, *_end("source", column=True), *_end("target", column=True),
     ("source_kind", _TEXT), ("is_indirect", _FLAG), ("transformation", _TEXT)]
)  # fmt: skip
TABLE_SCHEMA = pa.schema(
    [*_HEAD, *_end("source", column=False), *_end("target", column=False),
     ("source_kind", _TEXT), ("is_indirect", _FLAG), ("overwrites", _FLAG)]
)  # fmt: skip


def at(day):
    """The moment of a day's statement, as a datetime."""
    return datetime.fromtimestamp((NOON + int(day * DAY)) / 1e6, timezone.utc)


class Story:
    """Statements of one a day; a table is `s.t`, a view's name begins with `v`, a column is `s.t.c`."""

    def __init__(self):
        self.columns, self.tables, self.day, self.ids, self.names = [], [], 0, {}, {}

    def write(self, target, columns, *, base=None, indirect=(), query="INSERT", replaces=False, user="ann",
              known=True, day=None):  # fmt: skip
        """A statement: `columns` says for each column of the target from which it is made."""
        head = self._head(query, user, day)
        pairs = {self._table(source): False for sources in columns.values() for source in sources}
        if known:
            for column, sources in columns.items():
                for source in sources:
                    self._row(head, source, target, column, "direct")
                for source in (base or {}).get(column, ()):
                    self._row(head, source, target, column, "base")
        for source in indirect:
            self._row(head, source, target, None, "direct", indirect=True)
            pairs.setdefault(self._table(source), True)
        for source, shapes in pairs.items():
            self._pair(head, source, target, replaces, is_indirect=shapes)
        if not pairs:
            self._pair(head, None, target, replaces)
        return head["query_id"]

    def view(self, target, columns, **more):
        """CREATE OR REPLACE VIEW."""
        return self.write(target, columns, query="CREATE_VIEW", replaces=True, **more)

    def end(self, target, query="DROP_TABLE", day=None):
        """A statement that reads nothing: DROP_TABLE, DROP_VIEW, TRUNCATE, UNDROP_TABLE."""
        self._pair(self._head(query, "ann", day), None, target, replaces=query == "TRUNCATE")

    def anew(self, target):
        """From here on the name means another object: it is made anew."""
        self.ids[target] = object_id("TABLE", f"{target}#{self.day}")

    def rename(self, old, new):
        """ALTER TABLE … RENAME TO: the id survives."""
        self.ids[new] = self.id_of(old)
        self.ids.pop(old, None)
        self._pair(self._head("RENAME_TABLE", "ann", None), None, new, replaces=False)

    def id_of(self, table):
        """The id that a name has now."""
        return self.ids.setdefault(table, object_id("TABLE", table))

    def arrow(self):
        """Both tables."""
        return (
            pa.Table.from_pylist(self.columns, schema=COLUMN_SCHEMA),
            pa.Table.from_pylist(self.tables, schema=TABLE_SCHEMA),
        )

    def save(self, root):
        """Both tables under a root, as Delta."""
        for name, rows in zip(("column_lineage", "table_lineage"), self.arrow(), strict=True):
            write_deltalake((root / name).as_uri(), rows, partition_by=["query_date"], mode="overwrite")
        return root

    def snapshot(self, day=None):
        """The graph as of a day."""
        moment = {} if day is None else {"moment": NOON + int(day * DAY)}
        return Snapshot.of(History.read(*self.arrow()), **moment)

    def ask(self, name, direction="upstream", *, day=None, **options):
        """The answer to a question."""
        as_of = None if day is None else NOON + int(day * DAY)
        return answer(self.snapshot(day), Question(name, direction, as_of=as_of, **options))

    def edges(self, name, direction="upstream", **options):
        """The answer's edges as `source > target` without the catalog."""
        found = self.ask(name, direction, **options).edges
        return sorted(f"{short(e.source.name)} > {short(e.target.name)}" for e in found)

    def _head(self, query, user, day):
        self.day = self.day + 1 if day is None else day
        micros = NOON + int(self.day * DAY)
        moment = datetime.fromtimestamp(micros / 1e6, timezone.utc)
        return {
            "query_id": f"q{self.day}-{len(self.tables)}",
            "query_start_time": moment,
            "query_date": moment.date(),
            "user_name": user,
            "query_type": query,
        }

    def _table(self, column):
        return quote_name(split_name(column)[:2])

    def _object(self, end, table):
        if table is None:
            return {f"{end}_object_{part}": None for part in ("id", "name", "domain")}
        last = split_name(table)[-1]
        return {
            f"{end}_object_id": self.id_of(table),
            f"{end}_object_name": f"spark_catalog.{table}",
            f"{end}_object_domain": "VIEW" if last.startswith("v") else "Table",
        }

    def _row(self, head, source, target, column, kind, *, indirect=False):
        table = self._table(source)
        path = split_name(source)[2:]
        self.columns.append(
            {
                **head,
                **self._object("source", table),
                **self._object("target", target),
                "source_column_id": column_id(self.id_of(table), path[0]),
                "source_column_name": ".".join(path),
                "target_column_id": column and column_id(self.id_of(target), column),
                "target_column_name": column,
                "source_kind": kind,
                "is_indirect": indirect,
                "transformation": "INDIRECT" if indirect else "IDENTITY",
            }
        )

    def _pair(self, head, source, target, replaces, *, is_indirect=False):
        self.tables.append(
            {
                **head,
                **self._object("source", source),
                **self._object("target", target),
                "source_kind": "direct" if source else None,
                "is_indirect": is_indirect,
                "overwrites": replaces,
            }
        )


def short(name):
    """Without the catalog."""
    return name.removeprefix("spark_catalog.")
