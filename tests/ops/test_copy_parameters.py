"""The parameters of COPY INTO: what each becomes in Spark, and what is refused before anything runs."""

from __future__ import annotations

import pytest

import lineage
from audit.copy_into import CopyOptions, read_parameters
from audit.core.errors import CopyError


def parameters(text):
    """The parameters of a COPY INTO from a path."""
    return read_parameters(lineage.parse(f"COPY INTO t FROM '/p' {text}").tree)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", CopyOptions()),
        # Snowflake: options of a format, between blanks or commas.
        ("FILE_FORMAT = (TYPE = PARQUET)", CopyOptions("parquet")),
        ("FILE_FORMAT = (TYPE = 'Json')", CopyOptions("json")),
        ("file_format = (type = csv field_delimiter = '|')", CopyOptions("csv", {"sep": "|"})),
        ("FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1)", CopyOptions("csv", {"header": "true"})),
        ("FILE_FORMAT = (TYPE = CSV SKIP_HEADER = 0)", CopyOptions("csv", {"header": "false"})),
        ("FILE_FORMAT = (TYPE = CSV NULL_IF = 'NA')", CopyOptions("csv", {"nullValue": "NA"})),
        ("FILE_FORMAT = (TYPE = CSV NULL_IF = ('NA'))", CopyOptions("csv", {"nullValue": "NA"})),
        (
            "FILE_FORMAT = (TYPE = CSV FIELD_OPTIONALLY_ENCLOSED_BY = '\"' ESCAPE = '^' COMPRESSION = GZIP)",
            CopyOptions("csv", {"quote": '"', "escape": "^", "compression": "GZIP"}),
        ),
        ("FILE_FORMAT = (TYPE = JSON MULTI_LINE = TRUE)", CopyOptions("json", {"multiLine": "true"})),
        # Databricks: Spark's own options, as they are.
        ("FILEFORMAT = XML FORMAT_OPTIONS ('rowTag' = 'r')", CopyOptions("xml", {"rowTag": "r"})),
        (
            "FILEFORMAT = CSV FORMAT_OPTIONS ('header' = 'true', 'sep' = ';')",
            CopyOptions("csv", {"header": "true", "sep": ";"}),
        ),
        ("FILES = ('a.csv', 'b c.csv')", CopyOptions(files=("a.csv", "b c.csv"))),
        (r"FILES = ('it\'s')", CopyOptions(files=("it's",))),
        ("OVERWRITE = TRUE", CopyOptions(overwrite=True)),
        ("OVERWRITE = FALSE HEADER = TRUE", CopyOptions(options={"header": "true"})),
    ],
)
def test_a_parameter_has_its_counterpart_in_spark(text, expected):
    """Whatever the case of its letters; CSV is the format where none is named, as in Snowflake."""
    assert parameters(text) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ON_ERROR = CONTINUE", "ON_ERROR"),
        ("PATTERN = '.*'", "PATTERN"),
        ("PURGE = TRUE", "PURGE"),
        ("FILE_FORMAT = (TYPE = XLSX)", "the format XLSX"),
        ("FILEFORMAT = XLSX", "the format XLSX"),
        ("FILE_FORMAT = (FORMAT_NAME = 'mine')", "FORMAT_NAME = mine"),
        ("FILE_FORMAT = 'mine'", "FILE_FORMAT = mine"),
        ("FILE_FORMAT = mine", "FILE_FORMAT = mine"),
        ("FILE_FORMAT = (TYPE = CSV SKIP_HEADER = 2)", "SKIP_HEADER = 2"),
        ("FILE_FORMAT = (TYPE = CSV TRIM_SPACE = TRUE)", "TRIM_SPACE = true"),
        ("FILE_FORMAT = (TYPE = CSV NULL_IF = ('NA', 'NULL'))", "the value \"('NA', 'NULL')\""),
        ("FILE_FORMAT = (TYPE = CSV NULL_IF = ())", "the value '()'"),
        ("FILE_FORMAT = (TYPE = CSV SKIP_HEADER = -1)", "the value '-1'"),
        ("FILES = ('a' || 'b')", "the value"),
        ("FILEFORMAT = CSV COPY_OPTIONS ('mergeSchema' = 'true')", "mergeSchema"),
    ],
)
def test_what_spark_cannot_do_is_refused(text, named):
    """The error names it and the way out; nothing is left out in silence."""
    with pytest.raises(CopyError, match="COPY INTO") as raised:
        parameters(text)
    assert named in raised.value.problem
    assert raised.value.way_out
