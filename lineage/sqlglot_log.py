"""sqlglot, silent where this project calls it and as it was where the user does.

In: a block that parses or writes SQL with sqlglot. Out: nothing of what it would log. It says to the root
logger that it reads a statement as a Command, and that it cannot write a node: both are expected here, and
what is not understood is on record with its reason.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


class _OfThisThread(threading.local):
    depth = 0


_at_work = _OfThisThread()


class _Ours(logging.Filter):
    """Keeps back what sqlglot logs while this project calls it; other threads go on."""

    def filter(self, record: logging.LogRecord) -> bool:
        del record
        return _at_work.depth == 0


@lru_cache(maxsize=1)
def _installed() -> None:
    logging.getLogger("sqlglot").addFilter(_Ours())


@contextmanager
def quiet() -> Iterator[None]:
    """A block in which sqlglot logs nothing on this thread."""
    _installed()
    _at_work.depth += 1
    try:
        yield
    finally:
        _at_work.depth -= 1


def spark_sql(node: exp.Expr) -> str:
    """A node as text of Spark's.

    >>> import sqlglot
    >>> spark_sql(sqlglot.parse_one("SELECT CAST(a AS TEXT)"))
    'SELECT CAST(a AS STRING)'
    """
    with quiet():
        return str(node.sql("spark"))
