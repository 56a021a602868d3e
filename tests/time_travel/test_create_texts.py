"""What is put into the text of a CREATE, and what is taken out of it."""

from __future__ import annotations

import pytest

from audit.time_travel.clones.create import properties_of, with_properties
from audit.time_travel.clones.staged_create import texts_of
from audit.time_travel.errors import BadParameterError
from lineage.sql.parse import typed_of

DAYS = "timeTravel.dataRetentionTimeInDays"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        (
            "CREATE TRANSIENT TABLE t DATA_RETENTION_TIME_IN_DAYS = 0 USING delta",
            f"CREATE TABLE t USING delta TBLPROPERTIES ('timeTravel.transient' = 'true', '{DAYS}' = '0')",
        ),
        (
            "CREATE TABLE t (a INT) TBLPROPERTIES ('x' = 'y') DATA_RETENTION_TIME_IN_DAYS=3; -- end",
            f"CREATE TABLE t (a INT) TBLPROPERTIES ('{DAYS}' = '3', 'x' = 'y'); -- end",
        ),
        (
            "CREATE SCHEMA s OPTIONS (max_time_travel_hours = 96) COMMENT 'c' -- end",
            "CREATE SCHEMA s COMMENT 'c' WITH DBPROPERTIES ('timeTravel.maxTimeTravelHours' = '96') -- end",
        ),
        (
            "CREATE TRANSIENT NAMESPACE s",
            "CREATE NAMESPACE s WITH DBPROPERTIES ('timeTravel.transient' = 'true')",
        ),
        ("CREATE TABLE t (a INT);", "CREATE TABLE t (a INT);"),
    ],
)
def test_snowflakes_words_become_properties(text, sent):
    """Before a semicolon and a comment at the end."""
    create = typed_of(text)
    assert with_properties(text, create, properties_of(create)) == sent


def test_a_table_is_made_by_its_path_first():
    """Without its place, its policies' words and what Spark does not know."""
    text = "REPLACE TRANSIENT TABLE s.t LOCATION '/y' DATA_RETENTION_TIME_IN_DAYS = 1 AS SELECT 1 AS a;"
    texts = texts_of(text, typed_of(text), "/x", {"k": "v"})
    assert " ".join(texts.create.split()) == (
        "CREATE TABLE `delta`.`/x` USING delta TBLPROPERTIES ('k' = 'v') AS SELECT * FROM ( SELECT 1 AS a )"
        " WHERE false"
    )
    assert texts.fill == "INSERT INTO `delta`.`/x` SELECT 1 AS a"
    text = "CREATE TABLE t (a INT, b INT)"
    texts = texts_of(text, typed_of(text), "/x", {})
    assert (texts.fill, texts.kind) == (None, "CreateTable")


@pytest.mark.parametrize("days", ["91", "-1", "x"])
def test_a_retention_that_cannot_be_is_refused(days):
    """The error says what can."""
    with pytest.raises(BadParameterError, match="0 to 90"):
        properties_of(typed_of(f"CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = {days}"))
    with pytest.raises(BadParameterError, match="0 to 1"):
        properties_of(typed_of("CREATE TRANSIENT SCHEMA s DATA_RETENTION_TIME_IN_DAYS = 2"))
