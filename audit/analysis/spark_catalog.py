"""The one module that knows PySpark's catalog: names to objects, as the session resolves them.

In: parts of a name and a session. Out: `lineage.model.Relation`s and `Function`s with stable ids. A
name is resolved by Spark itself (`session.table(name)`), so that temp views, catalogs and rules of
precedence are Spark's own; what came out is kept until a statement changes the catalog.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from audit import jvm
from lineage.model import Attachment, Column, Domain, Function, Relation
from lineage.names import quote_name, sql_name
from lineage.object_ids import column_id, object_id
from lineage.plan import Leaf, PlanFacts, analyze_plan
from lineage.plan.facts import ViewFact, quoted
from policies.state import State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.analysis.plan_facts import PlanFactsReader
    from lineage.statement import Target

Current = tuple[str, str]
Key = tuple[Current, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CatalogFacts:
    """What some names stood for at a moment; None for a name that stood for nothing."""

    relations: Mapping[tuple[str, ...], Relation | None] = field(default_factory=dict)


class CatalogMovedError(LookupError):
    """A name was asked for after a later statement had changed the catalog: too late to tell."""


class SessionCatalog:
    """Look-ups in one session, kept until a statement changes the catalog."""

    def __init__(self, spark: SparkSession, plans: PlanFactsReader) -> None:
        self.spark = spark
        self.plans = plans
        self._snapshot = CatalogSnapshot(self)
        self._stand_ins: dict[str, str] = {}

    def stands_for(self, place: str, name: Sequence[str]) -> None:
        """What a plan does at a place, it does to a table: its files are there for as long as it is made."""
        self._stand_ins[_place(place)] = _dotted(name)
        for oldest in list(self._stand_ins)[:-_STAND_INS]:
            del self._stand_ins[oldest]

    def stand_in(self, place: str) -> str | None:
        """The name of the table that something at a place is made for."""
        return self._stand_ins.get(place)

    def snapshot(self) -> CatalogSnapshot:
        """The catalog as it is now; it answers from what it has seen, or not at all once it is old."""
        return self._snapshot

    def forget(self) -> None:
        """Something changed the catalog."""
        self._snapshot = CatalogSnapshot(self)

    def look_up(self, parts: Sequence[str], current: Current) -> Relation | None:
        """The table or view that a name means now, with `current` as current catalog and schema."""
        plan = self._analyzed(parts, current)
        return None if plan is None else _relation_of(self, plan)

    def target(self, target: Target, current: Current) -> Relation | None:
        """What a statement is about to create, change or drop, as it is now."""
        if target.domain in _NO_RELATIONS:
            return None
        if target.domain is not Domain.SCHEMA:
            return self.look_up(target.parts, current)
        full = target.parts if len(target.parts) > 1 else (current[0], *target.parts)
        there = self.spark._jsparkSession.catalog().databaseExists(sql_name(full))
        return Relation(quote_name(full), Domain.SCHEMA) if there else None

    def view(self, fact: ViewFact, plan: Any) -> Relation:
        """A view of a plan; one over a DataFrame has no text and is traced by what is below it."""
        opened = None if fact.text else analyze_plan(*self.plans.read_view(plan, parts_of(fact.name)[-1]))
        view = Relation(
            fact.name,
            Domain.VIEW,
            object_id(Domain.VIEW.value, fact.name),
            fact.columns,
            view_text=fact.text,
            view_current=fact.current,
            view_access=opened,
            temporary=fact.temporary,
        )
        return with_ids(view)

    def delta_location(self, name: str) -> str | None:
        """Where a Delta table lies, None for anything else."""
        plan = self._analyzed(parts_of(name), ("", ""))
        found = self.plans.leaves(plan) if plan is not None else ()
        return found[0].locations[0] if found and found[0].table_id and found[0].locations else None

    def _analyzed(self, parts: Sequence[str], current: Current) -> Any | None:
        from pyspark.errors import AnalysisException

        names = [tuple(parts)]
        if current != jvm.current_schema(self.spark) and len(parts) < _FULL:
            names.insert(0, (*current[: _FULL - len(parts)], *parts))
        for name in names:
            try:
                frame = self.spark._jsparkSession.table(sql_name(name))
            except AnalysisException:
                continue
            return frame.queryExecution().analyzed()
        return None


_STAND_INS = 100  # far more than statements wait for their records
_FULL = 3
_NO_RELATIONS = frozenset(
    {Domain.MASKING_POLICY, Domain.ROW_ACCESS_POLICY, Domain.TAG, Domain.ROLE, Domain.ACCOUNT}
)
"""What the governance names: a table of that name is something else."""
_GLOBAL_TEMP = 2  # global_temp.v
T = TypeVar("T")


@dataclass(slots=True)
class CatalogSnapshot:
    """What names mean between two changes of the catalog."""

    session: SessionCatalog
    relations: dict[Key, Relation | None] = field(default_factory=dict)
    functions: dict[Key, Function | None] = field(default_factory=dict)
    variables: Variables = field(init=False)
    places: dict[str, str] | None = None
    _delta_tables: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.variables = Variables(self)

    def learn(self, read: Mapping[str, Relation]) -> None:
        """Take note of the Delta tables among what a plan has read, by lower-case qualified name."""
        self._delta_tables.update(name for name, relation in read.items() if relation.version is not None)

    def are_delta_tables(self, names: Iterable[str]) -> bool:
        """Whether each of some qualified names is known to be one: Spark resolves it and runs nothing."""
        return all(name.casefold() in self._delta_tables for name in names)

    def relation(self, parts: Sequence[str], current: Current) -> Relation | None:
        """The table or view that a name means.

        Raises:
            CatalogMovedError: the catalog has changed, and nobody asked for this name before.
        """
        return self._kept(self.relations, (current, tuple(parts)), self.session.look_up)

    def function(self, parts: Sequence[str], current: Current) -> Function | None:
        """The user-defined function that a name means; None for a built-in one. Raises as `relation`."""
        return self._kept(self.functions, (current, tuple(parts)), self._function)

    def registered(self, facts: PlanFacts) -> dict[str, str]:
        """The tables that lie at the locations which a plan reads or writes by path."""
        leaves = (*facts.leaves, *(target.leaf for target in facts.targets))
        wanted = {location for leaf in leaves if leaf.name is None for location in leaf.locations}
        return self.at(wanted) if wanted else {}

    def made(self, facts: PlanFacts) -> dict[str, Relation]:
        """The targets of a plan that had no id when it was analysed, as they are now: tables just made."""
        names = [
            t.leaf.name for t in facts.targets if t.leaf.name and not t.leaf.table_id and not t.leaf.view
        ]
        found = {name.casefold(): self.session.look_up(parts_of(name), ("", "")) for name in names}
        return {name: relation for name, relation in found.items() if relation is not None}

    def at(self, locations: Iterable[str]) -> dict[str, str]:
        """The names of the tables of the session catalog that lie at some locations."""
        if self.places is None:
            self.places = dict(_places(self.session.spark))
        session, places = self.session, self.places
        named = {location: _place(location) for location in locations}
        found = {location: places.get(place) or session.stand_in(place) for location, place in named.items()}
        return {location: name for location, name in found.items() if name is not None}

    def _function(self, parts: Sequence[str], current: Current) -> Function | None:
        return _function_of(self.session.spark, parts, current)

    def _kept(self, kept: dict[Key, T], key: Key, ask: Callable[[Sequence[str], Current], T]) -> T:
        if key not in kept:
            value = ask(key[1], key[0])
            if self.session.snapshot() is not self:
                raise CatalogMovedError(".".join(key[1]))
            kept[key] = value
        return kept[key]


@dataclass(slots=True)
class Variables:
    """The session's variables: asked by name, for a name that is no column.

    A name that was never asked for cannot be told any more once the catalog has moved: it is none then.
    """

    snapshot: CatalogSnapshot
    known: dict[str, bool] = field(default_factory=dict)

    def __contains__(self, name: object) -> bool:
        """Whether a variable of that lower-case name is declared."""
        session = self.snapshot.session
        if not isinstance(name, str):
            return False
        if name not in self.known:
            declared = jvm.is_variable(session.spark, name)
            self.known[name] = declared and session.snapshot() is self.snapshot
        return self.known[name]


@dataclass(frozen=True, slots=True)
class StatementCatalog:
    """The catalog of one statement: first what its own plan has read, then the session's."""

    session: CatalogSnapshot
    current: Current
    read: Mapping[str, Relation] = field(default_factory=dict)
    views: Mapping[str, Relation] = field(default_factory=dict)
    known: Mapping[tuple[str, ...], Relation | None] = field(default_factory=dict)
    governance: State = field(default_factory=State)
    attachments: Callable[[Relation], Sequence[Attachment]] | None = None

    @property
    def variables(self) -> Container[str]:
        """The variables of the session, by lower-case name."""
        return self.session.variables

    def relation(self, parts: Sequence[str], current: Current | None = None) -> Relation | None:
        """See `lineage.Catalog`."""
        if tuple(parts) in self.known:
            return self.known[tuple(parts)]
        current = current or self.current
        full = _dotted((*current[: max(0, _FULL - len(parts))], *parts)).casefold()
        temporary = self.views.get(quoted(parts[-1]).casefold())
        if temporary is not None and temporary.temporary and len(parts) <= _GLOBAL_TEMP:
            return temporary
        return self.views.get(full) or self.read.get(full) or self.session.relation(parts, current)

    def path(self, provider: str, location: str) -> Relation:  # noqa: ARG002 - of the protocol
        """See `lineage.Catalog`; what lies at a location does not depend on who reads it."""
        for relation in self.read.values():
            if relation.location and _place(relation.location) == _place(location):
                return relation
        named = next(iter(self.session.at([location]).values()), None)
        found = self.session.relation(parts_of(named), self.current) if named else None
        if found is not None:
            return found
        return Relation(location, Domain.STAGE, object_id("STAGE", location), location=location)

    def function(self, parts: Sequence[str], current: Current | None = None) -> Function | None:
        """See `lineage.Catalog`."""
        return self.session.function(parts, current or self.current)

    def policies(self, relation: Relation) -> Sequence[Attachment]:
        """See `lineage.catalog.GovernedCatalog`."""
        return (self.attachments or self.governance.attachments)(relation)

    def governance_id(self, domain: Domain, name: str) -> int | None:
        """See `lineage.catalog.GovernedCatalog`."""
        return self.governance.identity(domain, name)

    def tagged(self, relation: Relation, column: str | None, tag: str) -> bool:
        """See `lineage.catalog.GovernedCatalog`."""
        return self.governance.tagged(relation, column, tag)


