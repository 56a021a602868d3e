"""The errors of lineage: each an `AuditError`, with a stable code, its object and a way out.

In: nothing. Out: exceptions for wrong arguments. SQL that cannot be analysed is no error but a result, with
`analysis` partial or opaque and a reason.
"""

from __future__ import annotations

from typing import Any

from audit.core.errors import AuditError


class LineageError(AuditError):
    """The root of the errors of `lineage`; `code` never changes between versions.

    Args:
        subject: what it is about: a name, a text.
        message: what is wrong with it, and what to do.
    """

    code = "LINEAGE"

    def __init__(self, subject: str, message: str) -> None:
        super().__init__(subject, message)
        self.subject = subject

    def __reduce__(self) -> tuple[Any, ...]:
        """Survives pickling, though each kind has arguments of its own."""
        return _unpickled, (type(self), self.subject, self.way_out)


def _unpickled(kind: type[LineageError], subject: str, message: str) -> LineageError:
    # Past the `__init__` of the kind: that takes one argument and writes the message itself.
    error = kind.__new__(kind)
    LineageError.__init__(error, subject, message)
    return error


class UnknownDialectError(LineageError):
    """A dialect other than `spark`."""

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
    """A text for a function that is not CREATE FUNCTION."""

    code = "BAD_FUNCTION"

    def __init__(self, text: str) -> None:
        super().__init__(
            text[:100],
            "write it as `CREATE FUNCTION f(n INT) RETURNS INT RETURN n + 1`, or pass a lineage.Function",
        )


class BadPolicyError(LineageError):
    """A text for a policy or its attachment that is neither CREATE … POLICY nor ALTER …."""

    code = "BAD_POLICY"

    def __init__(self, text: str) -> None:
        super().__init__(
            text[:100],
            "write it as `CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> '*'` or `ALTER TABLE t "
            "ALTER COLUMN c SET MASKING POLICY m`, or pass a lineage.Policy",
        )
