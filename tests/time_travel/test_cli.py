"""`audit storage`, `purge` and `failsafe`: on the shell, over the embedded catalog."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import main

pytestmark = [
    pytest.mark.spark,
    pytest.mark.hive("the commands look for the embedded metastore"),
    pytest.mark.long("a JVM of its own with a metastore"),
]


@pytest.fixture(scope="module")
def root(spark):
    """Of the embedded session: where its metastore is."""
    return Path(spark.conf.get("spark.audit.root"))


def answer(*arguments, root):
    """Exit code, what a command says on stdout, and on stderr."""
    found = CliRunner().invoke(main, [*arguments, "--root", str(root)])
    return found.exit_code, found.stdout, found.stderr


def test_storage_by_day(session, schema, root):
    """A day in Time Travel, seven in Fail-safe, then purgeable: as rows, and as a chart."""
    session.sql("CREATE TABLE t AS SELECT id FROM range(1000)")
    session.sql("DELETE FROM t")
    code, said, _ = answer("storage", f"{schema}.t", "--days", "9", "--json", root=root)
    days = json.loads(said)
    freed = days[0]["time_travel"]
    assert (code, len(days), freed > 0) == (0, 10, True)
    assert [day["fail_safe"] for day in days] == [0, *([freed] * 7), 0, 0]
    assert [day["purgeable"] for day in days] == [*([0] * 8), freed, freed]
    code, said, _ = answer("storage", schema, root=root)
    assert (code, "▒ Fail-safe" in said, "▓" in said) == (0, True, True)


def test_storage_of_what_is_not_there(root):
    """It is named; nothing is drawn."""
    code, said, told = answer("storage", "nosuch.t", root=root)
    assert (code, said, "of the name nosuch.t" in told) == (2, "", True)


def test_nothing_to_purge_or_recover(session, schema, root):
    """Said in a line; what a command cannot do is an error with a way out."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("DROP TABLE t")
    code, said, told = answer("purge", "--dry-run", "--json", root=root)
    assert (code, json.loads(said), "Nothing is past" in told) == (0, [], True)
    assert answer("failsafe", "list", root=root)[0] == 0
    code, _, told = answer("failsafe", "restore", f"{schema}.t", root=root)
    assert (code, "audit failsafe list shows what is" in told) == (2, True)


def test_no_catalog(tmp_path):
    """An audit whose metastore is elsewhere: only the catalog knows which tables there are."""
    (tmp_path / "spool").mkdir()
    code, _, told = answer("purge", root=tmp_path)
    assert (code, "hive.metastore.uris" in told) == (2, True)
