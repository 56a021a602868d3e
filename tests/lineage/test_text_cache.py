"""Which parsed texts are kept: those that a thread brings again, and none that comes once."""

from __future__ import annotations

import gc
import threading

import pytest

from lineage import parse
from lineage.sql.parse import _parsed
from lineage.text_cache import TextCache


@pytest.fixture
def asked():
    """A cache of two statements, and the texts that it has had parsed."""
    texts = []

    def read(text):
        texts.append(text)
        return _parsed(text)

    return TextCache(read, 2, 8), texts


def test_a_text_that_comes_again_is_parsed_twice_and_then_kept(asked):
    """The first time leaves a hash, the second the statement."""
    cache, texts = asked
    for _ in range(4):
        cache("SELECT 1")
        cache("SELECT 2")
    assert texts == ["SELECT 1", "SELECT 2", "SELECT 1", "SELECT 2"]


def test_a_statement_on_its_way_is_parsed_once(asked):
    """The text that a thread has parsed last is at hand."""
    cache, texts = asked
    assert cache("SELECT 1") is cache(f"SELECT {1}")
    assert texts == ["SELECT 1"]


def test_another_thread_is_no_second_time(asked):
    """A worker that looks at each text which the first thread runs makes none of them old."""
    cache, texts = asked
    for number in range(6):
        cache(f"SELECT {number}")
        worker = threading.Thread(target=cache, args=(f"SELECT {number}",))
        worker.start()
        worker.join()
    assert len(texts) == 12
    assert not cache._kept


def test_what_was_asked_for_longest_ago_goes_first(asked):
    """Of three texts that come again the cache holds the two last ones."""
    cache, texts = asked
    for text in ("a", "b", "a", "b", "c", "a", "c"):
        cache(f"SELECT {text}")
    del texts[:]
    for text in ("c", "a", "b"):
        cache(f"SELECT {text}")
    assert texts == ["SELECT b"]


def test_hashes_are_forgotten_in_the_end(asked):
    """A text that comes again after many others is new."""
    cache, texts = asked
    cache("SELECT 'old'")
    for number in range(20):
        cache(f"SELECT {number}")
    for _ in range(2):
        cache("SELECT 'old'")
        cache("SELECT 1")
    cache("SELECT 'old'")
    assert texts.count("SELECT 'old'") == 3


def test_texts_seen_once_leave_nothing_to_the_collector():
    """Of 300 new texts no tree is alive, once the collector has looked at what is young."""
    parse("SELECT 1")
    gc.collect()
    before = len(gc.get_objects())
    for number in range(300):
        parse(f"SELECT a{number}, b + 1 AS c FROM once{number} WHERE d > {number}")
    gc.collect()
    assert len(gc.get_objects()) - before < 1_000
