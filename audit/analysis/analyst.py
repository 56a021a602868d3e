"""From a statement that has run to what it accessed: text first, Spark's analyzed plan where text fails.

In: a `Job` and its executions. Out: a `Finding`. The text engine gets the schemas from the relations
that Spark's own plan has read; what it finds is held against the same plan's relations, and where the
two disagree the plan decides and the record says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import lineage
from audit.analysis.delta_log import written_versions
from audit.analysis.metrics import execution_metrics
from audit.analysis.spark_catalog import (
    CatalogMovedError,
    CatalogSnapshot,
    StatementCatalog,
    named_leaves,
    named_relations,
    relation_of_leaf,
)
from audit.record import CapturedBy, Finding, ObjectVersion, objects_named
from lineage.agreement import differences
from lineage.governing import in_force
from lineage.identify import identify
from lineage.model import Access, AccessedObject, Domain, Relation
from lineage.object_ids import object_id
from lineage.plan import analyze_plan

if TYPE_CHECKING:
    from audit.analysis.executions import Execution
    from audit.analysis.job import Attachments, Job
    from audit.analysis.plan_facts import PlanFactsReader
    from lineage.plan.facts import Leaf

PARENTS = frozenset({"SCRIPT", "EXECUTE_IMMEDIATE"})
_LONGEST_PLAN = 20_000
_TOLD = 5  # differences that a record tells


@dataclass(slots=True)
class Counts:
    """How statements were analysed since the driver began."""

    text: int = 0
    plan: int = 0
    listener: int = 0
    opaque: int = 0
    partial: int = 0
    disagreed: int = 0
    cross_checked: int = 0
    differed: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """What a plan has opened, as it was when the plan was analysed.

    Attributes:
        relations: by lower-case qualified name.
        views: the same.
        leaves: each read of a table; two of one table may be of two versions.
        keeps_some: it leaves something in place of what it overwrites, which the text need not say.
    """

    relations: dict[str, Relation] = field(default_factory=dict)
    views: dict[str, Relation] = field(default_factory=dict)
    leaves: tuple[Leaf, ...] = ()
    keeps_some: bool = False


class Analyst:
    """Both engines over one driver's statements."""

    def __init__(self, plans: PlanFactsReader, *, listening: bool, cross_check: float = 0.0) -> None:
        self.plans = plans
        self.listening = listening
        self.cross_check = cross_check
        self.counts = Counts()
        self.failures: list[tuple[str, str]] = []

    def analyse(self, job: Job, executions: Sequence[Execution]) -> Finding:
        """What a statement accessed and changed."""
        if job.started.query_type in PARENTS and self.listening:
            return Finding(Access(job.started.query_type), "text")  # what runs inside has records of its own
        if job.intent.procedure is not None:
            return _of_procedure(job.intent.procedure)
        query_execution = _query_execution(job, executions)
        plan = None if query_execution is None else query_execution.analyzed()
        if job.intent.stream is not None:
            finding = Finding(Access("STREAM"), "plan")  # its batches read and write
        else:
            finding = self._by_text(job, plan) or self._by_plan(job, plan)
        return self._completed(job, executions, finding, query_execution)

    def _opened(self, catalog: CatalogSnapshot, plan: Any) -> Opened:
        facts = self.plans.collect_facts(plan)
        views = {v.name.casefold(): catalog.session.view(v, plan) for v in facts.views}
        keeps_some = any(target.keeps_some for target in facts.targets)
        facts = replace(facts, targets=(), registered=catalog.registered(facts))
        read = named_relations(facts)
        catalog.learn(read)
        return Opened(read, views, named_leaves(facts), keeps_some)

    def guarded_plan(
        self,
        catalog: CatalogSnapshot,
        execution: Execution,
        query_type: str,
        captured_by: CapturedBy,
        attachments: Attachments,
    ) -> Finding:
        """The finding of an execution that has no job of its own; a failure makes it opaque."""
        try:
            access, versions = self.by_plan(catalog, execution.query_execution.analyzed())
            access = _under(access, attachments)
        except Exception as error:  # noqa: BLE001 - the guard of the analysis, as in the worker
            self.failures.append((execution.description, f"{type(error).__name__}: {error}"))
            reason = f"{type(error).__name__}: {error}"
            access, versions = Access(query_type, analysis="opaque", reason=reason), ()
        finding = Finding(access, captured_by, versions)
        self.count(finding)
        return finding

    def by_plan(self, catalog: CatalogSnapshot, plan: Any) -> tuple[Access, tuple[ObjectVersion, ...]]:
        """What an analyzed plan accesses, with ids, and the versions that it reads."""
        shape, facts = self.plans.read(plan)
        facts = replace(facts, registered=catalog.registered(facts))
        access = identify(analyze_plan(shape, facts), named_relations(facts) | catalog.made(facts))
        return access, read_versions(access, named_leaves(facts))

    def tried(self, job: Job) -> Job:
        """A statement that has failed; where a DataFrame was refused, with the objects that it is about."""
        if job.ended.status != "DENIED" or job.started.is_sql or job.intent.query_execution is None:
            return job
        access, _ = self.by_plan(job.catalog, job.intent.query_execution().analyzed())
        return replace(job, started=replace(job.started, objects_tried=objects_named(access)))

    def _by_text(self, job: Job, plan: Any | None) -> Finding | None:
        statement = job.intent.statement
        if statement is None or (statement.tree is None and statement.command is None):
            return None
        opened = Opened() if plan is None else self._opened(job.catalog, plan)
        catalog = StatementCatalog(
            job.catalog,
            _current(job),
            opened.relations,
            opened.views,
            _known(job),
            job.governance,
            job.attachments,
        )
        try:
            access = lineage.trace(statement, catalog, existed=_existed(job))
        except CatalogMovedError:
            return None
        difference = disagreement(access, opened.relations) if plan is not None else None
        doubt = difference or (self._other_reading(job, access) if plan is not None else None)
        if access.analysis != "full" or doubt:
            by_plan = self._by_plan(job, plan) if plan is not None else None
            if by_plan and by_plan.access.analysis == "full":
                self.counts.disagreed += bool(difference)
                return by_plan
            access = replace(access, reason=access.reason or doubt)
        elif plan is not None and drawn(job.started.query_id, self.cross_check):
            access = self._cross_checked(job, plan, access)
        versions = read_versions(access, opened.leaves)
        return Finding(_keeping(access) if opened.keeps_some else access, "text", versions)

    def _other_reading(self, job: Job, access: Access) -> str | None:
        """Why the text of a session does not mean what it says, where that could change what is on record."""
        if access.object_modified_by_ddl and not (access.objects_modified or access.defines):
            return None
        setting = self.plans.reading(job.catalog.session.spark._jsparkSession)
        return f"text means something else under {setting}" if setting else None

    def _cross_checked(self, job: Job, plan: Any, access: Access) -> Access:
        """The text engine's access, held against the plan engine's to the last source of each column."""
        if not (access.columns or access.objects_modified):
            return access  # DDL: an analyzed plan does not say what the statement came to
        by_plan, _ = self.by_plan(job.catalog, plan)
        if by_plan.analysis != "full":
            return access
        self.counts.cross_checked += 1
        found = list(map(str, differences(access, by_plan, names=False)))
        if not found:
            return access
        self.counts.differed += 1
        more = f" (and {len(found) - _TOLD} more)" if len(found) > _TOLD else ""
        reason = f"the engines differ: {'; '.join(found[:_TOLD])}{more}"
        return replace(access, analysis="partial", reason=reason)

    def _by_plan(self, job: Job, plan: Any | None) -> Finding:
        if plan is None:
            if job.intent.changes_session and job.intent.statement is None:
                return Finding(Access(job.intent.query_type), "plan")  # a cached table, a dropped temp view
            return opaque(job, _why_no_plan(job))
        access, versions = self.by_plan(job.catalog, plan)
        return Finding(_under(access, job.attachments), "plan", versions)

    def _completed(
        self, job: Job, executions: Sequence[Execution], finding: Finding, query_execution: Any | None
    ) -> Finding:
        self.count(finding)
        places = self._places(finding, query_execution)
        written = written_versions(
            job.catalog.session, finding.access, executions, places, job.started.query_id
        )
        metrics = execution_metrics(executions)
        finding = replace(
            finding,
            versions=(*finding.versions, *written.versions),
            rows_produced=written.rows if written.rows is not None else metrics.rows_written,
            bytes_scanned=metrics.bytes_scanned,
            bytes_written=written.bytes if written.bytes is not None else metrics.bytes_written,
        )
        if job.intent.statement is None and query_execution is not None:
            text = plan_text(query_execution)
            finding = replace(
                finding,
                query_text=f"{job.intent.text}\n{text}",
                query_type=finding.access.statement_type if job.intent.query_type in _BY_PLAN else None,
                query_hash=plan_hash(text),
            )
        return finding

    def _places(self, finding: Finding, query_execution: Any | None) -> dict[str, str]:
        """Where the Delta tables lie that a plan writes."""
        if query_execution is None or not finding.access.objects_modified:
            return {}
        leaves = [target.leaf for target in self.plans.collect_facts(query_execution.analyzed()).targets]
        known = ((leaf.name, leaf.locations) for leaf in leaves if leaf.table_id)
        return {name.casefold(): locations[0] for name, locations in known if name and locations}

    def count(self, finding: Finding) -> None:
        """Note how a statement was analysed."""
        if finding.access.analysis == "full":
            setattr(self.counts, finding.captured_by, getattr(self.counts, finding.captured_by) + 1)
        else:
            name = finding.access.analysis
            setattr(self.counts, name, getattr(self.counts, name) + 1)


