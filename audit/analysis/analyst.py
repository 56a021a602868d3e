"""Analyses finished statements: from their text first, from Spark's analyzed plan if that fails.

In: a `Job` and its executions. Out: a `Finding`. The text engine gets schemas from the relations in Spark's
own plan. Its result is compared with these relations; if they disagree the plan is used, and the record tells
so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import lineage
from audit.analysis.counts import Counts
from audit.analysis.written_versions import written_versions
from audit.core.guard import attempt
from audit.record.access_record import CapturedBy, Finding, ObjectVersion, Started, objects_named
from audit.spark.catalog.session_catalog import (
    CatalogMovedError,
    CatalogSnapshot,
    StatementCatalog,
    named_leaves,
    named_relations,
    relation_of_leaf,
)
from audit.spark.plans.metrics import sum_known
from audit.spark.plans.plan_facts import ExecutedPlan
from lineage.catalog.identify import identify
from lineage.catalog.object_ids import object_id
from lineage.engine_diff import differences
from lineage.model import Access, AccessedObject, Domain, Relation
from lineage.names import quote_name
from lineage.plan import analyze_plan
from lineage.sql.commands.time_travel.clone import CloneSchema
from lineage.sql.statement import Statement
from lineage.statements.policies_referenced import policies_of_objects

if TYPE_CHECKING:
    from audit.analysis.work_items import Attachments, Job
    from audit.core.guard import Failures
    from audit.policies.model.state import GovernanceState
    from audit.record.redaction import Redaction
    from audit.spark.plans.executions import Execution
    from audit.spark.plans.plan_facts import PlanFactsReader
    from lineage.plan.facts import Leaf, Target

PARENTS = frozenset({"SCRIPT", "EXECUTE_IMMEDIATE"})
# Characters of a plan's text in a record.
_LONGEST_PLAN = 20_000
_TOLD = 5  # differences that a record tells


@dataclass(frozen=True, slots=True)
class PlanRelations:
    """The relations of a plan, as they were when Spark analysed it.

    Attributes:
        relations: by lower-case qualified name.
        views: the same.
        leaves: each read of a table; two of one table may be of two versions.
        targets: what its commands write.
    """

    relations: dict[str, Relation] = field(default_factory=dict)
    views: dict[str, Relation] = field(default_factory=dict)
    leaves: tuple[Leaf, ...] = ()
    targets: tuple[Target, ...] = ()

    @property
    def keeps_some(self) -> bool:
        """Whether it overwrites only some partitions, which a setting decides and not the text."""
        return any(target.keeps_some for target in self.targets)

    def gained_column(self, access: Access) -> str | None:
        """A column that an INSERT or MERGE adds to its target, or may add: only the plan tells which."""
        if access.object_modified_by_ddl:
            return None
        known = {
            (target.leaf.name or "").casefold(): {column.name.casefold() for column in target.leaf.columns}
            for target in self.targets
            if target.leaf.columns
        }
        for modified in access.objects_modified:
            columns = known.get(modified.name.casefold())
            for column in modified.columns if columns else ():
                if columns is not None and column.name.casefold() not in columns:
                    return f"{modified.name} gains the column {column.name}"
        evolving = (target.leaf.name for target in self.targets if target.evolves)
        return next((f"{name} may gain columns" for name in evolving), None)


class Analyst:
    """Both engines over the statements of one application."""

    def __init__(
        self,
        plans: PlanFactsReader,
        redaction: Redaction,
        failures: Failures,
        *,
        listening: bool,
        cross_check: float = 0.0,
    ) -> None:
        self.plans = plans
        self._redaction = redaction
        self.listening = listening
        self.cross_check = cross_check
        self.counts = Counts()
        self._failures = failures

    def analyse(self, job: Job, executions: Sequence[Execution]) -> Finding:
        """The access of a statement: the objects that it read and changed."""
        if job.started.query_type in PARENTS and self.listening:
            return Finding(
                Access(job.started.query_type), "text"
            )  # statements inside have records of their own
        if job.request.procedure is not None:
            return _of_procedure(job.request.procedure)
        query_execution = _query_execution(job, executions)
        executed = self._executed(job.catalog, query_execution)
        plan = None if _has_no_plan(job) else executed
        if job.request.stream is not None:
            finding = Finding(Access("STREAM"), "plan")  # its micro-batches read and write
        else:
            finding = self._traced(job, plan)
        finding = self._completed(job.catalog, job.started, executions, finding, executed)
        if job.request.statement is None and query_execution is not None:
            text = self.plan_text(query_execution)
            finding = replace(
                finding,
                query_text=f"{job.started.query_text}\n{text}",
                query_type=_type_by_plan(job.request.query_type, finding),
                query_hash=plan_hash(text),
            )
        return finding

    def _executed(self, catalog: CatalogSnapshot, query_execution: Any | None) -> ExecutedPlan | None:
        if query_execution is None:
            return None
        return ExecutedPlan(self.plans, query_execution, catalog.session.spark)

    def _traced(self, job: Job, plan: ExecutedPlan | None) -> Finding:
        """The finding by the text; by the plan where the text cannot tell, or its analysis has failed."""
        failure: list[str] = []

        def failed(error: Exception) -> None:
            self._failures.note(error, job.started.query_id)
            failure.append(f"{type(error).__name__}: {error}")

        finding = attempt(lambda: self._by_text(job, plan), failed) or self._by_plan(job, plan)
        return finding if finding.access.analysis == "full" else finding.doubted(failure)

    def _opened(self, catalog: CatalogSnapshot, plan: ExecutedPlan) -> PlanRelations:
        facts = plan.facts
        views = {v.name.casefold(): catalog.session.view(v, plan.java) for v in facts.views}
        targets = facts.targets
        facts = replace(facts, targets=(), registered=catalog.registered(facts))
        read = named_relations(facts)
        catalog.learn(read)
        return PlanRelations(read, views, named_leaves(facts), targets)

    def guarded_plan(
        self,
        catalog: CatalogSnapshot,
        execution: Execution,
        started: Started,
        captured_by: CapturedBy,
        attachments: Attachments,
        seen: Callable[[Access], Access] = lambda access: access,
    ) -> Finding:
        """The finding of an execution that has no job of its own; a failure makes it opaque.

        `seen` says what the statement is whose execution it is, where its plan does not.
        """

        def by_plan() -> Finding:
            access, versions = self.by_plan(catalog, execution.query_execution, started)
            return Finding(seen(_under(access, attachments)), captured_by, versions)

        def failed(error: Exception) -> Finding:
            self._failures.note(error, started.query_id)
            reason = f"{type(error).__name__}: {error}"
            return Finding(seen(Access(started.query_type, analysis="opaque", reason=reason)), captured_by)

        finding = attempt(by_plan, failed)
        ran = self._executed(catalog, execution.query_execution)
        return self._completed(catalog, started, [execution], finding, ran)

    def by_plan(
        self, catalog: CatalogSnapshot, query_execution: Any, started: Started
    ) -> tuple[Access, tuple[ObjectVersion, ...]]:
        """What the analyzed plan of a statement accesses, with ids, and the versions that it reads."""
        current = quote_name(_current(started)) if started.schema_name else None
        shape, facts = self.plans.read_execution(query_execution, current=current)
        facts = replace(facts, registered=catalog.registered(facts))
        access = identify(
            analyze_plan(shape, facts), named_relations(facts) | catalog.created_relations(facts)
        )
        return access, read_versions(access, named_leaves(facts))

    def tried(self, job: Job) -> Job:
        """The access of a failed statement; for a refused DataFrame with the objects of its plan."""
        if job.ended.status != "DENIED" or job.started.is_sql or job.request.query_execution is None:
            return job
        access, _ = self.by_plan(job.catalog, job.request.query_execution(), job.started)
        return replace(job, started=replace(job.started, objects_tried=objects_named(access)))

    def _by_text(self, job: Job, plan: ExecutedPlan | None) -> Finding | None:
        statement = job.request.statement
        if statement is None or (statement.tree is None and statement.command is None):
            return None
        opened = PlanRelations() if plan is None else self._opened(job.catalog, plan)
        catalog = StatementCatalog(
            job.catalog,
            _current(job.started),
            opened.relations,
            opened.views,
            _known(job),
            job.governance,
            job.attachments,
        )
        try:
            access = _with_id(lineage.trace(statement, catalog, existed=_existed(job)), job.governed)
        # The catalog has changed since the statement ran; its plan has what was there then.
        except CatalogMovedError:
            return None
        difference = disagreement(access, opened.relations) if plan is not None else None
        doubt = difference or opened.gained_column(access)
        doubt = doubt or (_other_reading(plan, access) if plan is not None else None)
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

    def _cross_checked(self, job: Job, plan: ExecutedPlan, access: Access) -> Access:
        """The text engine's access, compared with the plan engine's in every source of each column."""
        if not (access.columns or access.objects_modified):
            return access  # DDL: the analyzed plan does not show the result of the statement
        if access.policies_referenced:
            return access  # the analyzed plan has no policies: normalisation adds them later
        by_plan, _ = self.by_plan(job.catalog, plan.execution, job.started)
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

    def _by_plan(self, job: Job, plan: ExecutedPlan | None) -> Finding:
        if plan is None:
            if job.request.changes_session and job.request.statement is None:
                return Finding(Access(job.request.query_type), "plan")  # a cached table, a dropped temp view
            return opaque(job, _why_no_plan(job))
        access, versions = self.by_plan(job.catalog, plan.execution, job.started)
        return Finding(_under(access, job.attachments), "plan", versions)

    def _completed(
        self,
        catalog: CatalogSnapshot,
        started: Started,
        executions: Sequence[Execution],
        finding: Finding,
        plan: ExecutedPlan | None,
    ) -> Finding:
        """With the versions that it wrote, and with what Spark and Delta counted."""

        def complete() -> Finding:
            places = _places(finding, plan)
            written = written_versions(catalog.session, finding.access, executions, places, started)
            rows = (written.rows, *(one.rows_written for one in reversed(counted)))
            size = (written.bytes, *(one.bytes_written for one in reversed(counted)))
            return replace(
                finding,
                versions=tuple(dict.fromkeys((*finding.versions, *written.versions))),
                rows_produced=next((one for one in rows if one is not None), None),
                bytes_scanned=sum_known(one.bytes_scanned for one in counted),
                bytes_written=next((one for one in size if one is not None), None),
            )

        def failed(error: Exception) -> Finding:
            self._failures.note(error, started.query_id)
            return finding.doubted([f"{type(error).__name__}: {error}"])

        counted = [execution.metrics for execution in executions]
        problems = [f"metrics: {one.problem}" for one in counted if one.problem]
        return attempt(complete, failed).doubted(problems)

    def plan_text(self, query_execution: Any) -> str:
        """Spark's own rendering of an analyzed plan, for people, without secrets."""
        plan = query_execution.analyzed()
        hides = self._redaction.rules.literals
        text = self.plans.text_without_literals(plan) if hides else str(plan.toString())
        return self._redaction.message(text[:_LONGEST_PLAN])


