"""Users, parents and suppression hold inside their blocks, and in their thread or task alone."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.identity import (
    Ancestry,
    Identity,
    acting_as,
    child_of,
    current_identity,
    current_parent,
    is_suppressed,
    suppress,
    user_of_tag,
    user_tag,
)

ANN, BOB, EVE = Identity("ann", ("analyst", "reader")), Identity("bob"), Identity("eve")


@given(st.text())
def test_a_user_comes_back_from_the_tag(user):
    """Any name survives, and the tag has no comma, which `SparkContext.addJobTag` refuses."""
    tag = user_tag(user)
    assert user_of_tag(tag) == user
    assert "," not in tag


@pytest.mark.parametrize("tag", ["", "audit-statement-1", "audit-user", "x-audit-user-ann", "AUDIT-USER-ann"])
def test_other_tags_name_no_user(tag):
    """A tag of the user's own, or of a statement, is no user."""
    assert user_of_tag(tag) is None


@pytest.mark.parametrize(
    ("roles", "primary"), [((), None), (("analyst",), "analyst"), (("b", "a"), "b"), (("", "a"), "")]
)
def test_the_first_role_is_the_primary_one(roles, primary):
    """The order of the roles is the caller's, not the alphabet's."""
    assert Identity("ann", roles).role == primary


def test_the_session_names_the_user_where_nobody_else_does():
    """The innermost block counts, and each block gives back what was before it."""
    assert current_identity(EVE) == EVE
    with acting_as(ANN):
        assert current_identity(EVE) == ANN
        with acting_as(BOB):
            assert current_identity(EVE) == BOB
        assert current_identity(EVE) == ANN
    assert current_identity(EVE) == EVE


@pytest.mark.parametrize("block", [lambda: acting_as(ANN), lambda: child_of("q1"), suppress])
def test_a_block_that_raises_gives_back_what_was_before(block):
    """An error of the user's code must not leave the thread with another identity."""
    with pytest.raises(ZeroDivisionError), block():
        raise ZeroDivisionError
    assert (current_identity(EVE), current_parent(), is_suppressed()) == (EVE, None, False)


def test_the_root_is_the_topmost_parent():
    """ACCESS_HISTORY: root_query_id is "the top most job in the chain"."""
    assert current_parent() is None
    with child_of("q1"):
        assert current_parent() == Ancestry("q1", "q1")
        with child_of("q2"):
            assert current_parent() == Ancestry("q2", "q1")
            with child_of("q3"):
                assert current_parent() == Ancestry("q3", "q1")
        assert current_parent() == Ancestry("q1", "q1")
    assert current_parent() is None


def test_a_root_that_is_known_counts():
    """A statement of another thread begins a chain whose root it knows."""
    with child_of("q5", "q1"), child_of("q6"):
        assert current_parent() == Ancestry("q6", "q1")
    with child_of("q1"), child_of("q9", "q8"):
        assert current_parent() == Ancestry("q9", "q8")


def test_suppression_ends_with_the_outermost_block():
    """The audit's own look-ups may stand inside each other."""
    with suppress():
        with suppress():
            assert is_suppressed()
        assert is_suppressed()
    assert not is_suppressed()


def test_a_new_thread_begins_with_the_sessions_user():
    """A thread that a user starts does not run as its creator, has no parent, and is recorded."""
    seen = []

    def look():
        seen.append((current_identity(EVE), current_parent(), is_suppressed()))

    with acting_as(ANN), child_of("q1"), suppress():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [(EVE, None, False)]


def test_tasks_that_take_turns_keep_their_own_users():
    """Two coroutines of one thread change hands inside their blocks, and neither sees the other's."""

    async def work(identity, query_id):
        seen = []
        with acting_as(identity), child_of(query_id):
            for _ in range(3):
                await asyncio.sleep(0)
                seen.append((current_identity(EVE), current_parent()))
        return seen

    async def both():
        return await asyncio.gather(work(ANN, "q1"), work(BOB, "q2"))

    assert asyncio.run(both()) == [[(ANN, Ancestry("q1", "q1"))] * 3, [(BOB, Ancestry("q2", "q2"))] * 3]
    assert current_identity(EVE) == EVE
