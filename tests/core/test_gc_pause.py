"""The garbage collector is as it was after each parse, whatever happens inside."""

from __future__ import annotations

import gc
import threading

import pytest

from audit.core.gc_pause import collector_paused
from lineage import parse


@pytest.fixture(autouse=True)
def _enabled():
    gc.enable()
    yield
    gc.enable()


def test_it_is_off_inside_and_on_after():
    """Also where the block raises."""
    with pytest.raises(ValueError, match="inside"), collector_paused():  # noqa: PT012
        assert not gc.isenabled()
        raise ValueError("inside")
    assert gc.isenabled()


def test_whoever_has_switched_it_off_keeps_it_off():
    """A program without a collector gets none from a parse."""
    gc.disable()
    with collector_paused():
        pass
    assert not gc.isenabled()


def test_the_inner_of_two_leaves_it_to_the_outer():
    """A view's text is parsed while a statement's is not done."""
    with collector_paused():
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_threads_do_not_wait_and_leave_it_on():
    """Eight threads hold it by turns or not at all; none hangs, and at the end it is on."""

    def work():
        for _ in range(500):
            with collector_paused():
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert gc.isenabled()


def test_a_large_text_is_parsed_without_collections():
    """Of all generations: nothing of a growing tree is garbage."""
    text = "SELECT " + ", ".join(f"a + {n} AS c{n}" for n in range(4_000)) + " FROM t"
    gc.collect()
    before = [generation["collections"] for generation in gc.get_stats()]
    statement = parse(text)
    after = [generation["collections"] for generation in gc.get_stats()]
    assert statement.statement_type == "SELECT"
    assert len(text) > 32 * 1024
    # The first allocation after it may set off one.
    assert sum(after) - sum(before) <= 1
    assert gc.isenabled()
