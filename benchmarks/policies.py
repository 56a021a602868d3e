"""Policies: what they add to a query, how long governing takes, and what a large catalog of them changes.

In: TPC-H under masks and row access policies, and the same by hand; two roots, one of them with thousands of
policies that protect other tables. Out: both times of all 22 queries, the time of governing by kind of
statement, and how long it takes to attach, to set a policy, and to obey another driver.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import audit
from audit.capture.audited_session import AuditedSession
from audit.policies.model.event_log import EventLog
from audit.policies.model.events import GovernanceEvent
from audit.policies.service import Policies
from benchmarks import front_door, policies_data, sessions, tpch_data
from benchmarks.alternating import sides
from benchmarks.corpus import Corpus
from benchmarks.result import Options, Result, Row, Say, milliseconds
from benchmarks.timers import Timers, on_the_way
from lineage.model import Domain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALL, _SOME = "bench", "reader"
"""Who sees everything, and administers; who sees what policies show."""
_ROLE = "SEES_ALL"
_SLOWER = 1.03
_NEW, _REPEATED = 2.0, 0.3
_GROWTH = 1.2

_MASKED = {
    ("customer", "c_name"): "concat(substring({}, 1, 9), '*********')",
    ("customer", "c_phone"): "concat(substring({}, 1, 6), '***-****')",
    ("supplier", "s_address"): "'***'",
    ("supplier", "s_phone"): "'***'",
}
_TAGGED = {"supplier"}
_FILTERED = {"orders": ("o_orderstatus", "{} <> 'P'"), "lineitem": ("l_shipmode", "{} <> 'TRUCK'")}
_INSERT = (
    "INSERT INTO bench.totals SELECT nation, CAST({} AS DOUBLE) FROM bench.customers WHERE customer_id = 1"
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of statement: its text for a number; `limit` in milliseconds; `runs` in a round."""

    name: str
    limit: float
    runs: int
    text: Callable[[int], str]


_KINDS = (
    _Kind("a query, not seen before", _NEW, 80, front_door.QUERY.format),
    _Kind("a query, repeated", _REPEATED, 80, lambda _: front_door.QUERY.format(0)),
    _Kind("INSERT … SELECT, not seen before", _NEW, 40, _INSERT.format),
)


@dataclass(frozen=True, slots=True)
class _Bench:
    """One Spark, and how large everything is.

    Attributes:
        spark: the first session, which is not audited.
        root: of what the run leaves.
        timers: on PySpark's own methods and on what policies do on the caller's thread.
        options: of the run.
        say: progress.
    """

    spark: SparkSession
    root: Path
    timers: Timers
    options: Options
    say: Say

    def session(self, root: str, schema: str) -> tuple[SparkSession, AuditedSession, float]:
        """An audited session of somebody who sees everything, and how long the attach took (seconds)."""
        session = self.spark.newSession()
        session.sql(f"USE {schema}")
        sessions.settle(self.spark)
        began = time.perf_counter()
        interceptor = audit.attach(session, user=_ALL, root=str(self.root / root), schema=f"usage_{root}")
        seconds = time.perf_counter() - began
        audit.flush(session)  # the ingest thread has made its tables
        return session, interceptor, seconds

    def governing(self, interceptor: AuditedSession, run: Callable[[], Any]) -> float:
        """Seconds of a statement that governing took: in the rule, and on the caller's thread before it."""
        interceptor.recorder.worker.drain()
        enforcer = interceptor.services.enforcer
        before = enforcer.seconds
        in_python = self.timers.measure(run).get("governing", 0.0)
        return in_python + enforcer.seconds - before


