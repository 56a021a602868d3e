"""Coverage on what Spark accepts: the SQL files of Spark's own tests, plain and audited.

In: 367 files of the tests' jar. Out: how many statements answer the same, are on record exactly once, are
analysed in full from text, from text or plan; what is not, by construct; what is silently wrong.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import lineage
from benchmarks import sessions
from benchmarks.corpus import Corpus
from benchmarks.engines import EXPLAINED, explanation
from benchmarks.result import DATA, Options, Result, Row, Say
from benchmarks.sql_check import Checked, Checker
from benchmarks.sql_files import SqlFile, sql_files
from benchmarks.sql_judge import PARENTS
from benchmarks.sql_world import SETTINGS, furnish
from lineage.engine_diff import Difference

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SAMPLE = (
    "cte.sql",
    "cross-join.sql",
    "describe.sql",
    "execute-immediate.sql",
    "group-by-ordinal.sql",
    "inline-table.sql",
    "nonansi/literals.sql",
    "postgreSQL/insert.sql",
    "selectExcept.sql",
    "subquery/in-subquery/in-having.sql",
    "unpivot.sql",
    "using-join.sql",
)
"""What runs with the tests: a dozen files of many kinds."""

_TEXT, _EITHER = 97.0, 99.5
_LONGEST = 12


def run(options: Options, say: Say) -> Result:
    """Runs all files, or the sample with `--quick`."""
    corpus = Corpus(say)
    files = list(sql_files(corpus.sql_inputs()))
    chosen = [f for f in files if f.name in SAMPLE] if options.quick else files
    with sessions.folder("corpus") as root, sessions.session(root, SETTINGS) as spark:
        checked = check(spark, corpus, chosen, root, say)
    report = DATA / "sql_corpus.txt"
    report.write_text("\n".join(faults(checked)), encoding="utf-8")
    say(f"every statement that is not as it should be: {report}")
    skipped = [file for file in chosen if file.skipped]
    return Result(
        "What Spark's own tests run",
        ("statements", ""),
        tuple(rows(checked)),
        f"The SQL files of Spark 4.2's tests: {len(chosen) - len(skipped)} of {len(chosen)},"
        " each file in a new session over the tables of Spark's suite, once plain and once audited."
        " Engines are compared on the plain session: objects and their columns, outputs with their names and"
        " sources, what is written and what is defined. Coverage is what the audit has on record.",
        (*_reasons(checked), *_left_out(skipped), *(f"{e.name}: {e.reason}" for e in EXPLAINED)),
    )


def check(
    spark: SparkSession,
    corpus: Corpus,
    files: Sequence[SqlFile],
    root: Path,
    say: Say,
) -> list[Checked]:
    """All statements of some files, on both sessions."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # PySpark logs each error
    furnish(spark, corpus, root)
    checker = Checker(spark, root / "audit", corpus.table_functions())
    checker.run(files, say)
    return checker.finish()


def rows(checked: Sequence[Checked]) -> Iterator[Row]:
    """The table."""
    answered = [c for c in checked if c.stable]
    accepted = [c for c in checked if c.accepted and c.recorded]
    yield _count("Run on both sessions", len(checked))
    yield _count("… of them not the same in each plain run", len(checked) - len(answered))
    yield _none("Answered otherwise when audited", sum(not c.same for c in answered))
    yield _none("Not on record exactly once", sum(not once(c) for c in checked))
    yield _count("Accepted by Spark", len(accepted))
    full = [c.recorded[0] for c in accepted if c.recorded[0].analysis == "full"]
    yield _share("Full from text", sum(r.captured_by == "text" for r in full), len(accepted), _TEXT)
    yield _share("Full from text or plan", len(full), len(accepted), _EITHER)
    for kind in ("partial", "opaque"):
        yield _count(kind.capitalize(), sum(c.recorded[0].analysis == kind for c in accepted))
    yield _none("Silently wrong", sum(silent(c) or c.fault is not None for c in checked))
    seen = sum(bool(unexplained(c)) and not silent(c) for c in checked)
    yield _count("Wrong by text, seen so by the plan, which was taken", seen)
    explained = Counter(why for c in checked for why in _explained(c))
    for name, number in explained.most_common():
        yield _count(f"Explained: {name}", number)


