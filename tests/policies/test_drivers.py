"""Two drivers on one root: what one changes, the next statement of the other obeys."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from audit import attached_sessions


@pytest.mark.slow("another driver, with its JVM")
def test_the_next_statement_of_another_driver(session, schema, tmp_path):
    """Policies set, changed and taken off in either; each sees them by Delta's id of the table."""
    session.sql("CREATE TABLE t (id INT, ssn STRING)")
    session.sql("INSERT INTO t VALUES (1, '111')")
    place = session.sql("DESCRIBE DETAIL t").first().location
    root = attached_sessions.find(session).services.config.root
    command = [sys.executable, "-m", "tests.policies.other_driver", root, str(tmp_path), place]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as other:

        def there(text):
            other.stdin.write(text + "\n")
            other.stdin.flush()
            return json.loads(other.stdout.readline())

        def here():
            return session.sql("SELECT ssn FROM t").first().ssn

        ask = "SELECT ssn FROM t"
        assert [there(ask), here()] == [[["111"]], "111"]
        there("CREATE MASKING POLICY m AS (v STRING) RETURNS STRING -> 'there'")
        there("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
        assert [here(), there(ask)] == ["there", [["there"]]]
        session.sql("ALTER MASKING POLICY default.m SET BODY -> 'here'")
        assert [there(ask), here()] == [[["here"]], "here"]
        there("ALTER TABLE t ALTER COLUMN ssn UNSET MASKING POLICY")
        assert [here(), there(ask)] == ["111", [["111"]]]
        other.stdin.close()
    assert other.returncode == 0
    session.sql("DROP MASKING POLICY default.m")
