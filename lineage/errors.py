"""The errors of lineage: one root, each with a stable code, the object it is about and the way out.

In: nothing. Out: exceptions that only wrong use raises; text that cannot be understood is a result
(`analysis` partial or opaque with a reason), never an error.
"""

from __future__ import annotations


class LineageError(Exception):
    """Root of the errors of `lineage`; `code` never changes between versions."""

    code = "LINEAGE"

    def __init__(self, subject: str, message: str) -> None:
        super().__init__(f"{subject}: {message}")
        self.subject = subject


class UnknownDialectError(LineageError):
    """A dialect other than Spark's was asked for."""

    code = "UNKNOWN_DIALECT"

    def __init__(self, dialect: str) -> None:
        super().__init__(dialect, "only the dialect 'spark' is understood; pass dialect='spark'")


class BadNameError(LineageError):
    """A name of a catalog entry that is not one to three parts separated by dots."""

    code = "BAD_NAME"

    def __init__(self, name: str) -> None:
        super().__init__(
            name,
            "write it as `table`, `schema.table` or `catalog.schema.table`, "
            "parts that hold dots in back-ticks",
        )


class NotSupportedError(LineageError):
    """Something that the caller asked for is not built yet."""

    code = "NOT_SUPPORTED"