def _other_reading(plan: ExecutedPlan, access: Access) -> str | None:
    """Why a session reads this text in another way than the text engine, if the record could differ."""
    if access.object_modified_by_ddl and not (access.objects_modified or access.defines):
        return None
    setting = plan.text_changing_setting
    return f"text means something else under {setting}" if setting else None


def _under(access: Access, attachments: Attachments) -> Access:
    """The access with the policies that were in force."""
    accessed = (*access.direct_objects_accessed, *access.base_objects_accessed)
    return replace(access, policies_referenced=policies_of_objects(accessed, attachments))


def _places(finding: Finding, plan: ExecutedPlan | None) -> dict[str, str]:
    """The locations of the Delta tables that a plan writes."""
    if plan is None or not finding.access.objects_modified:
        return {}
    leaves = [target.leaf for target in plan.facts.targets]
    known = ((leaf.name, leaf.locations) for leaf in leaves if leaf.table_id)
    return {name.casefold(): locations[0] for name, locations in known if name and locations}


def _with_id(access: Access, governed: GovernanceState | None) -> Access:
    """The access of a statement that makes a policy or a tag, with the id that later statements name."""
    ddl = access.object_modified_by_ddl
    if governed is None or ddl is None or ddl.operation_type not in ("CREATE", "REPLACE"):
        return access
    made = governed.identity(ddl.domain, ddl.name)
    if made is None:
        return access
    return replace(access, object_modified_by_ddl=replace(ddl, object_id=made))