def once(checked: Checked) -> bool:
    """Whether a statement is on record exactly once, with how it ended.

    Of EXECUTE IMMEDIATE of a query the analysis is what the statement ran; its rows are a child's.
    """
    statuses = [record.status for record in checked.recorded]
    if lineage.parse(checked.sql).statement_type in PARENTS:
        return statuses in (["SUCCESS"], ["FAIL"])
    return statuses == ["SUCCESS" if checked.audited.error is None else "FAIL"]


def silent(checked: Checked) -> bool:
    """Whether the record rests on text that says otherwise than the plan, and nothing explains it."""
    return bool(unexplained(checked)) and any(r.captured_by == "text" for r in checked.recorded)


def unexplained(checked: Checked) -> list[str]:
    """What the engines say otherwise of a statement, and nothing explains."""
    return [str(one) for one, why in _differences(checked) if why is None]


def _explained(checked: Checked) -> set[str]:
    return {why for _, why in _differences(checked) if why}


def _differences(checked: Checked) -> Iterator[tuple[Difference, str | None]]:
    """What the engines say otherwise, each with what explains it."""
    if checked.judgement is not None:
        for one in checked.judgement.differences:
            yield one, explanation(one, checked.sql, checked.judgement.text)


def faults(checked: Sequence[Checked]) -> Iterator[str]:
    """Every statement that is not as it should be, with what is the matter."""
    for one in checked:
        matters = [f"differs: {text}" for text in unexplained(one)]
        if one.fault:
            matters.append(f"an engine failed: {one.fault}")
        if one.stable and not one.same:
            matters.append(f"plain {_short(one.plain)}, audited {_short(one.audited)}")
        if not once(one):
            matters.append(f"on record: {[record.status for record in one.recorded]}")
        matters += [
            f"{record.analysis} by {record.captured_by}: {record.reason}"
            for record in one.recorded
            if record.analysis not in (None, "full")
        ]
        if matters:
            yield f"-- {one.file}\n{one.sql}\n" + "\n".join(f"   * {matter[:600]}" for matter in matters)


def _short(outcome: object) -> str:
    return str(outcome)[:300]


def _reasons(checked: Sequence[Checked]) -> Iterator[str]:
    """What is not full from text, by construct."""
    counted: Counter[tuple[str, str]] = Counter()
    for one in checked:
        judged = one.judgement
        if judged and judged.statement_type not in PARENTS and judged.text.analysis != "full":
            counted[judged.text.analysis, construct(judged.text.reason or "")] += 1
    for (kind, reason), number in counted.most_common(_LONGEST):
        yield f"not full from text: {number} {kind}: {reason}"


def construct(reason: str) -> str:
    """A reason without the names of one statement.

    >>> construct("unknown column `a`; columns of t1"), construct("not parsed: Expecting ) at 't'")
    ('unknown column …', 'not parsed: Expecting )')
    """
    first = re.sub(r" at '.*", "", reason.partition(";")[0], flags=re.DOTALL)
    return re.sub(r"(unknown column|unknown table|columns of|table function|view) .+", r"\1 …", first)


def _left_out(skipped: Sequence[SqlFile]) -> Iterator[str]:
    for why, number in Counter(file.skipped for file in skipped).items():
        yield f"not run: {number} files: {why}"


def _count(what: str, number: int) -> Row:
    return Row(what, f"{number:,}")


def _none(what: str, number: int) -> Row:
    return Row(what, f"{number:,}", "", None, "0", number == 0)


def _share(what: str, number: int, of: int, least: float) -> Row:
    percent = 100.0 * number / of if of else 0.0
    return Row(what, f"{number:,}", f"{percent:.2f} %", None, f"≥ {least} %", percent >= least)
