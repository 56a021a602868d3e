"""The one root of every error that this system raises.

In: a stable code and a message that names the object and the way out. Out: an exception that a
caller can tell apart by class or by `code`.
"""

from __future__ import annotations


class AuditError(Exception):
    """Something that the user can put right.

    Args:
        code: stable, in capitals; scripts may compare it.
        message: one or two sentences: what is wrong with which object, and what to do next.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type[AuditError], tuple[str, str]]:
        """Pickle by both arguments; `Exception` itself would pass the message alone."""
        return type(self), (self.code, self.message)
