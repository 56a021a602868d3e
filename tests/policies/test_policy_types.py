"""Types of policies: Snowflake's and Spark's names for one type, and which policy may mask which column."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.policies.model.types import fits, kind_of, spark_type

NAMES = {
    "STRING": "STRING string VARCHAR varchar(10) CHAR CHAR(3) CHARACTER(5) TEXT NVARCHAR(9) STRING(16)",
    "BINARY": "BINARY VARBINARY varbinary(8) BYTES BINARY(4)",
    "INT": "INT integer Integer",
    "BIGINT": "BIGINT long INT64",
    "SMALLINT": "SMALLINT short",
    "TINYINT": "TINYINT byte",
    "DOUBLE": "DOUBLE FLOAT64",
    "FLOAT": "FLOAT REAL",
    "BOOLEAN": "BOOLEAN BOOL",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP TIMESTAMP_TZ TIMESTAMP_LTZ timestamp_ltz(9)",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ DATETIME",
    "DECIMAL(38,0)": "NUMBER NUMERIC decimal(38,0) number(38,0)",
    "ARRAY<INT>": "ARRAY<INT> array<int>",
    "STRUCT<a: INT, b: STRING>": "STRUCT<a:INT,b:STRING>",
    "VARIANT": "VARIANT",
}


@pytest.mark.parametrize(
    ("of_column", "names"), [(kind, name) for kind, names in NAMES.items() for name in names.split()]
)
def test_a_policy_fits_its_type_under_every_name(of_column, names):
    """Whatever a type is called, its policy masks columns of that type, by itself and by a tag."""
    assert fits(names, of_column)
    assert kind_of(names) == kind_of(of_column)


@pytest.mark.parametrize("of_policy", NAMES)
def test_a_policy_fits_no_other_type(of_policy):
    """A policy of one type masks no column of another one, neither by itself nor by a tag."""
    others = [kind for kind in NAMES if kind != of_policy]
    assert [kind for kind in others if fits(of_policy, kind) or kind_of(of_policy) == kind_of(kind)] == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("  varchar ( 10 ) ", "STRING"),
        ("NUMBER(10, 2)", "DECIMAL(10, 2)"),
        ("numeric", "DECIMAL(38,0)"),
        ("DECIMAL", "DECIMAL"),
        ("map<string, int>", "map<string, int>"),
        ("INTERVAL DAY TO SECOND", "INTERVAL DAY TO SECOND"),
        ("größe", "größe"),
        ("", ""),
    ],
)
def test_spark_is_asked_in_its_own_words(written, meant):
    """Snowflake's names become Spark's; what Spark knows, and what nobody knows, stays as it is."""
    assert spark_type(written) == meant


DIGITS = st.integers(1, 38).flatmap(lambda whole: st.tuples(st.just(whole), st.integers(0, whole)))


@given(DIGITS, DIGITS)
def test_a_decimal_fits_where_no_digit_is_lost(of_policy, of_column):
    """A policy's decimal fits a column whose digits it all has, before the point and behind it."""
    (wide, behind), (narrow, small) = of_policy, of_column
    keeps_all = wide - behind >= narrow - small and behind >= small
    assert fits(f"DECIMAL({wide},{behind})", f"decimal({narrow},{small})") == keeps_all
    assert fits(f"NUMBER({wide}, {behind})", f"dec({narrow},{small})") == keeps_all
    assert kind_of(f"NUMBER({wide}, {behind})") == kind_of(f"decimal({narrow},{small})") == "decimal"


@settings(max_examples=50)
@given(st.text(max_size=30))
def test_any_text_has_one_kind(text):
    """Whatever is written for a type, its kind is the kind of Spark's word for it, and it fits itself."""
    assert kind_of(spark_type(text)) == kind_of(text)
    assert fits(text, text)
