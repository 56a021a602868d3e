"""The audited sessions of one application, found by Spark's own id.

In: attached sessions, and sessions derived from them. Out: the audited session of an execution; cached
catalogs are dropped after DDL. A derived session is held by a weak reference.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from audit.spark import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.identity import Identity, Tagging
    from audit.spark.catalog.session_catalog import SessionCatalog


class Session(Protocol):
    """The part of an audited session that other modules use."""

    @property
    def session_id(self) -> str:
        """Its id on record; of a clone it is that of the session it was cloned from."""
        ...

    @property
    def jvm_id(self) -> str:
        """Spark's own UUID."""
        ...

    @property
    def identity(self) -> Identity:
        """The user of its statements, unless `as_user` names another one."""
        ...

    @property
    def catalog(self) -> SessionCatalog:
        """Its look-ups of names."""
        ...

    def tagging(self) -> Tagging:
        """The query tag and the purpose of its statements."""
        ...

    def quiet(self) -> AbstractContextManager[None]:
        """A block whose executions belong to no statement."""
        ...


class Sessions:
    """All audited sessions that are in use."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[str, Session] = WeakValueDictionary()
        self.is_closed = False

    def add(self, session: Session) -> None:
        """Add a session."""
        self._known[session.jvm_id] = session

    def discard(self, jvm_id: str) -> None:
        """Remove a session."""
        self._known.pop(jvm_id, None)

    def find(self, jvm_id: str) -> Session | None:
        """The audited session of an id of Spark's."""
        return self._known.get(jvm_id)

    def close(self) -> None:
        """Remove all sessions."""
        self.is_closed = True

    def living(self) -> list[Session]:
        """All audited sessions."""
        # valuerefs() is a copy: another thread may add a session during the loop.
        found = [reference() for reference in self._known.valuerefs()]
        return [session for session in found if session is not None]

    def quiet(self, spark: SparkSession) -> AbstractContextManager[None]:
        """A block whose executions in a session belong to no statement; no effect without audit."""
        found = self.find(sessions.session_id(spark))
        return nullcontext() if found is None else found.quiet()

    def catalog_changed(self) -> None:
        """Drop cached look-ups: a statement may have changed the catalog."""
        for session in self.living():
            session.catalog.forget()