def _under(access: Access, attachments: Attachments) -> Access:
    """What a plan accesses, with the policies that were in force."""
    accessed = (*access.direct_objects_accessed, *access.base_objects_accessed)
    return replace(access, policies_referenced=in_force(accessed, attachments))


def _keeping(access: Access) -> Access:
    """The same of a statement that overwrites only partitions, by a setting and not by its text."""
    kept = tuple(replace(written, overwrites=False) for written in access.objects_modified)
    return replace(access, objects_modified=kept)


def _of_procedure(name: str) -> Finding:
    """A call: the procedure is accessed; what it runs has records of its own."""
    called = AccessedObject(name, Domain.PROCEDURE, object_id(Domain.PROCEDURE.value, name))
    access = Access("CALL", direct_objects_accessed=(called,), base_objects_accessed=(called,))
    return Finding(access, "text")


def drawn(query_id: str, share: float) -> bool:
    """Whether a statement is among a share of all; the same answer each time, after a crash too.

    >>> [drawn(f"query {n}", 0.5) for n in range(6)]
    [True, True, False, False, True, True]
    >>> drawn("any", 1.0), drawn("any", 0.0)
    (True, False)
    """
    return int.from_bytes(blake2b(query_id.encode(), digest_size=8).digest(), "big") < share * 2**64