def read_relations(found: Sequence[Leaf]) -> dict[str, Relation]:
    """The relations that a plan has read, by lower-case qualified name or location."""
    relations = (relation_of_leaf(leaf) for leaf in found if leaf.name or leaf.locations)
    return {relation.name.casefold(): relation for relation in relations}


def relation_of_leaf(leaf: Leaf) -> Relation:
    """A leaf of a plan with its stable ids."""
    location = leaf.locations[0] if leaf.locations else None
    name = leaf.name or location or leaf.node
    domain = Domain.STAGE if leaf.name is None else Domain.VIEW if leaf.view else Domain.TABLE
    identity = object_id("TABLE", leaf.table_id) if leaf.table_id else object_id(domain.value, name)
    relation = Relation(name, domain, identity, leaf.columns, location=location, version=leaf.version)
    return with_ids(relation, leaf.mapping_ids)


def with_ids(relation: Relation, mapping_ids: Sequence[int | None] = ()) -> Relation:
    """Give each column its id: Delta's column-mapping id where it has one, else its name's."""
    if relation.object_id is None:
        relation = replace(relation, object_id=object_id(relation.domain.value, relation.name))
    mapped = mapping_ids or (None,) * len(relation.columns)
    columns = tuple(
        replace(c, column_id=column_id(relation.object_id or 0, m or c.name))
        for c, m in zip(relation.columns, mapped, strict=True)
    )
    return replace(relation, columns=columns)