def run(options: Options, say: Say) -> Result:
    """Measures TPC-H first, then governing and the rest over a small and a large catalog."""
    scale = options.scale if options.scale is not None else 0.01 if options.quick else 1.0
    policies, columns = (50, 1_000) if options.quick else (5_000, 100_000)
    passes, rounds = options.pick("passes", full=3, quick=1), 2 if options.quick else 6
    with sessions.folder("policies") as root, sessions.session(root) as spark:
        tpch_data.register(spark, scale, say)
        front_door.make_tables(spark)
        spark.sql("CREATE TABLE bench.rights AS SELECT 'NOBODY' AS role")
        timers = on_the_way()
        for owner, name in ((Policies, "set_identity"), (Policies, "handler_for"), (AuditedSession, "own")):
            timers.watch(owner, name, "governing")
        bench = _Bench(spark, root, timers, options, say)
        rows = [*_queries(bench, passes), *_catalogs(bench, policies, columns, rounds)]
        timers.restore()
    return Result(
        f"Policies: TPC-H at scale {scale:g}, and {policies:,} policies with {columns:,} tagged columns",
        ("governed", "beside it"),
        tuple(rows),
        "The 22 queries of Spark's own tests by a user for whom customer and supplier are masked (supplier"
        " by a tag) and orders and lineitem filtered; beside it the same text over temporary views that mask"
        " and filter by the very expressions, by a user to whom the same policies show everything. Both are"
        f" audited; {passes} runs on each side in the order A B B A …, after one of each, whose rows are"
        " the same; sums of medians. The processor's time is that of Python and the JVM until the worker has"
        " made the record. Governing is the time in the rule that every plan passes (a counter in the JVM)"
        " and in the questions that the front door asks of the policies; beside it the same with the large"
        f" catalog, whose policies protect other tables; medians of {rounds} rounds of each, in turns, and in"
        f" each of {', '.join(f'{kind.runs} × {kind.name}' for kind in _KINDS)}.",  # noqa: RUF001
        (
            "The large catalog is written into the table of the governance as events, in one commit.",
            (
                "Another driver's change: the whole time of the first statement after it less the median of"
                " such statements otherwise; it shows what the changed policy says."
            ),
        ),
    )


# -- against the same by hand ------------------------------------------------------------------


def _queries(bench: _Bench, passes: int) -> Iterator[Row]:
    governed, interceptor, _ = bench.session("queries", "tpch")
    by_hand, *_ = bench.session("queries", "tpch")
    _protect(governed)
    _views(by_hand)
    found: dict[bool, dict[str, list[dict[str, float]]]] = {True: defaultdict(list), False: defaultdict(list)}
    for name, text in Corpus(bench.say).tpch().items():
        seen = {side: _run(governed if side else by_hand, text, by=_SOME if side else _ALL) for side in found}
        if Counter(seen[True]) != Counter(seen[False]):
            raise AssertionError(f"{name} answers otherwise under policies than by hand")
        for is_governed in sides(passes):
            session, user = (governed, _SOME) if is_governed else (by_hand, _ALL)
            sessions.settle(bench.spark)
            began = sessions.processor_seconds(bench.spark)
            measured = bench.timers.measure(lambda: _run(session, text, by=user))  # noqa: B023
            interceptor.recorder.worker.drain()
            measured["processor"] = sessions.processor_seconds(bench.spark) - began
            found[is_governed][name].append(measured)
        on, off = (median(one["total"] for one in found[side][name]) for side in (True, False))
        bench.say(f"{name}: {len(seen[True]):,} rows, governed {on:.2f} s, by hand {off:.2f} s")
    audit.detach(governed)
    audit.detach(by_hand)
    for label, what in (("total", "by the clock"), ("processor", "by the processor")):
        on, off = (_sum(found[side], label) for side in (True, False))
        yield Row(
            f"22 queries, {what}; beside it by hand",
            f"{on:.2f} s",
            f"{off:.2f} s",
            on / off,
            f"≤ {_SLOWER}",
            on <= off * _SLOWER,
        )
    yield _most_different(found)


