"""The documentation: its links lead somewhere, and what is generated is what the code says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from .pages import links, sections

ROOT = Path(__file__).parents[2]
SKIPPED = ("tests", "node_modules", "site", "dist", "build")


def _pages() -> list[Path]:
    folders = [ROOT, *(path for path in ROOT.iterdir() if path.is_dir() and path.name not in SKIPPED)]
    shown = [path for path in folders if path == ROOT or not path.name.startswith(".")]
    found = {page for path in shown for page in (path.glob("*.md") if path == ROOT else path.rglob("*.md"))}
    return sorted(found)


def _reference():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "_build" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = _reference()


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Each relative link names a file that is there and, after #, a heading of it."""
    broken = []
    for link in links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in sections(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("name", REFERENCE.PAGES)
def test_the_reference_is_what_the_code_says(name):
    """Else: python docs/_build/reference.py writes it."""
    written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert REFERENCE.PAGES[name]().rstrip() + "\n" == written, "run: python docs/_build/reference.py"


def test_every_page_is_in_the_site():
    """A page that mkdocs.yml does not list would be found by nobody."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert [page for page in sorted(pages) if f" {page}\n" not in nav] == []


def test_the_rooms_that_contributors_are_sent_to_are_there():
    """Each file and folder that CONTRIBUTING.md names in code exists."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(
        r"`((?:audit|lineage|views|tests|docs|benchmarks|sample_queries|examples)/[\w./]*)`", text
    )
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_is_short():
    """README leads on to the pages; what it grows by belongs there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 140
    assert text.index("make demo") < text.index("## Install")
