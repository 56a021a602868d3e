"""A driver that ends without `audit.detach` or `audit.flush` has ingested all that it recorded."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from .helpers import read, statements

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("threads", ["starts", "starts none"])
def test_a_driver_ends(spark, tmp_path, threads):
    """Nothing waits in its spool, and it has nothing to say."""
    command = [sys.executable, "-m", "tests.ops.exiting", str(tmp_path), threads]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "Warning" not in done.stderr
    spool = tmp_path / "audit" / "spool"
    assert [*spool.glob("*/sealed/*"), *spool.glob("*/journal/*")] == []
    users = Counter(row.user_name for row in statements(spark, tmp_path / "audit"))
    assert users == Counter(user0=1, user1=1, user2=1)
    assert len(read(spark, tmp_path / "audit", "access_history")) == 3
