"""Resolves names to tables and views with stable ids, as a session does; and the catalog of one statement.

In: parts of a name and a session. Out: `lineage.model.Relation`s and `Function`s with stable ids. A name is
resolved by Spark itself (`session.table(name)`), so temp views, catalogs and precedence are Spark's own;
results are cached until a statement changes the catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from audit.core.file_paths import with_file_scheme, without_scheme
from audit.spark import scala_values, sessions
from audit.spark.catalog import functions
from audit.spark.catalog.existence import schema_exists
from lineage.catalog.object_ids import object_id, with_ids
from lineage.model import Attachment, Domain, Function, Relation
from lineage.names import SESSION_CATALOG, quote_name, split_recorded, sql_name
from lineage.plan import Leaf, PlanFacts, analyze_plan
from lineage.plan.facts import ViewFact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.spark.plans.plan_facts import PlanFactsReader
    from lineage.sql.statement import Target

Current = tuple[str, str]
Key = tuple[Current, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CatalogFacts:
    """The objects of some names at a moment; None for an unknown name."""

    relations: Mapping[tuple[str, ...], Relation | None] = field(default_factory=dict)


class CatalogMovedError(LookupError):
    """A look-up of a name after a later statement has changed the catalog."""


class SessionCatalog:
    """Look-ups in one session, cached until a statement changes the catalog."""

    def __init__(self, spark: SparkSession, plans: PlanFactsReader) -> None:
        self.spark = spark
        self.plans = plans
        self._snapshot = CatalogSnapshot(self)
        self._stand_ins: dict[str, str] = {}

    def note_staged_table(self, place: str, name: Sequence[str]) -> None:
        """Note that files at a place belong to a table which is being created."""
        self._stand_ins[without_scheme(place)] = quote_name(name)
        for oldest in list(self._stand_ins)[:-_STAND_INS]:
            del self._stand_ins[oldest]

    def stand_in(self, place: str) -> str | None:
        """The name of the table that is being created at a place; None for none."""
        return self._stand_ins.get(place)

    def snapshot(self) -> CatalogSnapshot:
        """The present catalog; after a change it answers from its cache alone."""
        return self._snapshot

    def forget(self) -> None:
        """Drop the cache: a statement has changed the catalog."""
        self._snapshot = CatalogSnapshot(self)

    def look_up(self, parts: Sequence[str], current: Current) -> Relation | None:
        """The table or view that a name means now, with `current` as current catalog and schema.

        Spark resolves the name and reads the table's schema. `DeltaCatalog.find` gives the catalog's entry
        alone, by the same rule of names.
        """
        plan = self._analyzed(parts, current)
        return None if plan is None else _relation_of(self, plan)

    def target(self, target: Target, current: Current) -> Relation | None:
        """The target of a DDL statement as it is now."""
        if target.domain in _NO_RELATIONS:
            return None
        if target.domain is not Domain.SCHEMA:
            return self.look_up(target.parts, current)
        full = target.parts if len(target.parts) > 1 else (current[0], *target.parts)
        return Relation(quote_name(full), Domain.SCHEMA) if schema_exists(self.spark, full) else None

    def view(self, fact: ViewFact, plan: Any) -> Relation:
        """A view of a plan; one over a DataFrame has no text and is traced by what is below it."""
        opened = None if fact.text else analyze_plan(*self.plans.read_view(plan, fact.name))
        view = Relation(
            fact.name,
            Domain.VIEW,
            None,
            fact.columns,
            view_text=fact.text,
            view_current=fact.current,
            view_access=opened,
            temporary=fact.temporary,
        )
        return with_ids(view)

    def delta_location(self, name: str) -> str | None:
        """Where a Delta table lies, None for anything else."""
        plan = self._analyzed(split_recorded(name), ("", ""))
        found = self.plans.leaves(plan) if plan is not None else ()
        return found[0].locations[0] if found and found[0].table_id and found[0].locations else None

    def _analyzed(self, parts: Sequence[str], current: Current) -> Any | None:
        from pyspark.errors import AnalysisException

        names = [tuple(parts)]
        # A record may be written after a USE: the schema of the statement is tried before the session's.
        if current != sessions.current_schema(self.spark) and len(parts) < _FULL:
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
    {
        Domain.MASKING_POLICY,
        Domain.ROW_ACCESS_POLICY,
        Domain.TAG,
        Domain.ROLE,
        Domain.ACCOUNT,
        Domain.BACKUP_POLICY,
        Domain.BACKUP_SET,
    }
)
"""Domains whose names are not those of tables."""
_TEMPORARY = (("session",), ("system", "session"))
"""What the name of a temporary view may begin with (Spark 4.2)."""
T = TypeVar("T")


@dataclass(slots=True)
class CatalogSnapshot:
    """The objects of names between two changes of the catalog."""

    session: SessionCatalog
    relations: dict[Key, Relation | None] = field(default_factory=dict)
    functions: dict[Key, Function | None] = field(default_factory=dict)
    variables: Variables = field(init=False)
    places: dict[str, str] | None = None
    _delta_tables: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.variables = Variables(self)

    def learn(self, read: Mapping[str, Relation]) -> None:
        """Note the Delta tables that a plan has read, by lower-case qualified name."""
        self._delta_tables.update(name for name, relation in read.items() if relation.version is not None)

    def are_delta_tables(self, names: Iterable[str]) -> bool:
        """Whether each of some qualified names is known to be one: Spark resolves it and runs nothing."""
        return all(name.casefold() in self._delta_tables for name in names)

    def relation(self, parts: Sequence[str], current: Current) -> Relation | None:
        """The table or view that a name means.

        Raises:
            CatalogMovedError: the catalog has changed, and the name was not looked up before.
        """
        return self._kept(self.relations, (current, tuple(parts)), self.session.look_up)

    def function(self, parts: Sequence[str], current: Current) -> Function | None:
        """The user-defined function that a name means; None for a built-in one. Raises as `relation`."""
        return self._kept(self.functions, (current, tuple(parts)), self._function)

    def registered(self, facts: PlanFacts) -> dict[str, str]:
        """The tables that lie at the locations which a plan reads or writes by path."""
        leaves = (*facts.leaves, *(target.leaf for target in facts.targets))
        named_by_place = (leaf for leaf in leaves if leaf.name is None and not leaf.foreign)
        wanted = {location for leaf in named_by_place for location in leaf.locations}
        return self.at(wanted) if wanted else {}

    def created_relations(self, facts: PlanFacts) -> dict[str, Relation]:
        """The targets of a plan that had no id when it was analysed: tables that were created since."""
        names = [
            t.leaf.name for t in facts.targets if t.leaf.name and not t.leaf.table_id and not t.leaf.view
        ]
        found = {name.casefold(): self.session.look_up(split_recorded(name), ("", "")) for name in names}
        return {name: relation for name, relation in found.items() if relation is not None}

    def at(self, locations: Iterable[str]) -> dict[str, str]:
        """The names of the tables of the session catalog that lie at some locations."""
        if self.places is None:
            self.places = dict(_places(self.session.spark))
        session, places = self.session, self.places
        named = {location: without_scheme(location) for location in locations}
        found = {location: places.get(place) or session.stand_in(place) for location, place in named.items()}
        return {location: name for location, name in found.items() if name is not None}

    def _function(self, parts: Sequence[str], current: Current) -> Function | None:
        return functions.user_function(self.session.spark, parts, current)

    def _kept(self, kept: dict[Key, T], key: Key, ask: Callable[[Sequence[str], Current], T]) -> T:
        if key not in kept:
            value = ask(key[1], key[0])
            # Looked up after the change: the name may mean something else by now than for the statement.
            if self.session.snapshot() is not self:
                raise CatalogMovedError(".".join(key[1]))
            kept[key] = value
        return kept[key]


@dataclass(slots=True)
class Variables:
    """The session's variables, looked up for a name that is no column.

    After a change of the catalog a name that was not looked up before counts as no variable.
    """

    snapshot: CatalogSnapshot
    known: dict[str, bool] = field(default_factory=dict)

    def __contains__(self, name: object) -> bool:
        """Whether a variable of that lower-case name is declared."""
        session = self.snapshot.session
        if not isinstance(name, str):
            return False
        if name not in self.known:
            declared = functions.is_variable(session.spark, name)
            # As above: a variable that a later statement has declared is none of this one's.
            self.known[name] = declared and session.snapshot() is self.snapshot
        return self.known[name]


class Governance(Protocol):
    """The policies and tags at a moment."""

    def attachments(self, relation: Relation, /) -> Sequence[Attachment]:
        """The policies in force on a table or view."""

    def identity(self, domain: Domain, name: str) -> int | None:
        """The id of a policy or tag by its fully qualified name, None where there is none."""

    def tagged(self, relation: Relation, column: str | None, tag: str) -> bool:
        """Whether a tag is set on a table, view or schema, or on a column of it, by itself."""


@dataclass(frozen=True, slots=True)
class StatementCatalog:
    """The catalog of one statement: first the relations of its own plan, then the session's."""

    session: CatalogSnapshot
    current: Current
    read: Mapping[str, Relation] = field(default_factory=dict)
    views: Mapping[str, Relation] = field(default_factory=dict)
    known: Mapping[tuple[str, ...], Relation | None] = field(default_factory=dict)
    governance: Governance | None = None
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
        full = quote_name((*current[: max(0, _FULL - len(parts))], *parts)).casefold()
        # Spark takes a temporary view before a table of the schema; global ones are called global_temp.v.
        temporary = self.views.get(quote_name(parts).casefold())
        found = temporary or self.views.get(full) or self.read.get(full)
        if found is None and tuple(part.casefold() for part in parts[:-1]) in _TEMPORARY:
            found = self.views.get(quote_name(parts[-1:]).casefold())
        return found or self.session.relation(parts, current)

    def path(self, provider: str, location: str) -> Relation:  # noqa: ARG002 - of the protocol
        """See `lineage.Catalog`; what lies at a location does not depend on who reads it."""
        for relation in self.read.values():
            if relation.location and without_scheme(relation.location) == without_scheme(location):
                return relation
        named = next(iter(self.session.at([location]).values()), None)
        found = self.session.relation(split_recorded(named), self.current) if named else None
        if found is not None:
            return found
        # No table is registered at the path, so its files are on record as a stage, named as plans name it.
        name = with_file_scheme(location)
        return Relation(name, Domain.STAGE, object_id("STAGE", name), location=name)

    def function(self, parts: Sequence[str], current: Current | None = None) -> Function | None:
        """See `lineage.Catalog`."""
        return self.session.function(parts, current or self.current)

    def policies(self, relation: Relation) -> Sequence[Attachment]:
        """See `lineage.catalog.protocol.GovernedCatalog`."""
        if self.attachments is not None:
            return self.attachments(relation)
        return () if self.governance is None else self.governance.attachments(relation)

    def governance_id(self, domain: Domain, name: str) -> int | None:
        """See `lineage.catalog.protocol.GovernedCatalog`."""
        return None if self.governance is None else self.governance.identity(domain, name)

    def tagged(self, relation: Relation, column: str | None, tag: str) -> bool:
        """See `lineage.catalog.protocol.GovernedCatalog`."""
        return self.governance is not None and self.governance.tagged(relation, column, tag)


