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


class BadFunctionError(LineageError):
    """A text that was given as a function and is no CREATE FUNCTION."""

    code = "BAD_FUNCTION"

    def __init__(self, text: str) -> None:
        super().__init__(
            text[:100],
            "write it as `CREATE FUNCTION f(n INT) RETURNS INT RETURN n + 1`, or pass a lineage.Function",
        )


class BadPolicyError(LineageError):
    """A text that was given as a policy, or as what one is set on, and is neither."""

    code = "BAD_POLICY"

    def __init__(self, text: str) -> None:
        super().__init__(
            text[:100],
            "write it as `CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> '*'` or `ALTER TABLE t "
            "ALTER COLUMN c SET MASKING POLICY m`, or pass a lineage.Policy",
        )
