"""Who runs a statement, for whom, and why: user, roles, parent statement, tag, purpose, suppression.

In: `as_user`, `audit.procedure`, `audit.tagged`, `suppress`. Out: context variables, so that threads and
coroutines keep their own. A thread that a user starts begins with the session's user, not its creator's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from urllib.parse import quote, unquote

from audit.core.job_tags import PREFIX


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and the roles in force; the first role is the primary one."""

    user: str
    roles: tuple[str, ...] = ()

    @property
    def role(self) -> str | None:
        """The primary role."""
        return self.roles[0] if self.roles else None


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The statement that the next ones belong to."""

    parent_query_id: str
    root_query_id: str


@dataclass(frozen=True, slots=True)
class Tagging:
    """What a statement is called, and what it is done for; None where nobody has said it."""

    query_tag: str | None = None
    purpose: str | None = None

    def else_of(self, other: Tagging) -> Tagging:
        """The same; what it does not say is as the other says."""
        tag = other.query_tag if self.query_tag is None else self.query_tag
        return Tagging(tag, other.purpose if self.purpose is None else self.purpose)


_USER_TAG = f"{PREFIX}user-"


def user_tag(user: str) -> str:
    """The job tag that marks a user's executions.

    >>> user_of_tag(user_tag("ann, or bob"))
    'ann, or bob'
    """
    # `SparkContext.addJobTag` refuses a comma (Spark 4.2), and a user may have one in their name.
    return _USER_TAG + quote(user, safe="")


def user_of_tag(tag: str) -> str | None:
    """The user of a job tag, None for a tag that names none."""
    return unquote(tag.removeprefix(_USER_TAG)) if tag.startswith(_USER_TAG) else None


# A new thread begins with an empty context (Python 3.10 to 3.13), a task of asyncio with a copy of its
# creator's.
_IDENTITY: ContextVar[Identity | None] = ContextVar("audit_identity", default=None)
_PARENT: ContextVar[Ancestry | None] = ContextVar("audit_parent", default=None)
_NOTHING = Tagging()
_TAGGING: ContextVar[Tagging] = ContextVar("audit_tagging", default=_NOTHING)
_SUPPRESSED: ContextVar[bool] = ContextVar("audit_suppressed", default=False)


def current_identity(default: Identity) -> Identity:
    """The identity in force here, else the session's."""
    return _IDENTITY.get() or default


def acting() -> Identity | None:
    """The identity that `as_user` has set here; None outside of it."""
    return _IDENTITY.get()


def current_parent() -> Ancestry | None:
    """The statement or procedure that runs this code, if any."""
    return _PARENT.get()


def current_tagging() -> Tagging:
    """What `audit.tagged` says here."""
    return _TAGGING.get()


def is_suppressed() -> bool:
    """Whether the code runs inside `suppress()`."""
    return _SUPPRESSED.get()


@contextmanager
def acting_as(identity: Identity) -> Iterator[None]:
    """Run as another user."""
    token = _IDENTITY.set(identity)
    try:
        yield
    finally:
        _IDENTITY.reset(token)


@contextmanager
def tagged_as(tagging: Tagging) -> Iterator[None]:
    """A block of that tag and purpose; what it does not say is as the block around it says."""
    token = _TAGGING.set(tagging.else_of(_TAGGING.get()))
    try:
        yield
    finally:
        _TAGGING.reset(token)


@contextmanager
def child_of(query_id: str, root_query_id: str | None = None) -> Iterator[None]:
    """A block whose statements are children of `query_id`."""
    above = _PARENT.get()
    root = root_query_id or (above.root_query_id if above else query_id)
    token = _PARENT.set(Ancestry(query_id, root))
    try:
        yield
    finally:
        _PARENT.reset(token)


@contextmanager
def suppress() -> Iterator[None]:
    """A block for the audit's own reads and writes: its statements are not recorded."""
    token = _SUPPRESSED.set(True)
    try:
        yield
    finally:
        _SUPPRESSED.reset(token)