def _most_different(found: dict[bool, dict[str, list[dict[str, float]]]]) -> Row:
    medians = {
        name: tuple(median(one["total"] for one in found[side][name]) for side in (True, False))
        for name in found[True]
    }
    name = max(medians, key=lambda one: medians[one][0] / medians[one][1])
    on, off = medians[name]
    return Row(f"The query that differs most, {name}", f"{on:.2f} s", f"{off:.2f} s", on / off)


def _sum(runs: dict[str, list[dict[str, float]]], label: str) -> float:
    return sum(median(one[label] for one in each) for each in runs.values())


def _run(session: SparkSession, text: str, *, by: str) -> list[tuple[Any, ...]]:
    with audit.as_user(session, by):
        return [tuple(row) for row in session.sql(text).collect()]


def _protect(session: SparkSession) -> None:
    """Masks and filters on TPC-H, which role SEES_ALL does not notice."""
    _make_role(session)
    session.sql("CREATE TAG pii")
    for (table, column), mask in _MASKED.items():
        value = mask.format("val")
        session.sql(
            f"CREATE MASKING POLICY mask_{column} AS (val STRING) RETURNS STRING ->"
            f" CASE WHEN is_role_in_session('{_ROLE}') THEN val ELSE {value} END"
        )
        if table not in _TAGGED:
            session.sql(f"ALTER TABLE {table} ALTER COLUMN {column} SET MASKING POLICY mask_{column}")
            continue
        if column == "s_address":
            session.sql(f"ALTER TAG pii SET MASKING POLICY mask_{column}")
        session.sql(f"ALTER TABLE {table} ALTER COLUMN {column} SET TAG pii = 'yes'")
    for table, (column, condition) in _FILTERED.items():
        session.sql(
            f"CREATE ROW ACCESS POLICY rows_{table} AS (val STRING) RETURNS BOOLEAN ->"
            f" is_role_in_session('{_ROLE}') OR {condition.format('val')}"
        )
        session.sql(f"ALTER TABLE {table} ADD ROW ACCESS POLICY rows_{table} ON ({column})")


def _make_role(session: SparkSession) -> None:
    session.sql(f"CREATE ROLE {_ROLE}")
    session.sql(f"GRANT ROLE {_ROLE} TO USER {_ALL}")


def _views(session: SparkSession) -> None:
    """The same by hand, under the names of the tables."""
    for table in {table for table, _ in _MASKED} | set(_FILTERED):
        columns = [
            f"{_MASKED[table, column].format(column)} AS {column}" if (table, column) in _MASKED else column
            for column in session.table(f"tpch.{table}").columns
        ]
        condition = _FILTERED[table][1].format(_FILTERED[table][0]) if table in _FILTERED else "true"
        query = f"SELECT {', '.join(columns)} FROM tpch.{table} WHERE {condition}"  # noqa: S608 - our own
        session.sql(f"CREATE TEMPORARY VIEW {table} AS {query}")


# -- small and large catalogs ------------------------------------------------------------------


def _catalogs(bench: _Bench, policies: int, columns: int, rounds: int) -> Iterator[Row]:
    roots = {False: "small", True: "large"}
    bench.say(f"a catalog of {policies:,} policies and {columns:,} tagged columns")
    events = list(policies_data.catalog(policies, columns, "bench"))
    EventLog(bench.spark, str(bench.root / "large")).change(lambda _: events)
    for root in roots.values():
        session, *_ = bench.session(root, "bench")
        _protect_small(session)
        audit.detach(session)
    took: dict[tuple[str, bool], list[float]] = defaultdict(list)
    numbers = itertools.count(1)
    for number, is_large in enumerate(sides(rounds)):
        bench.say(f"round {number // 2 + 1} of {rounds}, the {roots[is_large]} catalog")
        for what, seconds in _round(bench, roots[is_large], numbers):
            took[what, is_large].append(seconds)

    def both(what: str) -> tuple[float, float]:
        return median(took[what, False]), median(took[what, True])

    for kind in _KINDS:
        small, large = both(kind.name)
        yield Row(
            f"Governing {kind.name}; beside it with the large catalog",
            milliseconds(small),
            milliseconds(large),
            large / small,
            f"≤ {kind.limit:g} ms, ratio ≤ {_GROWTH}",
            max(small, large) * 1e3 <= kind.limit and large <= small * _GROWTH,
        )
    for what in (_ATTACH, _FIRST, _SET, _OTHER):
        small, large = both(what)
        yield Row(
            f"{what}; beside it with the large catalog", f"{small:.2f} s", f"{large:.2f} s", large / small
        )


