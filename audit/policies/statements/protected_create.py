"""CREATE TABLE | VIEW with clauses about policies and tags: the object never exists without its policies.

In: a staged table or the text of a view, the clauses, the event log. Out: the protected table or view;
nothing if anything fails. A table is created at an unregistered path, gets its policies, then its rows, then
its name. A view is protected by its name, so its policies come first. A driver that is killed in between
leaves a protected object, or an empty folder without a name.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.core.guard import attempt
from audit.policies.errors import BadPolicyError, PolicyExistsError, UnknownPolicyError
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.governed_objects import ProtectedObject
from audit.policies.statements.attach_policy import attachment_events
from audit.policies.statements.copy_policies import is_set_on
from audit.spark.catalog.existence import schema_exists
from audit.spark.pyspark_api import frames
from lineage.model import Domain
from lineage.names import SESSION_CATALOG, quote_name, sql_name
from lineage.sql.commands.command import Change, Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import CatalogObject, Enforcer
    from audit.policies.model.event_log import EventLog
    from audit.policies.model.state import GovernanceState
    from audit.spark.handler import Run
    from audit.time_travel.clones.staged_create import StagedTable


@dataclass(frozen=True, slots=True)
class ProtectedCreate:
    """A CREATE with clauses about policies and tags.

    Attributes:
        enforcer: resolves names and enforces.
        event_log: takes the events.
        current: the current catalog and schema.
        changes: the clauses.
        actor: who runs it.
    """

    enforcer: Enforcer
    event_log: EventLog
    current: tuple[str, str]
    changes: tuple[Change, ...]
    actor: Actor

    def create_table(self, staged: StagedTable, spark: SparkSession) -> Any:
        """Create a table with its policies; returns Spark's result.

        Raises:
            PolicyError: the policies cannot be set; no table is left then.
        """
        target = None if staged.replaced_id is None else f"delta:{staged.replaced_id}"
        require_free(target, staged.name, self.event_log.state())
        put: ProtectedObject | None = None
        try:
            staged.create_empty()
            # The table is still empty, so no row can be read before its policies are in force.
            put = self._protected(staged, spark)
            staged.fill()
            made = staged.publish()
        except Exception:
            # KeyboardInterrupt is not caught: Spark may still write, so the policies must stay.
            self._discarded(staged, put)
            raise
        if target is not None:
            self._discarded(staged, None)  # its rows are in the other's place, under its id
        return made

    def _protected(self, staged: StagedTable, spark: SparkSession) -> ProtectedObject:
        """Set the policies on the staged table, which is still empty."""
        found = replace(self.enforcer.describe(spark, staged.by_path), name=staged.name, in_catalog=True)
        state = self.event_log.change(partial(self._events, Domain.TABLE, found))
        return state.objects[found.key or ""]

    def _events(self, domain: Domain, found: CatalogObject, state: GovernanceState) -> list[GovernanceEvent]:
        command = Command(f"CREATE_{domain.name}", domain, found.name, changes=self.changes)
        return attachment_events(command, found, self.current, self.enforcer, self.actor, state)

    def _discarded(self, staged: StagedTable, put: ProtectedObject | None) -> None:
        """Delete a staged table: first its files, then its policies."""

        def discard() -> None:
            staged.discard()
            if put is not None and not staged.has_replaced:
                self._take_off(put, ProtectedObject(put.key, put.name, put.domain))

        def failed(error: Exception) -> None:  # the user is to see the error that came first
            warnings.warn(f"{staged.place} is left, behind its policies: {error!r}", stacklevel=4)

        attempt(discard, failed)

    def _take_off(self, put: ProtectedObject, before: ProtectedObject) -> None:
        """Remove what this statement has set on an object."""
        self.event_log.change(partial(removal_events, put, before, self.actor))

    def create_view(self, spark: SparkSession, plain: str, run: Run) -> Any:
        """Create a view with its policies; returns Spark's result.

        Args:
            spark: who runs it.
            plain: the CREATE VIEW without its clauses about policies and tags.
            run: runs it, by Spark alone.

        Raises:
            PolicyError: the policies cannot be set; nothing has changed then.
        """
        defines = self.enforcer.view_definition(spark, plain)
        view = None if defines is None else defines.view
        if defines is None or view is None or view.name[0] != SESSION_CATALOG:
            raise BadPolicyError(
                "policies cannot be set with a view that is temporary, or whose name is an IDENTIFIER(…)",
                f"make it a view of {SESSION_CATALOG}",
            )
        require_schema(spark, view.name[:-1])
        known_as = partial(self.enforcer.catalog_entry, spark, view.name)
        if known_as() and defines.if_not_exists:
            return frames.message_frame(spark)
        if known_as() and not defines.replaces:
            raise PolicyExistsError(f"{quote_name(view.name)} is there already", "CREATE OR REPLACE VIEW")

        def make() -> Any:
            made = run(spark, plain)
            # A read finds the policies by the key that Spark resolves; under another key they protect
            # nothing.
            if self.enforcer.describe(spark, view.name).key != view.key:
                spark.sql(f"DROP VIEW {sql_name(view.name)}")
                raise BadPolicyError(
                    f"view {quote_name(view.name)} is known by another name when it is read",
                    "choose a name of letters and digits",
                )
            return made

        return self.protect_view(view, make, known_as)

    def protect_view(self, found: CatalogObject, make: Callable[[], Any], known_as: Callable[[], str]) -> Any:
        """Set the policies of a view around its creation; returns Spark's result.

        Args:
            found: the view as it will be.
            make: creates it in Spark.
            known_as: gives the catalog's entry of it, to see whether Spark has changed it.

        Raises:
            PolicyError: the policies cannot be had; nothing has changed then.
        """
        key = found.key or ""
        state = self.event_log.state()
        known = state.objects.get(key) or ProtectedObject(key, quote_name(found.name), Domain.VIEW)
        before = known_as()
        if not (is_set_on(known) or known.sealed):
            put = self.event_log.change(partial(self._anew, found)).objects[key]
            try:
                return make()
            except Exception:
                if known_as() == before:
                    # The catalog is unchanged, so no view needs the policies; otherwise they stay on it.
                    self._take_off(put, known)
                raise
        # This raises, before the view is sealed, if the policies cannot be set.
        self._anew(found, state)
        # Sealed, the view cannot be read: neither the old view under the new policies, nor the reverse.
        self.event_log.change(partial(self._sealed, known, "SEAL"))
        try:
            made = make()
        except Exception:
            if known_as() == before and not known.sealed:
                self.event_log.change(partial(self._sealed, known, "UNSEAL"))
            raise
        self.event_log.change(
            lambda state: [*self._anew(found, state), *self._sealed(known, "UNSEAL", state)]
        )
        return made

    def _anew(self, found: CatalogObject, state: GovernanceState) -> list[GovernanceEvent]:
        """The events that replace the policies of a view by those of the clauses."""
        known = state.objects.get(found.key or "")
        off = [] if known is None else removal_events(known, known, self.actor, state)
        return [*off, *self._events(Domain.VIEW, found, state_after(off, state))]

    def _sealed(self, known: ProtectedObject, kind: str, state: GovernanceState) -> list[GovernanceEvent]:
        del state
        return [_event(kind, None, known, self.actor)]


def require_schema(spark: SparkSession, name: Sequence[str]) -> None:
    """Refuse the name of a schema that does not exist.

    Raises:
        UnknownPolicyError: it does not.
    """
    if not schema_exists(spark, name):
        raise UnknownPolicyError(f"there is no schema {quote_name(name)}", "SHOW SCHEMAS lists them")


def require_free(key: str | None, name: Sequence[str], state: GovernanceState) -> None:
    """Refuse to replace a table that has policies.

    Raises:
        PolicyExistsError: it has some.
    """
    known = None if key is None else state.objects.get(key)
    if known is not None and is_set_on(known):
        raise PolicyExistsError(
            f"the policies of {quote_name(name)} would be gone with the table that is replaced",
            "DROP it, which keeps it for UNDROP, or take them off",
        )


def removal_events(
    put: ProtectedObject, before: ProtectedObject, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """The events that remove policies and tags from an object, as far as it still has them.

    Args:
        put: has the policies and tags to remove.
        before: the object before they were set.
        actor: who does it.
        state: of governance.
    """
    known = state.objects.get(before.key)
    if known is None:
        return []
    rows = [policy for policy, use in known.rows.items() if put.rows.get(policy) == use]
    grants = [(use, label) for label, use in known.grants.items() if put.grants.get(label) == use]
    had_rows = {"had_rows": before.had_rows}
    return [
        *(_event("UNSET_MASKING_POLICY", put.masks[key].policy, known, actor, column=key)
          for key, use in known.masks.items() if put.masks.get(key) == use),
        *(_event("DROP_ROW_ACCESS_POLICY", policy, known, actor, **had_rows) for policy in rows),
        *(_event("REVOKE_ROWS", use.policy, known, actor, granted=label) for use, label in grants),
        *(_event("UNSET_TAG", tag, known, actor, column=None) for tag in _both(known.tags, put.tags)),
        *(_event("UNSET_TAG", tag, known, actor, column=key)
          for key, tags in known.column_tags.items() for tag in _both(tags, put.column_tags.get(key, {}))),
    ]  # fmt: skip


def _both(known: Mapping[str, str], put: Mapping[str, str]) -> list[str]:
    return [tag for tag, value in known.items() if put.get(tag) == value]


def _event(
    kind: str, of_id: str | None, known: ProtectedObject, actor: Actor, **more: Any
) -> GovernanceEvent:
    details = {"object_domain": known.domain.value, "columns": [], **more}
    return GovernanceEvent.of(actor, kind, of_id=of_id, key=known.key, name=known.name, details=details)
