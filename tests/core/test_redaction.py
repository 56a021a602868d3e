"""What a record loses, and what it keeps, without Spark."""

from __future__ import annotations

import json

import pytest

from audit.record.access_record import Ended, Finding, Started
from audit.record.redaction import Redaction
from lineage import MemoryCatalog, analyze, parse
from lineage.model import Access
from lineage.sql.redaction.rules import PLACEHOLDER, RedactionRules

CATALOG = MemoryCatalog({"s.t": {"a": "int"}}, current_schema="s")
KEYS = Redaction(RedactionRules(), lambda: b"a key")
ALL = Redaction(RedactionRules(literals=True), lambda: b"a key")
MARK = "hunter2"


def started(text, **more):
    """The start of a statement."""
    return Started("q", 0, "ann", text, "X", "sql", is_sql=True, database_name="c", schema_name="s", **more)


def row(redaction, text, message=None):
    """The record of a text, as a driver writes it."""
    ended = Ended("FAIL" if message else "SUCCESS", 1, None, message)
    finding = None if message else Finding(analyze(text, CATALOG), "text")
    return redaction.row(redaction.started(started(text)), ended, finding, parse(text))


DDL = {
    f"ALTER TABLE t SET TBLPROPERTIES ('my.password' = '{MARK}', 'x' = 'kept')": True,
    f"ALTER TABLE t SET TBLPROPERTIES ('url' = 'jdbc:h2:{MARK}', 'x' = 'kept')": True,
    f"CREATE TAG g ALLOWED_VALUES '{MARK}', 'other'": False,
    f"CREATE MASKING POLICY p AS (v STRING) RETURNS STRING -> concat(v, '{MARK}')": False,
    f"COMMENT ON TABLE t IS 'about {MARK}'": False,
    f"ALTER TABLE t SET TAG g = '{MARK}'": False,
    f"CREATE TAG g COMMENT = 'password={MARK}'": True,
}


@pytest.mark.parametrize(("text", "of_key"), DDL.items())
def test_the_properties_of_ddl_lose_what_the_text_loses(text, of_key):
    """Values of secret options with `keys`, what comes from a literal with `literals`."""
    assert MARK not in str(row(ALL, text))
    assert (MARK not in str(row(KEYS, text))) == of_key
    if "kept" in text:
        (access,) = row(KEYS, text)["access"]
        assert json.loads(access["object_modified_by_ddl"]["properties"])["properties"]["x"] == {
            "value": "kept"
        }


def test_a_column_keeps_its_name_whatever_a_literal_says():
    """Names are told, literals are not."""
    (access,) = row(ALL, "ALTER TABLE t ADD COLUMN b STRING COMMENT 'b'")["access"]
    assert [*json.loads(access["object_modified_by_ddl"]["properties"])["columns"]] == ["b"]


def test_names_lose_passwords_alone():
    """Of paths: in objects, edges and in what a failed statement has tried."""
    text = f"COPY INTO t FROM 'wasb://ann:{MARK}@host/kept' FILEFORMAT = PARQUET"
    for found in (row(KEYS, text), row(KEYS, text, f"no host in wasb://ann:{MARK}@host/kept")):
        assert MARK not in str(found)
        assert f"wasb://ann:{PLACEHOLDER}@host/kept" in str(found)


def test_a_text_is_redacted_once():
    """The worker redacts again what the caller's thread has; hashes and text stay."""
    once = KEYS.started(started(f"SET a.password={MARK}"))
    assert KEYS.started(once) == once
    assert row(KEYS, f"SET a.password={MARK}", "failed")["query"]["query_hash"] == once.query_hash
    plain = KEYS.started(started("SELECT 1"))
    assert (plain.query_hash, plain.query_text) == (None, "SELECT 1")


def test_hashes_group_and_tell_nothing():
    """Equal texts have equal hashes, under a key; texts of one form share the parameterized one."""
    one, two, again = (KEYS.started(started(f"SET a.password={value}")) for value in ("x1", "x2", "x1"))
    assert one.query_hash == again.query_hash != two.query_hash
    assert one.query_parameterized_hash == two.query_parameterized_hash
    assert one.query_hash != parse("SET a.password=x1").query_hash
    other = Redaction(RedactionRules(), lambda: b"another").started(started("SET a.password=x1"))
    assert other.query_hash != one.query_hash


def test_reasons_and_messages_lose_what_they_quote():
    """The parser's words, Spark's text, an error of the analysis."""
    text = f"SELECT '{MARK}' AS password FROM"
    access = Access("SELECT", analysis="opaque", reason=f"not parsed at '{MARK}'")
    found = KEYS.row(started(text), Ended("SUCCESS", 1), Finding(access, "text"), parse(text))
    assert found["access"][0]["analysis_reason"] == f"not parsed at '{PLACEHOLDER}'"
    message = f"[CAST_INVALID_INPUT] The value '{MARK}' of the type \"STRING\""
    assert MARK in KEYS.ended(Ended("FAIL", 1, None, message), "SELECT a FROM t").error_message
    assert MARK not in ALL.ended(Ended("FAIL", 1, None, message), "SELECT a FROM t").error_message


def test_values_of_parameters_are_as_secret_as_literals_in_their_places():
    """By name and by place: of a secret name, or all of them."""
    for text, arguments in (
        ("SELECT a FROM t WHERE password = :p AND b = :q", {"p": MARK, "q": "kept"}),
        ("SELECT a FROM t WHERE password = ? AND b = ?", [MARK, "kept"]),
        ("SELECT a FROM t WHERE a = :token AND b = :q", {"token": MARK, "q": "kept"}),
    ):
        ended = Ended("FAIL", 1, None, f'The value {MARK} of the type "STRING", and kept\n== SQL ==\n{text}')
        told = KEYS.ended(ended, text, arguments).error_message
        assert MARK not in told
        assert "kept" in told
        assert MARK in KEYS.ended(ended, text).error_message
        told = ALL.ended(ended, text, arguments).error_message
        assert MARK not in told
        assert "kept" not in told


def test_what_cannot_be_redacted_is_not_told(monkeypatch):
    """A mistake of ours costs the text, not the statement, and not the secret."""

    def broken(*_):
        raise ValueError("a bug")

    monkeypatch.setattr("audit.record.redaction.redact_sql", broken)
    assert KEYS.started(started(f"SET a.password={MARK}")).query_text == PLACEHOLDER
    ended = KEYS.ended(Ended("FAIL", 1, None, f"near SET a.password={MARK}"), f"SET a.password={MARK}")
    assert MARK not in ended.error_message
