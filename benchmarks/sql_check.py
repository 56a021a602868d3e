"""Spark's SQL files on a plain and on an audited session of one Spark.

In: files and a Spark that is not audited. Out: one `Checked` a statement: whether both sessions answered the
same, what both engines make of it, and what the audit has on record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import audit
from audit.spark import sessions
from audit.spark.plans.plan_facts import PlanFactsReader
from benchmarks.result import Say
from benchmarks.sql_files import SqlFile
from benchmarks.sql_judge import Judge, Judgement, Outcome, is_ordered, outcome
from benchmarks.sql_world import clear, prepare
from lineage.sql.redaction.rules import RedactionRules
from lineage.sql.redaction.sql_text import redact_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of two tasks that fail, Spark reports the one that is first, and its message names the value: two plain
# runs may well agree where a third does not.
_REPEATS = 5


@dataclass(frozen=True, slots=True)
class Recorded:
    """A statement as the audit has it; `analysis` and what follows are None for one that failed."""

    text: str
    status: str
    analysis: str | None
    captured_by: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Checked:
    """One statement of a file.

    Attributes:
        plain: what the plain session gave.
        audited: what the audited session gave.
        stable: plain runs give the same each time; looked at only where the sessions differ.
        judgement: None where Spark rejects it.
        fault: how one of the engines failed, by an exception.
        recorded: what is on record for it; () for nothing.
    """

    file: str
    sql: str
    plain: Outcome
    audited: Outcome
    stable: bool = True
    judgement: Judgement | None = None
    fault: str | None = None
    recorded: tuple[Recorded, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether Spark runs it to its end."""
        return self.plain.error is None

    @property
    def same(self) -> bool:
        """Whether the audit changed nothing that the caller sees."""
        return self.plain.matches(self.audited, ordered=is_ordered(self.sql))


class Checker:
    """Runs files; what the audit has on record is read once, at the end.

    Args:
        spark: not audited, furnished by `sql_world`.
        root: for the audit tables.
        table_functions: Python sources by name, for the files that call them.
    """

    def __init__(self, spark: SparkSession, root: Path, table_functions: Mapping[str, str]) -> None:
        self.spark = spark
        self.root = root
        self._table_functions = table_functions
        self.plans = PlanFactsReader(spark.sparkContext._jvm)
        self.audited = spark.newSession()
        audit.attach(self.audited, user="corpus", root=str(root))
        self._sessions: list[tuple[str, list[Checked]]] = []

    def run(self, files: Iterable[SqlFile], say: Say) -> None:
        """Run files, those that are skipped left out."""
        for file in files:
            if file.skipped is None:
                checked = self._file(file)
                differ = sum(not c.same and c.stable for c in checked)
                say(f"{file.name}: {len(checked)} statements, {differ} answered otherwise")

    def finish(self) -> list[Checked]:
        """All statements with what is on record for them; the audit is detached."""
        audit.detach(self.audited)
        records = self._records()
        return [
            one for session, checked in self._sessions for one in _paired(checked, records.get(session, []))
        ]

    def _file(self, file: SqlFile) -> list[Checked]:
        checked = list(self._plain(file))
        session = self.audited.newSession()
        with audit.suppress():
            prepare(session, file, self._table_functions)
        checked = [replace(one, audited=outcome(session, one.sql)[0]) for one in checked]
        clear(self.spark)
        for _ in range(_REPEATS):
            if all(one.same or not one.stable for one in checked):
                break
            again = [one.plain for one in self._plain(file, judged=False)]
            checked = [
                one if one.same else replace(one, stable=one.plain.matches(other, ordered=True))
                for one, other in zip(checked, again, strict=True)
            ]
        self._sessions.append((sessions.session_id(session), checked))
        return checked

    def _plain(self, file: SqlFile, *, judged: bool = True) -> Iterator[Checked]:
        session = self.spark.newSession()
        prepare(session, file, self._table_functions)
        judge = Judge(session, self.plans)
        for sql in file.statements:
            before = judge.before(sql) if judged else None
            given, frame = outcome(session, sql)
            one = Checked(file.name, sql, given, given)
            if before is not None and frame is not None:
                try:
                    one = replace(one, judgement=judge.after(before, frame))
                except Exception as error:  # noqa: BLE001  an engine that fails is what is looked for
                    one = replace(one, fault=f"{type(error).__name__}: {error}")
            yield one
        clear(self.spark)

    def _records(self) -> dict[str, list[Recorded]]:
        """By session, in the order in which they began."""
        for table in ("query_history", "access_history"):
            frame = self.spark.read.format("delta").load(str(self.root / table))
            frame.createOrReplaceTempView(f"corpus_{table}")
        rows = self.spark.sql(
            "SELECT q.session_id, q.query_text, q.execution_status, a.analysis, a.captured_by,"
            " a.analysis_reason FROM corpus_query_history q LEFT JOIN corpus_access_history a"
            " ON a.query_id = q.query_id WHERE q.parent_query_id IS NULL ORDER BY q.query_id"
        ).collect()
        found = defaultdict(list)
        for session, *rest in rows:
            found[session].append(Recorded(*rest))
        return found


def _paired(checked: Sequence[Checked], records: Sequence[Recorded]) -> Iterator[Checked]:
    """Each statement with its records: both are in order, and one text may stand in a file twice."""
    left = list(records)
    for at, one in enumerate(checked):
        mine: list[Recorded] = []
        text = redact_sql(one.sql, RedactionRules()).text
        following = checked[at + 1].sql if at + 1 < len(checked) else None
        while left and left[0].text == text and not (mine and following == one.sql):
            mine.append(left.pop(0))
        yield replace(one, recorded=tuple(mine))