def _keeping(access: Access) -> Access:
    """The access of a statement that overwrites only partitions (partitionOverwriteMode=dynamic)."""
    kept = tuple(replace(written, overwrites=False) for written in access.objects_modified)
    return replace(access, objects_modified=kept)


def _of_procedure(name: str) -> Finding:
    """The access of a CALL: the procedure; its statements have records of their own."""
    called = AccessedObject(name, Domain.PROCEDURE, object_id(Domain.PROCEDURE.value, name))
    access = Access("CALL", direct_objects_accessed=(called,), base_objects_accessed=(called,))
    return Finding(access, "text")


def drawn(query_id: str, share: float) -> bool:
    """Whether a statement is in a random sample; a hash of its id decides, so recovery decides alike.

    >>> [drawn(f"query {n}", 0.5) for n in range(6)]
    [True, True, False, False, True, True]
    >>> drawn("any", 1.0), drawn("any", 0.0)
    (True, False)
    """
    return int.from_bytes(blake2b(query_id.encode(), digest_size=8).digest(), "big") < share * 2**64


def opaque(job: Job, reason: str) -> Finding:
    """The finding of a failed analysis."""
    kind = job.request.query_type
    captured = "plan" if job.request.statement is None else "text"
    return Finding(Access(kind, analysis="opaque", reason=reason), captured)  # type: ignore[arg-type]


