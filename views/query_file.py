"""Sample queries, and queries in files of your own: the question, the parameters, how to run one.

In: a `.sql` file. Out: a `Query`. Its question, parameters and defaults are what the file's first comment
says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.errors import AuditError
from audit.spark.unrecorded import unrecorded
from audit.store.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Row, SparkSession

SCHEMA = "account_usage"
_INSTALLED = resources.files("views") / "sample_queries"
# The wheel carries them inside the package; a checkout has them beside it.
_SAMPLES = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[1] / "sample_queries"
_THEME = "Theme: "
_PARAMETER = re.compile(r"-- :(\w+) = ('[^']*'|\d+)(?:[ \t]+(.*))?")


class SampleQueryUnknown(AuditError):
    """A sample query that does not exist."""

    code = "AUDIT_SAMPLE_QUERY_UNKNOWN"


class QueryFileUnreadable(AuditError):
    """A file of SQL that cannot be read."""

    code = "AUDIT_QUERY_FILE_UNREADABLE"


class QueryParameterError(AuditError):
    """A parameter that a query does not have, or that has no value."""

    code = "AUDIT_QUERY_PARAMETER"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `:name` of a query, its default and what it means."""

    name: str
    default: str | int
    meaning: str


@dataclass(frozen=True, slots=True)
class Query:
    """A sample query: the question that its comment begins with, its parameters, its SQL.

    `theme` is what it is about; "" in a file that does not say it.
    """

    name: str
    question: str
    parameters: tuple[Parameter, ...]
    sql: str
    theme: str = ""

    def ask(self, spark: SparkSession, schema: str = SCHEMA, /, **given: str | int) -> list[Row]:
        """Run the query, with its defaults where nothing is given. It is not recorded itself.

        Args:
            spark: an audited session; any other one knows the audit tables and has the views.
            schema: the schema of both, where it is not the usual one.
            given: parameters by name.

        Raises:
            QueryParameterError: the query has no such parameter.
        """
        from audit.attached_sessions import find  # commands that start no Spark import this module, too

        arguments = self.arguments(given)
        text = self.sql.replace(f"{SCHEMA}.", f"{schema}.")
        with unrecorded():
            audited = find(spark)
            # As for a text of the user's: what it names of the audit's is up to date.
            if audited is not None:
                audited.refresh_audit_tables(text)
            # Bound as parameters: a value is never read as SQL.
            return spark.sql(text, args=arguments).collect()

    def arguments(
        self, given: Mapping[str, str | int], also: AbstractSet[str] = frozenset()
    ) -> dict[str, str | int]:
        """What is given, and the defaults of the rest.

        Args:
            given: parameters by name.
            also: names that stand in its SQL and are not declared.

        Raises:
            QueryParameterError: the query has no such parameter, or one without a value.
        """
        declared = {p.name for p in self.parameters}
        missing = also - declared - given.keys()
        if missing:
            first = min(missing)
            raise QueryParameterError(
                f"{self.name} has no value for :{first}",
                f"give --param {first}=VALUE, or a default in its first comment: -- :{first} = 1  meaning",
            )
        unknown = given.keys() - declared - also
        if unknown:
            known = ", ".join(p.name for p in self.parameters) or "none"
            raise QueryParameterError(
                f"{self.name} has no parameter {', '.join(sorted(unknown))}", f"its parameters: {known}"
            )
        return {p.name: p.default for p in self.parameters} | dict(given)


def sample_names() -> list[str]:
    """The names of the sample queries.

    >>> sample_names()[:2]
    ['accesses_that_repeat', 'activity_by_day']
    """
    return sorted(one.name.removesuffix(".sql") for one in _SAMPLES.iterdir() if one.name.endswith(".sql"))


def sample(name: str) -> Query:
    """The sample query of a name.

    Raises:
        SampleQueryUnknown: there is none of that name.

    >>> sample("who_read_column").question
    'Who read a column in the last 7 days, in which statement, and did they name its table?'
    """
    if name not in sample_names():
        known = f"the sample queries are {', '.join(sample_names())}"
        if name in VIEWS:
            known = f"it is a view, {SCHEMA}.{name}: put it into a query, or ask DESCRIBE {SCHEMA}.{name}"
        raise SampleQueryUnknown(f"there is no sample query {name!r}", known)
    return _query(name, (_SAMPLES / f"{name}.sql").read_text(encoding="utf-8"))


def read(path: Path) -> Query:
    """The query of a file.

    Raises:
        QueryFileUnreadable: it is not UTF-8, or may not be read.
    """
    try:
        return _query(path.stem, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise QueryFileUnreadable(
            f"{path} cannot be read ({error})", "save it as UTF-8, readable to you"
        ) from error


def _query(name: str, sql: str) -> Query:
    # The first comment ends where the SQL begins.
    comment = list(takewhile(lambda line: line.startswith("--"), sql.lstrip().splitlines()))
    found = [_PARAMETER.fullmatch(line.rstrip()) for line in comment]
    parameters = tuple(Parameter(one[1], _default(one[2]), one[3] or "") for one in found if one)
    said = [line[3:] for line, one in zip(comment, found, strict=True) if not one and line[3:]]
    themes = [line.removeprefix(_THEME).strip() for line in said if line.startswith(_THEME)]
    text = " ".join(line for line in said if not line.startswith(_THEME))
    question, mark, _ = text.partition("?")
    return Query(name, question + mark, parameters, sql, next(iter(themes), ""))


def _default(text: str) -> str | int:
    return text[1:-1] if text.startswith("'") else int(text)
