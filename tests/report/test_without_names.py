"""A report that names nobody."""

from __future__ import annotations

import json
import re

import pytest

from audit.report.forms.data import as_csv, as_json
from audit.report.forms.html import page
from audit.report.names import LEFT_OUT, Pseudonyms

from .conftest import made
from .roots import DAYS, HOSTILE

KEY = b"a key"


@pytest.fixture(scope="module")
def names(tables):
    """The pseudonyms of the root."""
    return Pseudonyms.of(tables, KEY)


@pytest.mark.parametrize(("kind", "pack"), [(None, "sox"), ("user", None), ("object", None)])
def test_no_name_is_left(kind, pack, tables, names):
    """In no figure and no format: not in a purpose, not in a statement, not in the SQL, not in the title."""
    report = made(tables, kind, pack=pack, names=names)
    for text in (page(report), as_csv(report), as_json(report)):
        words = re.findall(r"\w+", text)
        assert not {"ann", "bob", "svc"} & set(words)
        assert "gpj.exe" not in text


def test_purposes_and_dates_are_there(tables, names):
    """They are owed; a name inside a purpose has its pseudonym."""
    report = made(tables, "sensitive-data", names=names)
    figure = report.figure("protected_data_shown")
    row = dict(zip(figure.columns, figure.rows[1], strict=True))
    assert row["purpose"] == f"case 4711 of {names.pseudonym('bob')}"
    assert row["user_name"] == names.pseudonym("ann")
    assert (row["query_text"], str(row["query_start_time"])) == (LEFT_OUT, "2026-11-05 13:00:00")


def test_pseudonyms_are_stable_and_need_the_key():
    """The same key gives the same, another one others."""
    one, same, other = (Pseudonyms(key, frozenset()).pseudonym(HOSTILE) for key in (KEY, KEY, b"another"))
    assert one == same != other


def test_the_numbers_are_the_same(tables, names, report):
    """A pseudonym stands for one user."""
    plain, without = report("access"), made(tables, "access", names=names)
    assert [row[1] for row in plain.figure("top_readers").rows] == [
        row[1] for row in without.figure("top_readers").rows
    ]


def test_the_sql_takes_the_name_as_a_parameter(tables, names):
    """Who may see the name gives it, and gets what the report shows."""
    report = made(tables, "user", names=names)
    summary = report.figure("user_summary")
    assert ":user_name" in summary.sql
    assert tables.ask(summary.sql, {"user_name": "bob"}).rows == list(summary.rows)


def test_the_key_is_that_of_the_root(root, run, tmp_path):
    """Two runs give the same pseudonyms."""
    texts = []
    for name in ("a.json", "b.json"):
        path = tmp_path / name
        assert run("user", "bob", *DAYS, "--without-names", "-o", path)[0] == 0
        texts.append(json.loads(path.read_text())["title"])
    assert texts[0] == texts[1]
    assert re.fullmatch(r"What user-[0-9a-f]{8} did", texts[0])
