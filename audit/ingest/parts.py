"""What records repeat: a statement that ran before has the text, objects, columns and edges that it had then.

In: the JSON of records. Out: their JSON with numbers in the places of these parts, each of which is then read
once. Nothing depends on what repeats but the time that ingest takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable


@dataclass(frozen=True, slots=True)
class Run:
    """Members of an object that stand one behind the other in the JSON of a record (`build_row`).

    Attributes:
        name: of the member that stands in their place, a number.
        table: whose row the object is.
        columns: what they may be, in the order of the table.
        start: the bytes before them, from the last one that stays on.
        end: the bytes behind them.
    """

    name: str
    table: AuditTable
    columns: tuple[str, ...]
    start: bytes
    end: bytes


# No string of JSON holds the bytes of `start` and `end`: its quotes would be escaped.
TEXT = Run(
    "text_part",
    QUERY_HISTORY,
    (
        "query_text", "query_type", "role_name", "database_name", "schema_name", "query_hash",
        "query_parameterized_hash", "parent_query_id", "root_query_id", "objects_tried", "action",
        "session_id", "application_id", "query_tag", "purpose", "client_address", "client_host",
        "client_program", "client_version", "os_user",
    ),
    b',"query_text":', b',"execution_status":',
)  # fmt: skip
OBJECTS = Run(
    "objects_part",
    ACCESS_HISTORY,
    (
        "direct_objects_accessed", "base_objects_accessed", "objects_modified", "object_modified_by_ddl",
        "policies_referenced",
    ),
    b'{"direct_objects_accessed":', b',"query_id":',
)  # fmt: skip
ANALYSIS = Run(
    "analysis_part",
    ACCESS_HISTORY,
    ("session_id", "application_id", "captured_by", "analysis", "analysis_reason", "object_versions"),
    b',"session_id":', b',"record_hash":',
)  # fmt: skip
RUNS = (TEXT, OBJECTS, ANALYSIS)
EDGES = "edges_part"
_EDGES_START, _EDGES_END = b',"edges":[{', b"}]}"
_MARK = b'"aggregate":'


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of some records, by their JSON; the number of each.

    Attributes:
        of_runs: the members of each of `RUNS`, without braces, by its name.
        edges: the edges of a record, a list.
    """

    of_runs: dict[str, dict[bytes, int]] = field(default_factory=lambda: {run.name: {} for run in RUNS})
    edges: dict[bytes, int] = field(default_factory=dict)

    def cut(self, record: bytes) -> bytes:
        """The JSON of a record with numbers in the places of its parts; what has another form, as it is."""
        made: list[bytes] = []
        done = self._cut(TEXT, record, 0, made)
        while (start := record.find(OBJECTS.start, done)) >= 0:
            done = self._cut(OBJECTS, record, done, made)
            if done <= start:
                break
            done = self._cut(ANALYSIS, record, done, made)
        start = record.find(_EDGES_START, done)
        if start >= 0 and record.endswith(_EDGES_END):  # they come last
            number = self.edges.setdefault(record[start + len(',"edges":') : -1], len(self.edges))
            made += (record[done:start], b',"%s":%d}' % (EDGES.encode(), number))
        else:
            made.append(record[done:])
        own = b"".join(made)
        # Several with a mark become one row: they are read whole.
        return record if _MARK in own else own

    def _cut(self, run: Run, record: bytes, done: int, made: list[bytes]) -> int:
        """Cut out the next one from `done` on; up to where the record is then in `made`."""
        end = record.find(run.end, done)
        start = record.find(run.start, done, end) if end >= 0 else -1
        if start < 0:
            return done
        known = self.of_runs[run.name]
        number = known.setdefault(record[start + 1 : end], len(known))
        made += (record[done : start + 1], b'"%s":%d' % (run.name.encode(), number))
        return end
