"""Runs a chain `a ->> b`: each query reads the rows of the statement before it.

In: the parts of the chain, what shows the first of them. Out: the DataFrame of the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.spark.sessions import new_session
from audit.time_travel.errors import NotAQueryError
from lineage.sql.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from audit.spark.handler import Run
    from audit.time_travel.ports import Sessions
    from lineage.sql.commands.time_travel.statement_chain import ChainedStatement


def run_chain(
    parts: Sequence[ChainedStatement],
    spark: SparkSession,
    show: Callable[[str], Any],
    run: Run,
    sessions: Sessions,
) -> Any:
    """Run a chain.

    Args:
        parts: the statements, in order.
        spark: the user's session.
        show: gives the DataFrame of the first part, by its text.
        run: hands a text to Spark.
        sessions: the audited ones.

    Raises:
        NotAQueryError: a part after the first is no query; none has run then.
    """
    first, *rest = parts
    for following in rest:
        if not parse(following.reading_from("shown")).is_query:
            keyword = following.text.split(None, 1)[0] if following.text else "nothing"
            raise NotAQueryError(
                f"->> hands what is shown to {keyword}",
                "let a SELECT follow it, and run other statements by themselves",
            )
    frame = show(first.text)
    # A session of its own: the settings below would change what the user's next statement means.
    session = new_session(spark)
    # Snowflake quotes names by double quotes. Spark (4.2) takes them for names under both settings only.
    for name in ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers"):
        session.conf.set(name, "true")
    with sessions.quiet(session):  # intermediate reads belong to the record of the last query
        # A DataFrame belongs to its session, so the other session gets its rows.
        session.createDataFrame(frame.collect(), frame.schema).createTempView("shown_0")
        for number, following in enumerate(rest[:-1]):
            query = following.reading_from(f"shown_{number}")
            run(session, f"CREATE TEMPORARY VIEW shown_{number + 1} AS {query}")
        return run(session, rest[-1].reading_from(f"shown_{len(rest) - 1}"))