def _relation_of(catalog: SessionCatalog, plan: Any) -> Relation | None:
    """A relation from the plan of `session.table(name)`: a view at its top, else the relation itself."""
    facts = catalog.plans.collect_facts(plan)
    alias = plan if plan.nodeName() == "SubqueryAlias" else None
    if alias is not None and alias.child().nodeName() == "View":
        return catalog.view(facts.views[0], plan)
    return relation_of_leaf(facts.leaves[0]) if facts.leaves else None


def _function_of(spark: SparkSession, parts: Sequence[str], current: Current) -> Function | None:
    """A user-defined function by Spark's own registry; built-ins are none of ours."""
    catalog = spark._jsparkSession.sessionState().catalog()
    if len(parts) == 1:
        if catalog.isBuiltinFunction(parts[0]):
            return None
        temporary = jvm.function_identifier(spark, (parts[0],))
        if catalog.isTemporaryFunction(temporary):
            info = catalog.lookupFunctionInfo(temporary)
            return _function(spark, info, info.getClassName(), parts[0])
    full = (*current[: max(0, _FULL - len(parts))], *parts)
    identifier = jvm.function_identifier(spark, full)
    if len(full) > _FULL or not catalog.isPersistentFunction(identifier):
        return None
    metadata = catalog.getFunctionMetadata(identifier)
    return _function(spark, metadata, metadata.className(), _dotted(full))


