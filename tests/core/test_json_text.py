"""JSON of the spool and the hash of a record, against Python's own `json` and `hashlib`."""

from __future__ import annotations

import hashlib
import json
from datetime import date, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.core.clock import to_datetime, to_iso
from audit.core.json_text import to_json
from audit.record.record_hash import record_hash

WHOLE = st.integers(-(2**63), 2**63 - 1)
LEAVES = st.none() | st.booleans() | WHOLE | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ROWS = st.dictionaries(st.text().filter(lambda key: key not in ("record_hash", "query_date")), VALUES)
SURROGATES = st.text(st.characters(categories=("Cs", "Ll", "Po")), min_size=1)


def plain(value, *, sort_keys=False):
    """The same by Python's `json`, which sorts keys by code point."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)


def without_nulls(value):
    """A value without fields that are None, at every depth; None in a list stays."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_any_value_is_one_line_that_comes_back(value):
    """UTF-8 without a raw newline, from which any reader of JSON gets the same value."""
    text = to_json(value)
    assert b"\n" not in text
    assert b"\r" not in text
    assert json.loads(text) == value


@settings(max_examples=40)
@given(ROWS)
def test_sorted_keys_are_sorted_by_code_point(row):
    """Not by UTF-16, where a character beyond U+FFFF comes before U+FFFF."""
    keys = json.loads(to_json(row, sort_keys=True), object_pairs_hook=lambda pairs: [k for k, _ in pairs])
    assert keys == sorted(row)


def test_no_white_space_and_no_escapes_but_those_that_json_demands():
    """The form that the record's hash is defined on."""
    value = {"\uffff": 1, "\U00010000": 2, "ü": ['"', "\\", "\u2028", "\x7f", "\x00", "/"], "a": {}}
    assert to_json(value, sort_keys=True).decode() == plain(value, sort_keys=True)


@given(SURROGATES, SURROGATES)
def test_lone_surrogates_are_escaped_wherever_they_stand(key, text):
    """A statement must be recordable whatever its text: in keys, in lists and deep inside, too."""

    def told(value):
        return value.encode("utf-8", "backslashreplace").decode()

    found = json.loads(to_json({key: [text, {"x": (text, 1, None, True)}]}))
    assert found == {told(key): [told(text), {"x": [told(text), 1, None, True]}]}


@pytest.mark.parametrize("value", [object(), b"x", {1: 2}, {"a": {1, 2}}, 2**64, -(2**63) - 1, [object()]])
def test_a_value_without_json_form_is_refused(value):
    """Nothing is written that a reader could not tell back."""
    with pytest.raises(TypeError):
        to_json(value)
    with pytest.raises(TypeError):
        to_json({"text": "\udc80", "value": value})


@settings(max_examples=40)
@given(ROWS)
def test_the_hash_is_sha256_over_canonical_json(row):
    """As the docstring defines it, so that anybody can verify a record with the tools of their language."""
    text = plain(without_nulls(row), sort_keys=True)
    assert record_hash(row) == hashlib.sha256(text.encode()).hexdigest()


@settings(max_examples=40)
@given(ROWS, st.randoms(use_true_random=False))
def test_order_and_missing_fields_do_not_matter(row, chance):
    """Two readers of a table give fields in another order, and None for what is missing."""
    items = list(row.items())
    chance.shuffle(items)
    again = {**dict(items), "a column that came later": None}
    assert record_hash(again) == record_hash(row)
    assert record_hash({**row, "record_hash": "x", "query_date": date(2025, 1, 1)}) == record_hash(row)


@given(st.datetimes(timezones=st.just(timezone.utc)), st.integers(-14 * 60, 14 * 60))
def test_a_time_hashes_as_its_text(moment, minutes):
    """The spool holds text, the table timestamps in the reader's zone."""
    text = moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    assert record_hash({"t": moment}) == record_hash({"t": text})
    try:
        there = moment.astimezone(timezone(timedelta(minutes=minutes)))
    except OverflowError:  # before the year 1, or after 9999
        return
    assert record_hash({"t": there}) == record_hash({"t": text})


def test_a_date_is_no_time():
    """A day hashes as its own text, not as its midnight."""
    day, midnight = date(2025, 1, 2), datetime(2025, 1, 2, tzinfo=timezone.utc)
    assert record_hash({"d": day}) == record_hash({"d": "2025-01-02"})
    assert record_hash({"d": day}) != record_hash({"d": midnight})


def test_only_the_top_level_is_left_out():
    """A field inside may be called record_hash and counts."""
    assert record_hash({"a": {"record_hash": "1"}}) != record_hash({"a": {"record_hash": "2"}})
    assert record_hash({"a": {"query_date": "1"}}) != record_hash({"a": {}})


@pytest.mark.parametrize(
    "value",
    [b"x", 1.5, float("nan"), {1}, object(), 2**64, timedelta(1), UUID(int=1)],
    ids=lambda value: type(value).__name__,
)
def test_a_value_of_another_type_has_no_hash(value):
    """Floats have many texts and NaN none: a record that holds one could not be verified elsewhere."""
    for row in ({"a": value}, {"a": [{"b": value}]}):
        with pytest.raises(TypeError):
            record_hash(row)


def test_the_text_of_a_moment_is_the_clocks():
    """One form of a time in the whole record."""
    micros = 1_643_127_467_388_001
    assert record_hash({"t": to_datetime(micros)}) == record_hash({"t": to_iso(micros)})