def read_relations(found: Sequence[Leaf]) -> dict[str, Relation]:
    """The relations that a plan has read, by lower-case qualified name or location."""
    relations = (relation_of_leaf(leaf) for leaf in found if leaf.name or leaf.locations)
    return {relation.name.casefold(): relation for relation in relations}


def relation_of_leaf(leaf: Leaf) -> Relation:
    """A leaf of a plan with its stable ids."""
    name = leaf.name or next(iter(leaf.locations), leaf.node)
    domain = Domain.STAGE if leaf.name is None else Domain.VIEW if leaf.view else Domain.TABLE
    relation = Relation(name, domain, None, leaf.columns, location=leaf.place, version=leaf.version)
    return with_ids(relation, leaf.table_id, leaf.mapping_ids)


def _relation_of(catalog: SessionCatalog, plan: Any) -> Relation | None:
    """A relation from the plan of `session.table(name)`: a view at its top, else the relation itself."""
    facts = catalog.plans.collect_facts(plan)
    alias = plan if plan.nodeName() == "SubqueryAlias" else None
    # Spark puts a SubqueryAlias around what a name stands for. A View further down is one that is read.
    if alias is not None and alias.child().nodeName() == "View":
        return catalog.view(facts.views[0], plan)
    return relation_of_leaf(facts.leaves[0]) if facts.leaves else None


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
    for schema in scala_values.sequence(catalog.listDatabases()):
        for table in scala_values.sequence(catalog.getTablesByName(schema, catalog.listTables(schema))):
            location = scala_values.option(table.storage().locationUri())
            if location is not None:
                yield (
                    without_scheme(location.toString()),
                    quote_name((SESSION_CATALOG, schema, table.identifier().table())),
                )
