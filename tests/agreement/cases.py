"""The fixtures of the text engine, told apart by what Spark can do with them.

In: `tests/lineage/fixtures/*.sql`. Out: those that go through both engines, those that can be run, and for
each of the others the reason why not.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from lineage import parse

_PATH = Path(__file__).parents[1] / "lineage" / "fixtures.py"
_SPEC = importlib.util.spec_from_file_location("lineage_fixtures", _PATH)
fixtures = importlib.util.module_from_spec(_SPEC)
sys.modules.setdefault("lineage_fixtures", fixtures)
_SPEC.loader.exec_module(fixtures)

LEFT_OUT = {
    # Files, by the beginning of a case's name.
    "copy.sql": "Spark has no COPY INTO",
    "other.sql": "commands without a plan of their own, and what Spark refuses",
    "governance.sql": "policies, tags, SWAP and UNDROP are this system's own statements",
    "backups.sql": "Spark has no backups",
    "policies.sql": "Spark has no policies",
    "not_recorded.sql": "Spark knows nothing of what is not to be recorded",
    "scripts.sql": "statements that need those before them to have run",
    "scripts_governance.sql": "Spark has no policies",
    "text_only.sql": "what Spark refuses, and what a text alone shows",
}
REASONS = {
    # Statements, by a part of their text.
    "`odd.tab`": "the metastore takes no dot in a name",
    "count(w.*)": "Spark wants spark.sql.legacy.allowStarWithSingleTableIdentifierInCount for it",
    "SELECT nosuch": "Spark refuses it",
    "FROM gone": "Spark refuses it",
    "IF NOT EXISTS w AS": "an analyzed plan does not tell whether the table is there",
    "DIRECTORY '/out'": "Hadoop puts a scheme before the path",
    "VALUES (t.b)": "Spark evaluates an inline table without the columns around it",
    "VERSION AS OF 3": "the table has no such version",
    "t@v3": "Spark's grammar lacks it",
    "parquet.`s3://": "Spark looks for the file",
    "EXCEPT (st.x)": "partial from text; a reading of the plan decides",
    "GROUP BY 1": "read from the plan",
    "p.people |>": "Spark has no policies",
    "struct(v, 1)": "Spark wants elements of one type",
    "GEOGRAPHY(ANY)": "Spark casts no INT to it",
    "IDENTIFIER(name_of)": "Spark wants a constant",
    "_metadata.*": "files alone have it",
    "VIEW IF NOT EXISTS v1": "an analyzed plan does not tell whether the view is there",
    "MATERIALIZED VIEW": "the session catalog has none",
    "IF NOT EXISTS w CLONE": "a clone is shallow or deep in Spark's grammar",
    "TABLE IF EXISTS gone": "Spark's grammar lacks it",
    "ALTER SCHEMA sales SET": "owner is a reserved property",
    "g(v) > 1": "Spark takes no SQL function in UPDATE",
    "REPLACE ON": "Delta 4.4 takes it from its own API alone",
    "REPLACE USING": "Delta 4.4 takes it from its own API alone",
    "s.run(": "no procedure of that name in Spark's world",
    "uses_f": "a view takes no temporary function, and Python's are temporary",
    "ΑΒΓ": "Spark wants back-ticks around letters beyond ASCII",
    "ON a = x": "ambiguous, and Spark says so",
    "session.vv": "no such variable",
    "REPARTITION(4, nosuch)": "Spark refuses the hint",
    "v = q.x FROM": "Spark's grammar lacks it",
    "TIMESTAMP AS OF '2024": "the table is younger",
    "PARTITION (id = 1)": "Spark makes a condition on the table of a static partition",
    "= :p": "Spark wants the parameter",
    "st:x": "Spark wants a VARIANT",
    "INSERT VALUES (u.a": "Spark's grammar lacks it",
    "SET q.v = (SELECT": "Delta takes no correlated subquery in UPDATE",
    "CONVERT TO DELTA": "read from the text: Delta's API runs no plan for it",
    "DELETE FROM w WHERE id IN (": "Delta takes no subquery in DELETE",
}
NOT_RUN = ("current_timestamp", "delta.`", "S.mixedcase", "arr[a]", "SYSTEM_VERSION")
"""What gives another answer each time, what the world of views lacks (versions too), an index past an end."""

CASES = [case for path in sorted(fixtures.FOLDER.glob("*.sql")) for case in fixtures.cases(path.name)]


def _left_out(case):
    return case.name.split(":")[0] in LEFT_OUT or any(part in case.sql for part in REASONS)


ON_SPARK = [case for case in CASES if not _left_out(case)]
EXCEPTIONS = [
    case
    for case in CASES
    if any(part in case.sql for part in REASONS) and case.name.split(":")[0] not in LEFT_OUT
]
QUERIES = [
    case
    for case in ON_SPARK
    if parse(case.sql.rstrip(";")).is_query and not any(word in case.sql for word in NOT_RUN)
]

VIEWS = (
    "CREATE VIEW v1 AS SELECT a, b + c AS bc FROM t WHERE c > 1",
    "CREATE VIEW v2 AS SELECT * FROM v1",
    "CREATE VIEW deep0 AS SELECT id, v FROM w",
    *(f"CREATE VIEW deep{n} AS SELECT * FROM deep{n - 1}" for n in range(1, 11)),
    "CREATE TEMPORARY VIEW tv AS SELECT a AS aa, bc FROM v2",
    "CREATE FUNCTION tf(lo INT) RETURNS TABLE (one INT, two INT) RETURN SELECT x, k FROM s.u WHERE a > lo",
    "CREATE FUNCTION g(n INT) RETURNS INT RETURN n + (SELECT max(x) FROM s.u)",
)
