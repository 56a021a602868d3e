"""SQL text is read by `lineage.sql` alone: no pattern of `re` decides what a statement says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("audit", "lineage", "views") for path in sorted((ROOT / folder).rglob("*.py"))]

NO_SQL = {
    "audit/analysis/analyst.py": "numbers of expressions in the text of a plan",
    "audit/analysis/streams.py": "the number of a micro-batch in Spark's description of an execution",
    "audit/analysis/work_items.py": "the description of a streaming sink",
    "audit/cli/on_record.py": "a pattern of the configuration, for `lineage.sql.redaction`",
    "audit/core/config.py": "values of settings, names of folders",
    "audit/core/file_paths.py": "schemes of paths",
    "audit/core/ids.py": "a query id",
    "audit/evidence/signed_note.py": "the name of a key",
    "audit/query/digests/held.py": "checkpoints in a file",
    "audit/exchange/names.py": "the scheme, host and path of a location",
    "audit/exchange/openlineage/jobs.py": "the version of PySpark in client_version",
    "audit/record/aggregation.py": "the ids of attributes in the text of a plan",
    "audit/report/binding.py": "the parameters of a figure's SQL, which is the project's own",
    "audit/report/forms/charts.py": "ids inside a drawing",
    "audit/report/forms/html.py": "where a long name may be broken",
    "audit/report/forms/picture.py": "the size of a drawing",
    "audit/report/names.py": "the names of users, which get pseudonyms",
    "audit/spark/embedded/java.py": "what `java -version` prints",
    "audit/spark/plans/executions.py": "the run id of a stream in Spark's description of an execution",
    "audit/spark/redaction_patterns.py": "patterns of Spark's settings, for `lineage.sql.redaction`",
    "audit/spool/liveness.py": "a driver's id, a file's name",
    "audit/spool/parts.py": "the ids of parts in a record of the spool",
    "audit/spool/segment.py": "the head of a record of the spool",
    "audit/store/days/summary.py": "the day in the path of a file",
    "audit/store/delta_files.py": "names of files of Delta's log",
    "audit/store/views.py": "the marked parts of a view's text",
    "audit/time_travel/clones/create.py": "a name that becomes part of a path",
    "audit/time_travel/retention/periods.py": "an interval among a table's properties",
    "audit/time_travel/retention/storage.py": "names of files of Delta's log",
    "audit/time_travel/versions/point_arguments.py": "an argument of Python that may be a query id",
    "audit/time_travel/versions/version_lookup.py": "a query id",
    "lineage/foreign_names.py": "the URL of a database",
    "lineage/sql/redaction/any_text.py": "text that is no SQL: messages, comments, what a literal holds",
    "lineage/sql/redaction/redacted.py": "a message that quotes a value",
    "views/query_file.py": "comments at the head of a sample query's file, before its SQL",
}
ONE_WORD = {
    "audit/policies/model/types.py": "the name of a data type",
    "audit/time_travel/versions/timestamp_eval.py": "the value of a string literal: ISO 8601, RFC 2822",
    "lineage/names.py": "a dotted name",
    "lineage/sql/commands/time_travel/at_before.py": "a token behind @: v3; whether a text has such a word",
    "lineage/sql/like_patterns.py": "the pattern of a SHOW … LIKE, made into one of `re`",
    "lineage/sql/redaction/rules.py": "the name of an option or column; the form of a key or token",
    "lineage/sql/syntax/spark_syntax.py": "a token behind @: v3",
}
TOKENS = {
    "audit/copy_into.py": "the tree of the query in a COPY INTO",
    "audit/cli/answers/query.py": "a file of SQL is cut at its semicolons",
    "audit/policies/statements/attach_policy.py": "which columns the expression of a mask names",
    "audit/policies/statements/bigquery_row_policy.py": "which columns the expression of a row policy names",
    "audit/query/description.py": "what a DESCRIBE names; a type of DuckDB as one of Spark",
    "audit/query/tables.py": "a view's columns and query; the tables and parameters of DuckDB's SQL",
    "audit/query/translation.py": "a query of Spark's SQL, made into DuckDB's",
    "audit/report/subject/condition.py": "the conditions of a statement on record, as an auditor reads them",
    "audit/report/subject/key.py": "a comparison of a column with a literal, as a person's key",
    "audit/report/subject/replay.py": "a condition as a query of DuckDB's",
    "audit/time_travel/versions/replay.py": "where functions stand in a query on record",
    "audit/time_travel/versions/timestamp_eval.py": "the expression of a point in time",
}


def imports(path):
    """The modules that a file imports, at its top or in a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def importers(*modules, outside=""):
    """The files that import one of some modules, except those in a folder."""
    return {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if any(name == one or name.startswith(f"{one}.") for name in imports(path) for one in modules)
        and not (outside and path.is_relative_to(ROOT / outside))
    }


def test_patterns_read_no_statement():
    """Who uses `re` is listed with what it reads; a statement is none of that: give it a typed value."""
    assert importers("re", "regex") == NO_SQL.keys() | ONE_WORD.keys()


def test_tokens_are_read_in_lineage():
    """Outside of `lineage`, tokens and trees are read in a few places, none of which tells kinds apart."""
    found = importers("sqlglot", "lineage.sql.tokens", "lineage.sql.cursor", outside="lineage")
    assert found == TOKENS.keys()


@pytest.mark.parametrize("listed", [NO_SQL, ONE_WORD, TOKENS])
def test_each_exception_has_a_reason(listed):
    """The lists name files that are there."""
    assert all((ROOT / path).is_file() and reason for path, reason in listed.items())
