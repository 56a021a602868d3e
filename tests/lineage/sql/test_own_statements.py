"""Which statements are this project's own, and the words that a parser looks for first."""

from __future__ import annotations

import re

import pytest

from lineage.sql.own_statements import WORDS, is_own
from lineage.sql.parse import parse

from .forms import FORMS, QUERIES

FOUND = re.compile(WORDS, re.IGNORECASE)
# Forms that Spark knows, and runs as they are.
SPARKS = {
    "ADD", "ANALYZE", "CACHE", "CALL", "CLEAR", "COMMENT", "CONVERT", "DECLARE", "EXECUTE", "EXPLAIN", "LIST",
    "MSCK", "OPTIMIZE", "REFRESH", "REORG", "REPAIR", "RESET", "SET", "UNCACHE",
}  # fmt: skip


@pytest.mark.parametrize(
    "text", [text for text in (*FORMS, *QUERIES) if is_own(parse(text)) or parse(text).points]
)
def test_a_statement_of_ours_holds_one_of_the_words(text):
    """Else Spark's parser would not ask about it."""
    assert FOUND.search(text)
    assert FOUND.search(text.lower())


@pytest.mark.parametrize("text", [text for text in FORMS if text.split()[0] in SPARKS])
def test_statements_of_sparks_are_not_ours(text):
    """Those whose first word is never ours."""
    assert not is_own(parse(text))


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("DROP TABLE t", True),
        ("DROP TEMPORARY FUNCTION f", False),
        ("DROP TEMPORARY VARIABLE x", False),
        ("SHOW TABLES", False),
        ("SHOW TABLES HISTORY", True),
        ("USE ROLE r", True),
        ("USE s", False),
        ("CREATE TABLE t (a INT)", False),
        ("CREATE TABLE t (a INT MASKING POLICY p)", True),
        ("CREATE TABLE t CLONE u", True),
        ("CREATE TRANSIENT TABLE t (a INT)", True),
        ("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 3", True),
        ("CREATE SCHEMA s OPTIONS (max_time_travel_hours = 72)", True),
        ("CREATE SCHEMA s COMMENT 'TRANSIENT'", False),
        ("ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')", False),
        ("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 1", True),
        ("VACUUM t", True),
        ("INSERT INTO t SELECT 1", False),
        ("COPY INTO t FROM '/p' FILEFORMAT = CSV", True),
    ],
)
def test_which_are_ours(text, own):
    """What would be run otherwise by Spark alone is."""
    assert is_own(parse(text)) is own


def test_ordinary_text_holds_no_word():
    """So that it costs a search alone."""
    text = (
        "SELECT a.id, sum(b.x) FROM t a JOIN u b ON a.id = b.id WHERE a.z > 10 GROUP BY a.id ORDER BY 2 DESC"
    )
    assert not FOUND.search(text)
    assert not FOUND.search(
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
