"""The sample queries as files: what each asks, what it may be given, how it is run.

In: the name of a `.sql` file beside this one. Out: a `Query`, whose parameters and defaults are read
from its first comment, so that what the comment says is what runs.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import audit
import views

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

SCHEMA = "account_usage"
FOLDER = Path(__file__).parent
_PARAMETER = re.compile(r"^-- :(\w+) = ('[^']*'|\d+)\s+(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `:name` of a query, its default and what it means."""

    name: str
    default: str | int
    meaning: str


@dataclass(frozen=True, slots=True)
class Query:
    """A sample query: the question that its comment begins with, its parameters, its SQL."""

    name: str
    question: str
    parameters: tuple[Parameter, ...]
    sql: str

    def ask(self, spark: SparkSession, schema: str = SCHEMA, /, **given: str | int) -> list[Row]:
        """Run the query, with its defaults where nothing is given. It is not recorded itself.

        Args:
            spark: a session that knows the audit tables and has the views.
            schema: the schema of both, where it is not the usual one.
            given: parameters by name.
        """
        unknown = given.keys() - {p.name for p in self.parameters}
        if unknown:
            raise KeyError(f"{self.name} has no parameter {', '.join(sorted(unknown))}")
        arguments = {p.name: given.get(p.name, p.default) for p in self.parameters}
        with audit.suppress():
            if views.catalog.NAME in self.sql:
                views.register_catalog(spark, without=(schema,))
            return spark.sql(self.sql.replace(f"{SCHEMA}.", f"{schema}."), args=arguments).collect()


def load(name: str) -> Query:
    """The query of a file, by its name without `.sql`."""
    sql = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    comment = " ".join(line[3:] for line in sql.splitlines() if line.startswith("-- "))
    parameters = tuple(Parameter(n, ast.literal_eval(d), m) for n, d, m in _PARAMETER.findall(sql))
    return Query(name, comment[: comment.index("?") + 1], parameters, sql)


def names() -> list[str]:
    """The names of all sample queries."""
    return sorted(path.stem for path in FOLDER.glob("*.sql"))
