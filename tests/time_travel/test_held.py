"""Which versions hold a change: what brings it in, and what takes it out again."""

from __future__ import annotations

from audit.spark.delta.commits import Commit, versions_with_change


def log(*restored):
    """Commits from version 3 on, each a WRITE or the RESTORE of a version."""
    return [
        Commit(version, 0, "WRITE" if back is None else "RESTORE", restored=back)
        for version, back in enumerate(restored, 3)
    ]


def test_in_and_out_again():
    """An overwrite takes it out, a later statement may bring it in again, a RESTORE brings what was then."""
    commits = log(None, None, None, None, 4, 5)
    found = versions_with_change(commits, bad={3, 6}, clean={5})
    assert found == {3: True, 4: True, 5: False, 6: True, 7: True, 8: False}
