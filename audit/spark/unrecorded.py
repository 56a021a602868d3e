"""The audit's own reads and writes.

In: nothing. Out: a block whose statements, on this thread, nobody records.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from audit.core.identity import suppress
from audit.core.job_tags import SUPPRESS_TAG
from audit.spark.pyspark_api.job_tags import tagged
from audit.spark.sessions import active_context


@contextmanager
def unrecorded() -> Iterator[None]:
    """A block of the audit's own; `audit.suppress` is the one of users, which is on record itself."""
    context = active_context()
    with suppress(), nullcontext() if context is None else tagged(context, SUPPRESS_TAG):
        yield
