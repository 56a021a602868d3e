"""No way shows a secret value or a hidden row, loses one, or takes a policy off.

In short a part of the ways is tried, over one kind of protection after the other; in full each over each
kind, by each user.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import cycle

import pytest
from pyspark.errors import PySparkException

from audit.core.errors import AuditError
from tests.policies.matrix.methods import METHODS
from tests.policies.matrix.own_statements import OWN_STATEMENTS
from tests.policies.matrix.statements import STATEMENTS
from tests.policies.matrix.world import KINDS, World
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
LEDGER = "session"
USERS = ("mallory", "eve")


@pytest.fixture(scope="module")
def world(session, tmp_path_factory):
    """The protected objects."""
    made = World(session, tmp_path_factory.mktemp("matrix"))
    yield made
    session.sql("USE default")
    session.sql("DROP SCHEMA play CASCADE")
    session.sql("DROP SCHEMA prot CASCADE")


def _statement(text):
    """A way of statements: some are refused, and the last one may show what has come of them."""

    def way(world):
        *before, last = world.filled(text).split(" ;; ")
        for one in before:
            with suppress(PySparkException, AuditError):
                world.session.sql(one).collect()
        return world.session.sql(last)

    return way


WAYS = {
    "statements": [
        (f"{name}: {text}", _statement(text)) for name, texts in sorted(STATEMENTS.items()) for text in texts
    ],
    "own": [
        (f"{name}: {text}", _statement(text))
        for name, texts in sorted(OWN_STATEMENTS.items())
        for text in texts
    ],
    "methods": [
        (f"{owner.rpartition('.')[2]}.{name}", way)
        for owner, ways in METHODS.items()
        for name, way in sorted(ways.items())
        if callable(way)
    ],
}
TELLING = ("DataFrame.", "StatementDefault", "Show", "Describe")
"""What only shows: in short a thirty-sixth of it is tried, and a twelfth of all else."""


def _tried(world, ways, kinds, users):
    failed = []
    for (name, way), kind, user in zip(ways, cycle(kinds), cycle(users), strict=False):
        world.kind = kind
        found = world.try_way(way, user)
        if found:
            failed.append((name, kind, user, found))
            world.clean_up()
        if not world.has_own():
            world.renew()
    world.clean_up()
    return failed


def _short(part):
    return [
        way
        for number, way in enumerate(WAYS[part])
        if number % (36 if any(one in way[0] for one in TELLING) else 12) == 0
    ]


@pytest.mark.parametrize("part", WAYS)
@pytest.mark.slow("each way is a statement or more")
def test_each_way(world, part):
    """A part of the ways, each once."""
    assert _tried(world, _short(part), KINDS, USERS) == []


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", WAYS)
@pytest.mark.long("each way over each kind of protection, by each user")
def test_the_whole_matrix(world, part, kind, user):
    """Each way over each kind, by each user."""
    assert _tried(world, WAYS[part], [kind], [user]) == []
