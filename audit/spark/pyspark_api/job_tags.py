"""Spark's job tags, set for a block of a thread.

In: a SparkContext, a tag. Out: each SQL execution started in the block carries the tag, or none of ours.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from audit.core.job_tags import PREFIX
from audit.spark.sessions import is_running

if TYPE_CHECKING:
    from pyspark import SparkContext


# The tags that `tagged` has set, by thread, as Spark keeps them.
_TAGS = threading.local()


@contextmanager
def tagged(context: SparkContext, tag: str) -> Iterator[None]:
    """Spark marks each SQL execution that this thread starts inside with a job tag.

    Where a block outside this one has set the tag, that one removes it.
    """
    tags_set: set[tuple[int, str]] = _TAGS.__dict__.setdefault("held", set())
    key = (id(context), tag)
    if key in tags_set:
        yield
        return
    # Tags are inherited by threads that the JVM starts meanwhile: Delta's and a stream's jobs carry them,
    # too.
    context.addJobTag(tag)
    tags_set.add(key)
    try:
        yield
    finally:
        tags_set.discard(key)
        if is_running(context):
            context.removeJobTag(tag)


@contextmanager
def untagged(context: SparkContext) -> Iterator[None]:
    """Spark's jobs of this thread, and the threads that it starts inside, have no tag of ours.

    The user's own tags stay.
    """
    ours = [tag for tag in context.getJobTags() if tag.startswith(PREFIX)]
    for tag in ours:
        context.removeJobTag(tag)
    try:
        yield
    finally:
        for tag in ours if is_running(context) else ():
            context.addJobTag(tag)
