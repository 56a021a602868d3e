"""Queries as files: what each asks, what it may be given, how it is run.

In: a `.sql` file. Out: a `Query`, whose question, parameters and defaults are read from its first
comment, so that what the comment says is what runs.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import audit
from views import catalog

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

SCHEMA = "account_usage"
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

        Raises:
            KeyError: the query has no such parameter.
        """
        arguments = self.arguments(given)
        with audit.suppress():
            if catalog.NAME in self.sql:
                catalog.register_catalog(spark, without=(schema,))
            return spark.sql(self.sql.replace(f"{SCHEMA}.", f"{schema}."), args=arguments).collect()

    def arguments(self, given: Mapping[str, str | int]) -> dict[str, str | int]:
        """What is given, and the defaults of the rest.

        Raises:
            KeyError: the query has no such parameter.
        """
        unknown = given.keys() - {p.name for p in self.parameters}
        if unknown:
            raise KeyError(f"{self.name} has no parameter {', '.join(sorted(unknown))}")
        return {p.name: given.get(p.name, p.default) for p in self.parameters}


def read(path: Path) -> Query:
    """The query of a file."""
    sql = path.read_text(encoding="utf-8")
    comment = " ".join(line[3:] for line in sql.splitlines() if line.startswith("-- "))
    parameters = tuple(Parameter(n, ast.literal_eval(d), m) for n, d, m in _PARAMETER.findall(sql))
    question, mark, _ = comment.partition("?")
    return Query(path.stem, question + mark, parameters, sql)
