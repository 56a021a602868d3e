"""The root of the month, and what a report of it is."""

from __future__ import annotations

from datetime import datetime

import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.query.tables import opened
from audit.report.answers import Asking, Made, fill
from audit.report.kinds import KINDS
from audit.report.packs import PACKS

from .roots import MONTH, story_root

NAMES = {"user": "bob", "object": "p.people"}
MADE = Made("ann", datetime(2026, 12, 1, 8), "0.1.0")  # noqa: DTZ001 - UTC, without a zone


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A month of work."""
    return story_root(tmp_path_factory.mktemp("story"))


@pytest.fixture(scope="session")
def tables(root):
    """Its tables."""
    with opened(root) as found:
        yield found


def made(tables, kind, name=None, period=MONTH, pack=None, names=None):
    """A report with its rows."""
    asked = KINDS[kind] if kind else None
    name = name or NAMES.get(kind)
    about = asked.find(tables, name, period) if asked and asked.find else None
    asking = Asking.of(tables, period, about, names)
    return fill(asking, MADE, period, asked, PACKS[pack] if pack else None, about)


@pytest.fixture(scope="session")
def report(tables):
    """Makes a report of the month; each one once."""
    known = {}

    def of(kind, **more):
        key = (kind, *sorted(more.items()))
        if key not in known:
            known[key] = made(tables, kind, **more)
        return known[key]

    return of


@pytest.fixture
def run(root):
    """`audit report` as it is typed: exit code, stderr."""

    def typed(*words, of=root):
        done = CliRunner().invoke(main, ["report", *map(str, words), "--root", of], catch_exceptions=False)
        return done.exit_code, done.stderr

    return typed