def disagreement(access: Access, read: dict[str, Relation]) -> str | None:
    """The first object that only one of text engine and Spark's plan has."""
    if not read or (access.object_modified_by_ddl and not access.objects_modified):
        return None
    if access.statement_type in _UNREAD:
        return None
    written = {o.name.casefold() for o in access.objects_modified}
    if access.object_modified_by_ddl:
        written.add(access.object_modified_by_ddl.name.casefold())
    by_text = {o.name.casefold() for o in access.base_objects_accessed if o.domain.value in _STORED}
    by_plan = set(read)
    # The analyzed plan has no policies: normalisation adds them later, so tables that they read are not in
    # it.
    for name in sorted(by_text - by_plan - written) if not access.policies_referenced else ():
        return f"the text names {name}, Spark's plan does not read it"
    for name in sorted(by_plan - by_text - written):
        return f"Spark's plan reads {name}, the text does not name it"
    return None


def _type_by_plan(asked: str, finding: Finding) -> str | None:
    """What a call on a writer has turned out to be; None where its name tells."""
    if asked not in _BY_PLAN:
        return None
    # An export is one whether it may run or not; `save` of a Delta table is an INSERT.
    places = all(one.domain is Domain.STAGE for one in finding.access.objects_modified)
    written = any(one.access == "write" for one in finding.versions)
    return asked if asked == "UNLOAD" and places and not written else finding.access.statement_type


