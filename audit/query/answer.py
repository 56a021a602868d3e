"""What a query gives, and what answers it.

In: nothing. Out: `Answer`; `Source`, which DuckDB and Spark are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from audit.evidence.row_texts import Columns, Text

WAY_OUT = "mend it; `audit query` lists those that come along, docs/reference/views.md the columns"
"""What to do about a query that is refused, or fails."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The names of the columns, and rows of Python's values; times are UTC, without a zone."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


class Source(Protocol):
    """The audit tables and views of a root, whoever reads them."""

    @property
    def root(self) -> str:
        """The folder of the tables."""

    @property
    def schema(self) -> str:
        """In which they and their views are."""

    def ask(self, text: str, values: Mapping[str, Any], limit: int = 0) -> Answer:
        """The answer to a query in Spark's SQL.

        Args:
            text: one query.
            values: of its parameters `:name`, by name.
            limit: the most rows; 0: all of them.

        Raises:
            QueryFailed: it has a mistake, or asks for what is not there.
            TableUnreadable: a file of a table is damaged, or gone.
        """

    def arrow(self, text: str) -> pa.Table:
        """The answer to a query in Spark's SQL as a table of Arrow.

        Raises:
            QueryFailed: it has a mistake, or asks for what is not there.
            TableUnreadable: a file of a table is damaged, or gone.
        """

    def texts(
        self, name: str, key: str, where: str, columns: Columns
    ) -> Iterator[tuple[Sequence[str], Iterable[Text]]]:
        """Rows of a table as what a digest binds (`audit.evidence.row_texts`), some thousand at a time.

        Args:
            name: of the table.
            key: a column of texts, by which rows are known.
            where: a condition, as Spark and DuckDB both read it.
            columns: those that count.

        Returns:
            The keys of rows, and their texts.
        """

    def types(self, name: str) -> Mapping[str, str]:
        """The columns of an audit table with Spark's types; none where it is not there."""

    def size(self, name: str) -> int:
        """Bytes of the files of an audit table that is there, at its version."""
