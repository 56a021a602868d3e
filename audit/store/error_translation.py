"""Turns errors of Spark, Delta and the file system into an IngestError with a way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from audit.core.errors import AuditError, IngestError

IN_THE_SPOOL = "they are safe in the spool; mend the cause and run `audit ingest`"
"""Of records that could not be taken in: what to do."""


@contextmanager
def as_ingest_error(problem: str, way_out: str = IN_THE_SPOOL) -> Iterator[None]:
    """A block whose errors of Spark, Delta and the file system become an IngestError about `problem`."""
    from audit.spark.java_errors import CALL_ERRORS

    try:
        yield
    # It names the cause and a way out already.
    except AuditError:
        raise
    except (*CALL_ERRORS, OSError) as error:
        raise IngestError(
            f"{problem} ({first_lines(str(error))})",
            way_out,
        ) from error


def first_lines(text: str, characters: int = 600) -> str:
    """The first lines of an error message of Spark, without the stack trace."""
    # A stack trace of Java begins its lines with a tab and `at`.
    head = " ".join(
        line.strip() for line in text.split("\n\tat ", maxsplit=1)[0].splitlines() if line.strip()
    )
    return head if len(head) <= characters else head[:characters] + " ..."