def _function(spark: SparkSession, metadata: Any, class_name: str, name: str) -> Function:
    identity = object_id(Domain.FUNCTION.value, name)
    if not class_name.startswith(_SQL_FUNCTION):
        return Function(name, identity)
    function = jvm.sql_function(spark, metadata)
    body = jvm.option(function.exprText()) or jvm.option(function.queryText())
    declared = jvm.option(function.inputParam())
    parameters = () if declared is None else tuple(_fields(declared))
    kind = function.returnType().value()
    return Function(name, identity, parameters, kind.simpleString(), body, bool(function.isTableFunc()))


# SQLFunction.SQL_FUNCTION_PREFIX in Spark 4.2
_SQL_FUNCTION = "sqlFunction."


def _fields(schema: Any) -> list[Column]:
    return [Column(f.name(), f.dataType().simpleString()) for f in schema.fields()]


def named_relations(facts: PlanFacts) -> dict[str, Relation]:
    """The relations of a plan, targets included; one read by path has its table's name where it has one."""
    targets = (target.leaf for target in facts.targets)
    return read_relations(named_leaves(replace(facts, leaves=(*facts.leaves, *targets))))


def named_leaves(facts: PlanFacts) -> tuple[Leaf, ...]:
    """Each read of a plan; one by path has its table's name where it has one."""
    return tuple(
        replace(leaf, name=facts.registered.get(leaf.locations[0]))
        if leaf.name is None and leaf.locations
        else leaf
        for leaf in facts.leaves
    )


def _places(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """Location and qualified name of every table of the session catalog."""
    catalog = spark._jsparkSession.sessionState().catalog().externalCatalog()
    for schema in jvm.sequence(catalog.listDatabases()):
        for table in jvm.sequence(catalog.getTablesByName(schema, catalog.listTables(schema))):
            location = jvm.option(table.storage().locationUri())
            if location is not None:
                yield (
                    _place(location.toString()),
                    _dotted((_SESSION_CATALOG, schema, table.identifier().table())),
                )


_SESSION_CATALOG = "spark_catalog"


def _place(location: str) -> str:
    """A location without what may be written in more than one way."""
    return re.sub(r"^file:(//)?(?=/)", "", location).rstrip("/")


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a qualified name.

    >>> parts_of("a.`b.c`")
    ('a', 'b.c')
    """
    found = re.findall(r"`((?:[^`]|``)*)`|([^.`]+)", name)
    return tuple(plain or inside.replace("``", "`") for inside, plain in found)


def _dotted(parts: Sequence[str]) -> str:
    return ".".join(quoted(part) for part in parts)
