"""The page on the architecture names what is there."""

from __future__ import annotations

import re
from pathlib import Path

from audit.pipeline import STAGES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_path_exists():
    """Files and folders, in the picture and in the text."""
    paths = set(re.findall(r"\b(?:audit|lineage|views)/[\w/]*(?:\.py)?", PAGE))
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_the_stages_are_those_of_the_pipeline():
    """In their order."""
    table = PAGE[PAGE.index("| stage |") :]
    names = re.findall(r"^\| `(\w+)` \|", table[: table.index("\n\n")], re.MULTILINE)
    assert names == [type(stage).__name__ for stage in STAGES]
