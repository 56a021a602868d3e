"""What Spark, Delta and the disk say, as an error that names what could not be done and the way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from audit.errors import AuditError, IngestError


@contextmanager
def naming(problem: str) -> Iterator[None]:
    """Turns what Spark, Delta and the disk raise in the block into an IngestError about `problem`."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except AuditError:
        raise
    except (PySparkException, Py4JError, OSError) as error:
        raise IngestError(
            f"{problem} ({_first_lines(str(error))})",
            "they are safe in the spool; mend the cause and run `audit ingest`",
        ) from error


def _first_lines(text: str, characters: int = 600) -> str:
    """The head of a message of Spark's, without the stack trace that follows it."""
    head = " ".join(
        line.strip() for line in text.split("\n\tat ", maxsplit=1)[0].splitlines() if line.strip()
    )
    return head if len(head) <= characters else head[:characters] + " ..."
