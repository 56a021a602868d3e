"""Who runs what a thread runs, in the JVM: the user of a block of `as_user`, or a session's own; else nobody.

In: tokens of identities. Out: the local property of the thread in Spark's JVM. Whatever passes the front door
by, as pandas on Spark and MLlib do, is governed by it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.spark.enforcement_rule import EnforcementRule


class ThreadIdentity:
    """The identity of each thread that calls.

    Args:
        rule: of the JVM.
    """

    def __init__(self, rule: EnforcementRule) -> None:
        self._rule = rule
        self._known = _Known()

    def of_session(self, session_id: str) -> str:
        """The identity of a thread that runs what it runs as the user of the session."""
        return self._rule.of_session(session_id)

    def set(self, token: str | None) -> None:
        """Set the identity of what this thread runs from now on; None for nobody's."""
        # Local properties are per thread in Spark's JVM too (pinned thread mode), so the last value is cached
        # per thread.
        if self._known.token != token:
            self._rule.set_thread_identity(token)
            self._known.token = token

    @contextmanager
    def acting(self, token: str) -> Iterator[None]:
        """A block of `as_user`: what passes the front door by has this identity, too."""
        thread, outer = self._known, self._known.token
        thread.blocks += 1
        try:
            self.set(token)
            self.leave()
            yield
        finally:
            thread.blocks -= 1
            self.set(outer)

    def leave(self) -> None:
        """A call of this thread has ended.

        Tasks of asyncio share a thread, and nothing tells when one of them goes on: where one of them acts as
        another user, what passes the front door by is nobody's.
        """
        if self._known.blocks and _has_tasks():
            self.set(None)

    @contextmanager
    def in_callback(self) -> Iterator[None]:
        """A block that the JVM has called for, on a thread of its own.

        Python's thread may be another one than the JVM's thread belongs to, and may serve many of them: what
        this thread has set before says nothing, and what is set inside ends with the block.
        """
        outer, before = self._known.token, self._rule.thread_identity()
        self._known.token = before
        try:
            yield
        finally:
            if self._known.token != before:
                self._rule.set_thread_identity(before)
            self._known.token = outer


class SessionMarks:
    """Which attached session a session of Spark's is, or is a clone of.

    Args:
        rule: of the JVM.
    """

    def __init__(self, rule: EnforcementRule) -> None:
        self._rule = rule

    def set(self, spark: SparkSession, session_id: str) -> None:
        """Mark a session, and its clones to come; "" takes the mark away."""
        self._rule.mark(spark, session_id)

    def of(self, spark: SparkSession) -> str:
        """The id of the attached session; "" for none."""
        return self._rule.mark_of(spark)

    def of_plan(self, query_execution: Any) -> str:
        """The same of the session that a plan of the JVM belongs to."""
        return self._rule.mark_of_plan(query_execution)


class _Known(threading.local):
    """What is known of a thread: the identity that it has in the JVM, and its open blocks of `as_user`."""

    token: str | None = None
    blocks: int = 0


def _has_tasks() -> bool:
    """Whether an event loop of asyncio runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