def opaque(job: Job, reason: str) -> Finding:
    """The finding of an analysis that could not be made."""
    kind = job.intent.query_type
    captured = "plan" if job.intent.statement is None else "text"
    return Finding(Access(kind, analysis="opaque", reason=reason), captured)  # type: ignore[arg-type]


def disagreement(access: Access, read: dict[str, Relation]) -> str | None:
    """The first object that the text engine has and Spark's plan has not, or the other way round."""
    if not read or (access.object_modified_by_ddl and not access.objects_modified):
        return None
    if access.statement_type in _UNREAD:
        return None
    written = {o.name.casefold() for o in access.objects_modified}
    if access.object_modified_by_ddl:
        written.add(access.object_modified_by_ddl.name.casefold())
    by_text = {o.name.casefold() for o in access.base_objects_accessed if o.domain.value in _STORED}
    by_plan = set(read)
    # The analyzed plan is the user's own: what policies read is not in it.
    for name in sorted(by_text - by_plan - written) if not access.policies_referenced else ():
        return f"the text names {name}, Spark's plan does not read it"
    for name in sorted(by_plan - by_text - written):
        return f"Spark's plan reads {name}, the text does not name it"
    return None


# Their plans hold relations that they name and do not read; a temporary view is no object of the record.
_UNREAD = frozenset({"CREATE_VIEW", "ALTER_VIEW", "UNCACHE"})
# A writer's method does not say what it comes to: saveAsTable may create, replace or append.
_BY_PLAN = frozenset({"CREATE_TABLE_AS_SELECT", "UNLOAD", "UNKNOWN"})
_STORED = frozenset({"Table", "EXTERNAL TABLE", "STAGE"})


