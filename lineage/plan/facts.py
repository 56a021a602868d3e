"""Facts that a plan's JSON lacks: the relations and targets, as the session knows them.

In: values collected from a plan in the JVM. Out: `PlanFacts`, which
`analyze_plan` reads beside the JSON. A relation is matched to its node by `key`, the expression id of
its first output column (unique in an analyzed plan); a target by its place among the commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage.model import Column, Domain, Relation
from lineage.names import quote_name


@dataclass(frozen=True, slots=True)
class Leaf:
    """A relation that a plan reads, or the target that a command writes.

    `name` is the fully qualified catalog name (parts joined by dots, back-ticks where needed), None
    for a relation known by location alone. `table_id` is Delta's metadata id, `version` the Delta
    version that the plan pinned (of a target: the latest one known when the facts were read).
    `locations` are URLs without a trailing slash; of a `foreign` source they are no places of files, but
    names: a table behind JDBC, a topic of Kafka. `mapping_ids` are Delta's column-mapping ids beside
    `columns`, empty for a table without them.
    """

    node: str
    key: int | None = None
    name: str | None = None
    provider: str | None = None
    locations: tuple[str, ...] = ()
    table_id: str | None = None
    version: int | None = None
    columns: tuple[Column, ...] = ()
    partition_columns: tuple[str, ...] = ()
    view: bool = False
    external: bool = False
    temporary: bool = False
    streaming: bool = False
    mapping_ids: tuple[int | None, ...] = ()
    foreign: bool = False

    @property
    def place(self) -> str | None:
        """Where its files lie; of several places the first one."""
        return self.locations[0] if self.locations and not self.foreign else None


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column that a DDL command adds, drops or alters (`operation`: ADD, DROP, ALTER)."""

    operation: str
    column: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a command that writes or defines an object.

    `mode` is a writer's save mode, `new_name` what a rename gives, `source` the qualified name behind
    LIKE. `existed` tells whether the target existed before; None if unknown. `partial` says
    that the writer's own options leave partitions or rows in place, `evolves` that a MERGE may add columns
    to the target: `autoMerge.enabled` was set, or WITH SCHEMA EVOLUTION is said.
    """

    leaf: Leaf
    mode: str | None = None
    new_name: str | None = None
    source: str | None = None
    changes: tuple[ColumnChange, ...] = ()
    existed: bool | None = None
    partial: bool = False
    evolves: bool = False

    @property
    def keeps_some(self) -> bool:
        """Whether an overwrite leaves, or may leave, partitions or rows of the target in place.

        Dynamic partition overwrite is a command of its own for Delta (4.4); Spark's file and Hive tables
        go by a setting that the plan does not hold.
        """
        # spark.sql.sources.partitionOverwriteMode is read when the command runs (Spark 4.2).
        if self.leaf.node in ("InsertIntoHadoopFsRelationCommand", "InsertIntoHiveTable"):
            return self.partial or bool(self.leaf.partition_columns)
        return self.partial or "Dynamic" in self.leaf.node


@dataclass(frozen=True, slots=True)
class ViewFact:
    """A view that a plan has opened, as it was at that moment; `text` is None for one over a DataFrame."""

    name: str
    columns: tuple[Column, ...] = ()
    temporary: bool = False
    text: str | None = None
    current: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The leaves of a plan, the targets of its commands, its views (all in pre-order), and registered paths.

    `registered` gives the qualified table name of a location that belongs to a table. `origins` has the nodes
    of the plans that RDDs were made of, by the ids of these; their relations are among `leaves`.
    """

    leaves: tuple[Leaf, ...] = ()
    targets: tuple[Target, ...] = ()
    views: tuple[ViewFact, ...] = ()
    registered: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[int, list[dict[str, Any]]] = field(default_factory=dict)


def relations(leaf: Leaf, facts: PlanFacts) -> tuple[Relation, ...]:
    """The objects that a leaf stands for: its table or view, else one STAGE for each location.

    >>> relations(Leaf("LogicalRelation", locations=("s3://b/x",)), PlanFacts())[0].domain.value
    'STAGE'
    """
    if leaf.name is not None:
        return (_relation(leaf, leaf.name, leaf.place),)
    return tuple(_located(leaf, location, facts.registered.get(location)) for location in leaf.locations)


def _located(leaf: Leaf, location: str, name: str | None) -> Relation:
    if name is not None:
        return _relation(leaf, name, location)
    place = None if leaf.foreign else location
    return Relation(location, Domain.STAGE, None, leaf.columns, location=place, version=leaf.version)


def _relation(leaf: Leaf, name: str, location: str | None) -> Relation:
    # EXTERNAL_TABLE is for other formats: an external Delta table has its own log, so it is a TABLE.
    external = leaf.external and leaf.table_id is None
    domain = Domain.VIEW if leaf.view else Domain.EXTERNAL_TABLE if external else Domain.TABLE
    return Relation(
        name,
        domain,
        None,
        leaf.columns,
        location=location,
        version=leaf.version,
        temporary=leaf.temporary,
    )


def qualified(*parts: str | None) -> str | None:
    """Join the parts of a name that are there; None if none is.

    >>> qualified("spark_catalog", None, "a.b")
    'spark_catalog.`a.b`'
    """
    return quote_name([part for part in parts if part]) or None
