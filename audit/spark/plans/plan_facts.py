"""Reads a live plan out of the JVM, in one Py4J call: its shape, and the relations and targets behind it.

In: a py4j JVM view and a Java `LogicalPlan` (analyzed). Out: the JSON and the `PlanFacts` that
`lineage.plan.analyze_plan` takes. A Java class (`PlanFacts.java`) walks the plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from audit.spark import java_classes
from lineage.foreign_names import foreign_locations
from lineage.model import Column
from lineage.names import split_recorded
from lineage.plan.facts import ColumnChange, Leaf, PlanFacts, Target, ViewFact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Jvm = Any
JavaPlan = Any
Json = dict[str, Any]


class PlanFactsReader:
    """A reader of one JVM; make it once a driver and keep it.

    Args:
        jvm: `spark.sparkContext._jvm`.
    """

    def __init__(self, jvm: Jvm) -> None:
        self._java = java_classes.instance(jvm, "capture.PlanFacts")
        self._literals = java_classes.instance(jvm, "capture.PlanLiterals")

    def read(self, plan: JavaPlan, registered: Mapping[str, str] | None = None) -> tuple[str, PlanFacts]:
        """The plan's JSON (the shape of `toJSON`, without what lineage does not need) and its facts.

        One Py4J call, and one more for every 6,000 characters beyond the first. `registered` maps
        locations to the names of tables that are known to lie there.
        """
        # JSON escapes line breaks, so a line break can separate the parts of a reply.
        shape, _, facts = self._whole(self._java.read(plan)).partition("\n")
        return shape, facts_of(facts, registered)

    def read_execution(
        self, execution: JavaPlan, registered: Mapping[str, str] | None = None, current: str | None = None
    ) -> tuple[str, PlanFacts]:
        """As `read`, from a `QueryExecution`; names without a schema get the catalog and schema `current`.

        Without it the session is asked when this runs: a USE in between is taken for the statement's own.
        """
        shape, facts, now = self._whole(self._java.readExecution(execution)).split("\n")
        return shape, facts_of(facts, registered, current or now)

    def text_without_literals(self, plan: JavaPlan) -> str:
        """Spark's own rendering of a plan, with a question mark for each literal."""
        return str(self._literals.textWithout(plan))

    def collect_facts(self, plan: JavaPlan, registered: Mapping[str, str] | None = None) -> PlanFacts:
        """The facts alone, to go with Spark's own `toJSON`."""
        return facts_of(self._whole(self._java.facts(plan)), registered)

    def facts_of(self, execution: JavaPlan, spark: SparkSession) -> tuple[str, PlanFacts]:
        """The facts of a `QueryExecution`'s plan; before them, of a session, a setting.

        It is the one that makes the session's text mean something else than by default, or "".
        """
        setting, facts = self._whole(self._java.factsOf(execution, spark._jsparkSession)).split("\n")
        return setting, facts_of(facts)

    def leaves(self, plan: JavaPlan) -> tuple[Leaf, ...]:
        """The relations that a plan reads, those in subqueries and below commands included."""
        return self.collect_facts(plan).leaves

    def read_view(self, plan: JavaPlan, name: str) -> tuple[str, PlanFacts]:
        """As `read`, of what is below the view of that name in a plan."""
        shape, facts = self._whole(self._java.readView(plan, name)).split("\n")
        return shape, facts_of(facts)

    def _whole(self, reply: str) -> str:
        """Put a reply together; long ones come in pieces."""
        head, _, text = reply.partition("\n")
        number, _, length = head.partition(" ")
        parts, at = [text], len(text)
        while at < int(length):
            parts.append(self._java.piece(int(number), at))
            at += len(parts[-1])
        return "".join(parts)


class ExecutedPlan:
    """The analyzed plan of an execution; the JVM is asked for each part when it is needed, and once.

    Args:
        plans: reads it.
        execution: its `QueryExecution`.
        spark: the session of the statement.
    """

    def __init__(self, plans: PlanFactsReader, execution: JavaPlan, spark: SparkSession) -> None:
        self._plans = plans
        self.execution = execution
        self._spark = spark

    @cached_property
    def java(self) -> JavaPlan:
        """The plan itself."""
        return self.execution.analyzed()

    @cached_property
    def _read(self) -> tuple[str, PlanFacts]:
        return self._plans.facts_of(self.execution, self._spark)

    @property
    def facts(self) -> PlanFacts:
        """Its relations and targets."""
        return self._read[1]

    @property
    def text_changing_setting(self) -> str:
        """The setting of the session that makes its text mean something else than by default, or ""."""
        return self._read[0]


def facts_of(text: str, registered: Mapping[str, str] | None = None, current: str | None = None) -> PlanFacts:
    """Facts from their JSON; `current` completes the names of targets that lack a schema.

    >>> facts_of('{"leaves":[{"node":"LogicalRelation","key":7,"name":"c.s.t"}],"targets":[]}').leaves[0].name
    'c.s.t'
    """
    found = json.loads(text)
    return PlanFacts(
        tuple(map(_leaf, found["leaves"])),
        tuple(_completed(_target(target), current) for target in found["targets"]),
        tuple(map(_view, found.get("views", ()))),
        dict(registered or {}),
        {int(number): nodes for number, nodes in found.get("origins", {}).items()},
    )


def _completed(target: Target, current: str | None) -> Target:
    """SaveAsV1TableCommand keeps the name as the user wrote it (Spark 4.2)."""
    name = target.leaf.name
    if current is None or name is None or target.leaf.temporary or len(split_recorded(name)) > 1:
        return target
    return replace(target, leaf=replace(target.leaf, name=f"{current}.{name}"))


def _leaf(found: Json) -> Leaf:
    columns = found.get("columns", ())
    mapped = any(len(column) > 2 for column in columns)  # noqa: PLR2004  # name, type, mapping id
    foreign = found.get("foreign")
    return Leaf(
        node=found["node"],
        key=found.get("key"),
        name=found.get("name"),
        provider=found.get("provider"),
        locations=tuple(found.get("locations", ())) if foreign is None else foreign_locations(foreign),
        table_id=found.get("table_id"),
        version=found.get("version"),
        columns=tuple(Column(column[0], column[1]) for column in columns),
        partition_columns=tuple(found.get("partition_columns", ())),
        view=found.get("view", False),
        external=found.get("external", False),
        temporary=found.get("temporary", False),
        streaming=found.get("streaming", False),
        mapping_ids=tuple(column[2] if len(column) > 2 else None for column in columns) if mapped else (),  # noqa: PLR2004
        foreign=foreign is not None,
    )


def _view(found: Json) -> ViewFact:
    current = (found["catalog"], found["schema"]) if "catalog" in found else None
    columns = tuple(Column(name, kind) for name, kind in found["columns"])
    return ViewFact(found["name"], columns, found.get("temporary", False), found.get("text"), current)


def _target(found: Json) -> Target:
    return Target(
        _leaf(found),
        mode=found.get("mode"),
        new_name=found.get("new_name"),
        source=found.get("source"),
        changes=tuple(ColumnChange(*change) for change in found.get("changes", ())),
        partial=bool(found.get("partial")),
        evolves=bool(found.get("evolves")),
    )
