"""RESTORE TABLE … TO: a table goes back to what it was, as far as it may be read.

In: the text of a RESTORE, in Delta's words or with AT | BEFORE (…). Out: Delta's own RESTORE of a version. A
point that cannot be read cannot be restored either, and is the same error. Retention is no part of a table's
past: Delta (4.4) brings back the properties of then with the rows, those that say what is kept are put back.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot.tokenizer_core import TokenType

from lineage.cursor import Cursor
from lineage.names import quote_name, sql_name, sql_text
from lineage.tokens import tokenize
from time_travel.clause import Clause, clauses
from time_travel.errors import BadClauseError, NothingToRestoreError, UnknownObjectError
from time_travel.lake import Table
from time_travel.point import evaluate, version_for
from time_travel.retention import DELTAS_FILES, DELTAS_LOG, PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from time_travel.reading import Past

_WITHIN_FILES = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"


def read_restore(text: str) -> Clause | None:
    """What a text restores: the table, and the point that it goes back to; None where it is no RESTORE.

    >>> found = read_restore("RESTORE TABLE s.t TO BEFORE (STATEMENT => '8e5d')")
    >>> found.table, str(found)
    (('s', 't'), "BEFORE (STATEMENT => '8e5d')")

    Raises:
        BadClauseError: a point that cannot be read.
    """
    tokens = [token for token in tokenize(text) or [] if token.token_type is not TokenType.SEMICOLON]
    at = Cursor(tokens, text)
    if not at.take("RESTORE"):
        return None
    at.take("TABLE")
    name = at.name()
    at.take("TO")
    if not name or at.done:
        return None
    # As a read of the table at that point is written.
    read = f"TABLE {sql_name(name)} {text[tokens[at.at].start : tokens[-1].end + 1]}"
    found = clauses(tokenize(read) or [], read)
    if len(found) == 1 and found[0].stop == len(read):
        return found[0]
    raise BadClauseError(
        f"RESTORE TABLE {quote_name(name)} TO cannot go on with {at.span()!r}",
        "write TO VERSION AS OF n, TO TIMESTAMP AS OF '…', or TO AT | BEFORE (… => …)",
    )


@dataclass(frozen=True, slots=True)
class Restore:
    """Brings tables back.

    Attributes:
        past: finds versions, under the rule of each table.
        spark: whose commits carry the statement's id.
    """

    past: Past
    spark: SparkSession

    def table(self, clause: Clause, run: Callable[[str], Any]) -> Any:
        """Let Spark restore the version at a point.

        Args:
            clause: the table and the point.
            run: Spark's own way of a text.

        Raises:
            UnknownObjectError: there is no such table in the session catalog.
            NothingToRestoreError: it is the version of now.
            TimeTravelError: what `version_for` raises of a point that cannot be had.
        """
        lake = self.past.lake
        table = lake.find(clause.table)
        if not isinstance(table, Table):
            what = "no table" if table is None else "a view, not a table,"
            raise UnknownObjectError(
                f"there is {what} {quote_name(clause.table)} that RESTORE could bring back",
                "check its name; what was dropped comes back by UNDROP TABLE",
            )
        asked = evaluate(clause, lake, self.past.now, self.past.clock)
        rule = self.past.rule(table)
        version = version_for(asked, table, lake, rule, self.past.versions_read)
        location = table.location or ""
        state = lake.state(location)
        if state is not None and version == state.latest:
            raise NothingToRestoreError(
                f"{quote_name(table.name)} is at version {version}, which {clause} asks for",
                "there is nothing to restore",
            )
        kept, then = (_kept(lake.properties(location, "", at)) for at in (None, version))
        with _beyond_files(self.spark) if rule.horizon is not None else nullcontext():
            done = run(f"RESTORE TABLE {sql_name(table.name)} TO VERSION AS OF {version}")
        self._keep(table, kept, then)
        return done

    def _keep(self, table: Table, wanted: Mapping[str, str], found: Mapping[str, str]) -> None:
        """Put back what says how long the past is kept: a clone, or a user, counts on it."""
        name = sql_name(table.name)
        pairs = [
            f"{sql_text(key)} = {sql_text(value)}" for key, value in wanted.items() if found.get(key) != value
        ]
        if pairs:
            self.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({', '.join(pairs)})")
        gone = ", ".join(sql_text(key) for key in found if key not in wanted)
        if gone:
            self.spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ({gone})")


@contextmanager
def _beyond_files(spark: SparkSession) -> Iterator[None]:
    """Delta (4.4) refuses a version that was committed before its files' retention, however long it stood."""
    before = spark.conf.get(_WITHIN_FILES, "true")
    spark.conf.set(_WITHIN_FILES, "false")
    try:
        yield
    finally:
        spark.conf.set(_WITHIN_FILES, str(before))


def _kept(properties: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in properties.items()
        if name.startswith(PREFIX) or name in (DELTAS_FILES, DELTAS_LOG)
    }
