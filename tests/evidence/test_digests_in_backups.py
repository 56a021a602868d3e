"""`audit verify --against-backups`: a backup of the log finds a root that was put back as a whole."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext

import pytest
from click.testing import CliRunner

import audit
from audit.cli import main
from tests.s3_server import locked_bucket
from tests.sessions import attached

pytestmark = pytest.mark.spark


@pytest.fixture(params=["disk", "bucket"])
def place(request, tmp_path):
    """Where backups go."""
    with locked_bucket("kept") if request.param == "bucket" else nullcontext():
        yield "s3a://kept/audit" if request.param == "bucket" else str(tmp_path / "backups")


def verify(root, place, code):
    """What the command says; its lines."""
    command = ["verify", "--against-backups", "--json", "--root", str(root)]
    answer = CliRunner().invoke(main, command, env={"AUDIT_BACKUP_LOCATION": place})
    assert answer.exit_code == code, answer.output
    return json.loads(answer.stdout) if code < 2 else answer.stderr


def test_a_root_is_put_back_as_a_whole(spark, tmp_path, place):
    """With the events of its backups: only what lies elsewhere tells."""
    root, before = tmp_path / "root", tmp_path / "before"
    with attached(spark, root, admins="ann", backup_location=place) as session:
        session.sql("SELECT 1").collect()
        audit.flush(session)
        assert "no backup holds account_usage.digests" in verify(root, place, 2)
        shutil.copytree(root, before)
        session.sql("CREATE BACKUP POLICY p WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 30")
        session.sql("CREATE BACKUP SET s FOR TABLE account_usage.digests WITH BACKUP POLICY p")
        session.sql("ALTER BACKUP SET s ADD BACKUP")
        audit.flush(session)
        session.sql("ALTER BACKUP SET s ADD BACKUP")
        session.sql("SELECT 2").collect()
        audit.flush(session)
        assert verify(root, place, 0)[0]["faults"] == 0
    shutil.rmtree(root)
    shutil.copytree(before, root)
    (newest,) = verify(root, place, 1)
    assert newest["fault"].startswith("the log of digests was cut off: it has 4 entries, and had")
    assert place.removeprefix("s3a:") in newest["fault"]