# DDL plans hold relations that are named and not read; a temporary view is no object of the record. What the
# account has set lies in a table of the system's own.
_UNREAD = frozenset({"CREATE_VIEW", "ALTER_VIEW", "UNCACHE", "ALTER_ACCOUNT"})
# saveAsTable may create, replace or append: the method name does not tell which.
_BY_PLAN = frozenset({"CREATE_TABLE_AS_SELECT", "UNLOAD", "UNKNOWN"})
# Of executions, by QueryExecution.eagerlyExecuteCommands (Spark 4.2).
_OF_COMMANDS = frozenset({
    "command", "multi-commands", "create", "replace", "append", "overwrite", "overwritePartitions",
})  # fmt: skip
_STORED = frozenset({"Table", "EXTERNAL TABLE", "STAGE"})


def read_versions(access: Access, leaves: Sequence[Leaf]) -> tuple[ObjectVersion, ...]:
    """The Delta versions that a plan read, each once; tables that are only written are left out."""
    read = {o.name.casefold() for o in access.base_objects_accessed}
    # Delta gives a table without commits the version -1 (4.4).
    versioned = (leaf for leaf in leaves if leaf.version is not None and leaf.version >= 0)
    relations = (relation_of_leaf(replace(leaf, columns=(), mapping_ids=())) for leaf in versioned)
    found = (
        ObjectVersion(r.name, "read", r.version or 0, r.object_id)
        for r in relations
        if r.name.casefold() in read
    )
    return tuple(dict.fromkeys(found))


def plan_hash(text: str) -> str:
    """A hash of a plan without expression ids, which Spark numbers anew for each plan."""
    return blake2b(re.sub(r"#\d+L?", "#", text).encode(), digest_size=16).hexdigest()


def _query_execution(job: Job, executions: Sequence[Execution]) -> Any | None:
    """The QueryExecution that ran; for an action without one (an RDD) that of its DataFrame."""
    ran = own_executions(job.request.statement, executions)
    if ran and job.request.stream is None:
        return ran[-1].query_execution
    return job.request.query_execution() if job.request.query_execution else None


def own_executions(statement: Statement | None, executions: Sequence[Execution]) -> list[Execution]:
    """Those that may be the statement's own, out of the outermost ones while it ran.

    Args:
        statement: None for a call on a DataFrame.
        executions: oldest first. Delta reads and writes its log in some, perhaps last and on a thread of its
            own, so that the statement's counts as inside of it.
    """
    ran = [e for e in executions if not e.is_delta_bookkeeping]
    if statement is None or statement.is_query or not (statement.tree or statement.command):
        return ran
    return [e for e in ran if e.name in _OF_COMMANDS]


def _has_no_plan(job: Job) -> bool:
    """Whether no execution of a statement is its own.

    CREATE SCHEMA … CLONE runs a statement for each object in it, `convertToDelta` queries that list files.
    """
    statement = job.request.statement
    return statement is not None and (
        isinstance(statement.typed, CloneSchema) or statement.statement_type == "CONVERT"
    )


def _why_no_plan(job: Job) -> str:
    statement = job.request.statement
    if statement is not None and statement.reason:
        return f"{statement.reason}; Spark ran no plan that says more"
    return "Spark ran no plan for this call"


def _current(started: Started) -> tuple[str, str]:
    return started.database_name or "", started.schema_name or ""


def _known(job: Job) -> dict[tuple[str, ...], Relation | None]:
    """The targets of a DDL statement: as they were before, or as they are now if they are new."""
    known = dict(job.after.relations) if job.after else {}
    kind = job.request.statement.statement_type if job.request.statement else ""
    for parts, before in (job.before.relations if job.before else {}).items():
        known[parts] = target_of(kind, before, known.get(parts))
    return known


def target_of(statement_type: str, before: Relation | None, after: Relation | None) -> Relation | None:
    """The target of a DDL statement: as before, with added columns, or as created."""
    if before is None or after is None or statement_type.startswith(("CREATE", "REPLACE")):
        return after or before
    names = {column.name.casefold() for column in before.columns}
    added = tuple(column for column in after.columns if column.name.casefold() not in names)
    return replace(before, columns=before.columns + added)


def _existed(job: Job) -> bool | None:
    if job.before is None or not job.before.relations:
        return None
    return next(iter(job.before.relations.values())) is not None