def read_versions(access: Access, leaves: Sequence[Leaf]) -> tuple[ObjectVersion, ...]:
    """The Delta versions that a plan has read, each once; a table that is only written is not read."""
    read = {o.name.casefold() for o in access.base_objects_accessed}
    versioned = (leaf for leaf in leaves if leaf.version is not None and leaf.version >= 0)
    relations = (relation_of_leaf(replace(leaf, columns=(), mapping_ids=())) for leaf in versioned)
    found = (
        ObjectVersion(r.name, "read", r.version or 0, r.object_id)
        for r in relations
        if r.name.casefold() in read
    )
    return tuple(dict.fromkeys(found))


def plan_text(query_execution: Any) -> str:
    """Spark's own rendering of an analyzed plan, for people."""
    return str(query_execution.analyzed().toString())[:_LONGEST_PLAN]


def plan_hash(text: str) -> str:
    """The same for plans that differ in expression ids only."""
    return blake2b(re.sub(r"#\d+L?", "#", text).encode(), digest_size=16).hexdigest()


def _query_execution(job: Job, executions: Sequence[Execution]) -> Any | None:
    """The execution that did the work; for an action without one (an RDD) its DataFrame's."""
    ran = [e for e in executions if not e.is_delta_bookkeeping]
    if ran and job.intent.stream is None:
        return ran[-1].query_execution
    return job.intent.query_execution() if job.intent.query_execution else None


def _why_no_plan(job: Job) -> str:
    statement = job.intent.statement
    if statement is not None and statement.reason:
        return f"{statement.reason}; Spark ran no plan that says more"
    return "Spark ran no plan for this call"


def _current(job: Job) -> tuple[str, str]:
    return job.started.database_name or "", job.started.schema_name or ""


def _known(job: Job) -> dict[tuple[str, ...], Relation | None]:
    """What the targets of a DDL statement are: as they were, or as they are now if they are new."""
    known = dict(job.after.relations) if job.after else {}
    kind = job.intent.statement.statement_type if job.intent.statement else ""
    for parts, before in (job.before.relations if job.before else {}).items():
        known[parts] = target_of(kind, before, known.get(parts))
    return known


def target_of(statement_type: str, before: Relation | None, after: Relation | None) -> Relation | None:
    """What a DDL statement is about: as it was, with the columns that it has added, or as it was made."""
    if before is None or after is None or statement_type.startswith(("CREATE", "REPLACE")):
        return after or before
    names = {column.name.casefold() for column in before.columns}
    added = tuple(column for column in after.columns if column.name.casefold() not in names)
    return replace(before, columns=before.columns + added)


def _existed(job: Job) -> bool | None:
    if job.before is None or not job.before.relations:
        return None
    return next(iter(job.before.relations.values())) is not None
