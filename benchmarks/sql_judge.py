"""Both engines on one statement that a session has just run.

In: a statement and its session. Out: what it gave (`Outcome`), and what each engine makes of it
(`Judgement`). The text engine gets what it gets in a live driver: the relations that the plan has read,
and of a DDL statement its targets before and after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import lineage
from audit.analysis.analyst import target_of
from audit.spark import sessions
from audit.spark.catalog.session_catalog import SessionCatalog, StatementCatalog, named_relations
from audit.spark.plans.plan_facts import PlanFactsReader
from lineage.engine_diff import Difference, differences, different_definitions
from lineage.model import Access, Relation
from lineage.plan import analyze_plan
from lineage.plan.facts import PlanFacts, Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARENTS = ("SCRIPT", "EXECUTE_IMMEDIATE")
"""What runs statements of its own, each with a record of its own."""

# What differs from run to run and says nothing: ids of expressions, plans and objects, times, places.
_NOISE = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"#\d+L?", "#x"),
        (r"\b(plan_id|id|hash)=\[?#?\w+", r"\1=x"),
        (r"\b(CTERelation(?:Def|Ref)|UnionLoop(?:Ref)?|Loop id:) \d+", r"\1 x"),
        (r"@[0-9a-f]{5,}", "@x"),
        (r"\bo\d+\.", "o."),
        (r"lambda \w+#x", "lambda x#x"),
        (r"\w{3} \w{3} \d\d? \d\d:\d\d:\d\d \w+ \d{4}", "time"),
        (r"(transient_lastDdlTime'?\"?[=:,] ?'?)\d+", r"\1x"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "time"),
        (r"(?i)(stage|task|job|tid|line|partition)s? [\d.]+", r"\1 x"),
    )
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement gave: rows in their order as text, or an error."""

    rows: tuple[str, ...] = ()
    error: str | None = None

    def matches(self, other: Outcome, *, ordered: bool) -> bool:
        """The same rows, in the same order where the statement asks for one; or the same error."""
        if self.error or other.error or ordered:
            return self == other
        return sorted(self.rows) == sorted(other.rows)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the two engines make of a statement; `unexplained` differences are faults of one of them."""

    statement_type: str
    node: str
    text: Access
    plan: Access
    differences: tuple[Difference, ...] = ()


def outcome(session: SparkSession, sql: str) -> tuple[Outcome, DataFrame | None]:
    """Run a statement to its rows."""
    try:
        frame = session.sql(sql)
        rows = tuple(_plain(str(row)) for row in frame.collect())
    except Exception as error:  # noqa: BLE001  the error is the result
        return Outcome(error=_plain(f"{type(error).__name__}: {error}"[:2_000].partition("\n\tat ")[0])), None
    return Outcome(rows), frame


def is_ordered(sql: str) -> bool:
    """Whether the rows of a statement have an order that it asks for."""
    tree = lineage.parse(sql).tree
    return tree is not None and tree.args.get("order") is not None


def _plain(text: str) -> str:
    for pattern, by in _NOISE:
        text = pattern.sub(by, text)
    return text


class Judge:
    """Both engines over one session.

    Args:
        session: where the statements run.
        plans: the reader of its JVM.
    """

    def __init__(self, session: SparkSession, plans: PlanFactsReader) -> None:
        self.session = session
        self.plans = plans
        self.catalog = SessionCatalog(session, plans)

    def before(self, sql: str) -> Before:
        """What is to be known before a statement runs."""
        statement = lineage.parse(sql)
        current = sessions.current_schema(self.session)
        targets = statement.targets if statement.is_ddl else ()
        return Before(statement, current, {t.parts: self.catalog.target(t, current) for t in targets})

    def after(self, before: Before, frame: DataFrame) -> Judgement:
        """Both engines on what has run."""
        statement = before.statement
        self.catalog.forget()
        snapshot = self.catalog.snapshot()
        plan = frame._jdf.queryExecution().analyzed()
        shape, facts = self.plans.read(plan)
        facts = _looked(replace(facts, registered=snapshot.registered(facts)), existed=before.existed)
        views = {v.name.casefold(): self.catalog.view(v, plan) for v in facts.views}
        read = named_relations(replace(facts, targets=()))
        names = StatementCatalog(snapshot, before.current, read, views, self._known(before))
        by_text = lineage.trace(statement, names, existed=before.existed)
        by_plan = analyze_plan(shape, facts)
        both = (by_text.analysis, by_plan.analysis) == ("full", "full")
        compared = both and statement.statement_type not in PARENTS
        found = (*differences(by_text, by_plan), *different_definitions(by_text, by_plan)) if compared else ()
        return Judgement(statement.statement_type, plan.nodeName(), by_text, by_plan, found)

    def _known(self, before: Before) -> dict[tuple[str, ...], Relation | None]:
        kind = before.statement.statement_type
        return {
            name: target_of(kind, was, self.catalog.look_up(name, before.current))
            for name, was in before.targets.items()
        }


@dataclass(frozen=True, slots=True)
class Before:
    """A statement that is about to run, and what its targets are."""

    statement: lineage.Statement
    current: tuple[str, str]
    targets: Mapping[tuple[str, ...], Relation | None]

    @property
    def existed(self) -> bool | None:
        """Whether the first target is there; None for a statement without one."""
        found: Sequence[Any] = tuple(self.targets.values())
        return found[0] is not None if found else None


def _looked(facts: PlanFacts, *, existed: bool | None) -> PlanFacts:
    """A plan does not say whether its target was there before: somebody has looked."""
    targets: tuple[Target, ...] = tuple(replace(target, existed=existed) for target in facts.targets)
    return replace(facts, targets=targets)