_ATTACH = "audit.attach"
_FIRST = "The first change of a table after it: what policies read is found out"
_SET = "ALTER TABLE … SET MASKING POLICY"
_OTHER = "The first statement after another driver's change takes longer by"


def _protect_small(session: SparkSession) -> None:
    _make_role(session)
    session.sql(
        "CREATE MASKING POLICY nations AS (val STRING) RETURNS STRING ->"
        f" CASE WHEN is_role_in_session('{_ROLE}') THEN val ELSE 'before' END"
    )
    session.sql(
        "CREATE ROW ACCESS POLICY paid AS (val STRING) RETURNS BOOLEAN ->"
        f" is_role_in_session('{_ROLE}') OR val <> 'P'"
    )
    session.sql("ALTER TABLE customers ALTER COLUMN nation SET MASKING POLICY nations")
    session.sql("ALTER TABLE orders ADD ROW ACCESS POLICY paid ON (status)")


def _round(bench: _Bench, root: str, numbers: Iterator[int]) -> Iterator[tuple[str, float]]:
    """Everything on one catalog: what, and seconds."""
    session, interceptor, attaching = bench.session(root, "bench")
    yield _ATTACH, attaching
    with audit.as_user(session, _SOME):
        yield _FIRST, bench.timers.measure(lambda: session.sql(_INSERT.format(next(numbers))))["total"]
        for kind in _KINDS:
            found = []
            runs = 4 if bench.options.quick else kind.runs
            for number in itertools.islice(numbers, runs + 1):
                text = kind.text(number)
                found.append(bench.governing(interceptor, lambda: session.sql(text).collect()))  # noqa: B023
            yield kind.name, median(found[1:])
    alter = "ALTER TABLE customers ALTER COLUMN nation SET MASKING POLICY nations FORCE"
    yield _SET, median(bench.timers.measure(lambda: session.sql(alter))["total"] for _ in range(3))
    yield _OTHER, _obeys(bench, session, root, passes=3)
    audit.detach(session)


def _obeys(bench: _Bench, session: SparkSession, root: str, passes: int) -> float:
    """By how much a statement takes longer that is the first after another driver has changed a policy."""
    other = EventLog(bench.spark, str(bench.root / root))
    question = "SELECT DISTINCT nation FROM bench.customers"
    usual: list[float] = []
    first: list[float] = []
    for number in range(passes):
        shown = f"{root} {number}"
        other.change(lambda state: [_changed(state, shown)])  # noqa: B023
        for seconds in (first, usual, usual):
            rows: list[tuple[Any, ...]] = []
            run = bench.timers.measure(lambda: rows.extend(_run(session, question, by=_SOME)))  # noqa: B023
            seconds.append(run["total"])
            if rows != [(shown,)]:
                raise AssertionError(f"the policy is not obeyed: {rows[:3]} instead of {shown!r}")
    return median(first) - median(usual)


def _changed(state: Any, shown: str) -> GovernanceEvent:
    identity, known = state.find(Domain.MASKING_POLICY, "spark_catalog.bench.nations")
    body = f"CASE WHEN is_role_in_session('{_ROLE}') THEN val ELSE '{shown}' END"
    name = f"{identity}-{shown}-{known.version}"
    return GovernanceEvent(
        known.changed + 1, "SET_BODY", name, identity, name=known.policy.name, details={"body": body}
    )
