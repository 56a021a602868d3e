"""All change proposals of some days: datasets as they are at the end of them, and their lineage.

In: recorded statements, names, what the catalog says. Out: proposals. An aspect of DataHub's replaces the one
before it, so what went into a table is gathered: from its last overwrite on, as it is in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from audit.exchange.accessed import Accessed, read_by, written_by
from audit.exchange.catalog import CatalogFacts
from audit.exchange.datahub.aspects import Edges, Json, Known, dataset_proposals, tag_proposals
from audit.exchange.datahub.urns import Urns
from audit.exchange.history import RecordedStatement
from audit.exchange.names import DatasetNames

_ENDED = ("DROP_TABLE", "DROP_VIEW")


@dataclass(slots=True)
class _Gathered:
    """What statements have said of objects, by their names on record."""

    objects: dict[str, Accessed] = field(default_factory=dict)
    edges: dict[str, Edges] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)


def proposals(
    statements: Iterable[RecordedStatement], names: DatasetNames, known: CatalogFacts, urns: Urns
) -> Iterator[Json]:
    """The proposals, tags first.

    Args:
        statements: in the order of time.
        names: of datasets.
        known: what the catalog says of objects.
        urns: makes DataHub's names.
    """
    gathered = _Gathered()
    for statement in statements:
        if statement.query["execution_status"] == "SUCCESS":
            _add(gathered, statement, names)
    datasets = [
        Known(
            names.dataset(name),
            one,
            known.object(one.object_id),
            tuple(use for use in known.tags.get(one.object_id or 0, ()) if use.until is None),
            name in gathered.removed,
            gathered.edges.get(name, Edges()),
        )
        for name, one in sorted(gathered.objects.items())
    ]
    yield from tag_proposals(use for one in datasets for use in one.tags)
    for one in datasets:
        yield from dataset_proposals(one, urns)


def _add(gathered: _Gathered, statement: RecordedStatement, names: DatasetNames) -> None:
    written = written_by(statement)
    for one in (*read_by(statement), *written):
        before = gathered.objects.get(one.name, one)
        columns = tuple(dict.fromkeys((*before.columns, *one.columns)))
        gathered.objects[one.name] = replace(one, columns=columns)
    ends = statement.query["query_type"] in _ENDED
    for one in written:
        (gathered.removed.add if ends else gathered.removed.discard)(one.name)
    for row in statement.tables:
        target = row["target_object_name"]
        # Of an overwrite that reads its own target what was in it is in it still.
        if row["overwrites"] and not _reads(statement, target):
            gathered.edges[target] = Edges()
    at, user = statement.query["start_time"], statement.query["user_name"]
    for row in statement.tables:
        target, source = row["target_object_name"], row["source_object_name"]
        if source is not None and source != target:
            edges = gathered.edges.setdefault(target, Edges())
            edges.datasets[names.dataset(source)] = (at, user)
    for row in statement.columns:
        target, source = row["target_object_name"], row["source_object_name"]
        if row["target_column_name"] is not None and not row["is_indirect"] and source != target:
            fields = gathered.edges.setdefault(target, Edges()).fields
            sources = fields.setdefault(row["target_column_name"], {})
            sources[names.dataset(source), row["source_column_name"]] = row["transformation"] or ""


def _reads(statement: RecordedStatement, target: str) -> bool:
    return any(row["source_object_name"] == row["target_object_name"] == target for row in statement.tables)
