"""`audit query`: the list of the sample queries, and what is none."""

from __future__ import annotations

import json

from click.testing import CliRunner

from audit.cli import main
from views.query_file import sample, sample_names


def test_without_a_name_the_sample_queries_are_listed():
    """Each with its theme, the question it answers and its parameters, by theme; no Spark is started."""
    answer = CliRunner().invoke(main, ["query", "--json"], catch_exceptions=False)
    listed = json.loads(answer.stdout)
    assert listed == sorted(listed, key=lambda row: (row["theme"], row["name"]))
    assert len({row["theme"] for row in listed}) < len(listed) / 4
    rows = {row["name"]: row for row in listed}
    assert rows["who_read_column"]["theme"] == "reads"
    assert sorted(rows) == sample_names()
    assert rows["who_read_column"]["parameters"] == (
        "object_name=spark_catalog.raw.planes, column_name=seats, days=7"
    )
    assert rows["who_read_column"]["answers"] == sample("who_read_column").question


def test_an_unknown_name_is_an_error_that_lists_the_names():
    """Exit code 2, the code of the error, and what there is."""
    answer = CliRunner().invoke(main, ["query", "who_read_colum"], catch_exceptions=False)
    assert answer.exit_code == 2
    assert "AUDIT_SAMPLE_QUERY_UNKNOWN" in answer.stderr
    assert "who_read_column" in answer.stderr
