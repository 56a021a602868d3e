"""The configuration of the last attach, which several drivers compare and write at once."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from audit.spool.home import changed_configuration


def test_drivers_at_once(tmp_path):
    """None fails, and each change is told once: every one is undone before it is made again."""
    values = [{"retention_days": days, "redact": "keys"} for days in (30, 365)]
    assert changed_configuration(tmp_path, values[0]) == {}
    with ThreadPoolExecutor(8) as drivers:
        told = list(drivers.map(lambda turn: changed_configuration(tmp_path, values[turn % 2]), range(200)))
    changes = Counter(change["retention_days"] for change in told if change)
    assert changes.keys() == {(30, 365), (365, 30)}
    assert changes[30, 365] - changes[365, 30] in (0, 1)
    assert json.loads((tmp_path / "configuration.json").read_bytes()) in values
    assert not list(tmp_path.glob("*.tmp"))
