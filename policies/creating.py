"""Tables and views that get their policies and tags with their CREATE, and are never there without.

In: what makes a table or a view, the clauses of its text, the ledger. Out: the table or view behind its
policies; nothing where anything fails. A table is made where no name leads to, gets its policies, then its
rows, then its name. A view is protected by its name, so that comes first. What is killed in between stays
behind its policies, or empty and without a name.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lineage.model import Domain
from lineage.names import quote_name
from lineage.statement import Change, Command
from policies.attaching import changes_of, is_set_on
from policies.errors import PolicyExistsError
from policies.events import Event
from policies.state import Protected, folded

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from audit.by import By
    from policies.governor import Found, Governor
    from policies.ledger import Ledger
    from policies.state import State
    from time_travel.staging import Staged


@dataclass(frozen=True, slots=True)
class Creating:
    """One CREATE with clauses about policies and tags.

    Attributes:
        governor: enforces.
        ledger: of all changes.
        here: the current catalog and schema.
        changes: what the clauses say.
        by: who runs it.
    """

    governor: Governor
    ledger: Ledger
    here: tuple[str, str]
    changes: tuple[Change, ...]
    by: By

    def table(self, staged: Staged, spark: SparkSession) -> Any:
        """Make a table; what Spark answers.

        Raises:
            PolicyError: the policies cannot be had; there is nothing then.
        """
        target = None if staged.replaced_id is None else f"delta:{staged.replaced_id}"
        require_free(target, staged.name, self.ledger.state())
        put: Protected | None = None
        try:
            staged.begin()
            put = self._protected(staged, spark)
            staged.fill()
            made = staged.publish()
        except Exception:
            # An interrupt is like a kill: Spark may still be at work on it, and its policies stay.
            self._discarded(staged, put)
            raise
        if target is not None:
            self._discarded(staged, None)  # its rows are in the other's place, under its id
        return made

    def _protected(self, staged: Staged, spark: SparkSession) -> Protected:
        """What protects the table, which is there and empty, from now on."""
        found = replace(self.governor.describe(spark, staged.by_path), name=staged.name)
        state = self.ledger.change(partial(self._events, Domain.TABLE, found))
        return state.objects[found.key or ""]

    def _events(self, domain: Domain, found: Found, state: State) -> list[Event]:
        command = Command(f"CREATE_{domain.name}", domain, found.name, changes=self.changes)
        return changes_of(command, found, self.here, self.governor, self.by, state)

    def _discarded(self, staged: Staged, put: Protected | None) -> None:
        """Take away what was made: first the files, then what protects them."""
        try:
            staged.discard()
            if put is not None and not staged.has_replaced:
                self._take_off(put, Protected(put.key, put.name, put.domain))
        except Exception as error:  # noqa: BLE001 - the user is to see the error that came first
            warnings.warn(f"{staged.place} is left, behind its policies: {error!r}", stacklevel=2)

    def _take_off(self, put: Protected, before: Protected) -> None:
        """Have an object protected as it was before what this statement has put on it."""
        self.ledger.change(partial(taken_off, put, before, self.by))

    def view(self, found: Found, make: Callable[[], Any], known_as: Callable[[], str]) -> Any:
        """Make a view; what Spark answers.

        Args:
            found: the view as it will be.
            make: makes it, by Spark alone.
            known_as: what the catalog knows of it.

        Raises:
            PolicyError: the policies cannot be had; nothing has changed then.
        """
        key = found.key or ""
        state = self.ledger.state()
        known = state.objects.get(key) or Protected(key, quote_name(found.name), Domain.VIEW)
        before = known_as()
        if not (is_set_on(known) or known.sealed):
            put = self.ledger.change(partial(self._anew, found)).objects[key]
            try:
                return make()
            except Exception:
                if known_as() == before:
                    self._take_off(put, known)
                raise
        self._anew(found, state)
        # Nobody reads the old view behind the policies of the new one, nor the other way round.
        self.ledger.change(partial(self._sealed, known, "SEAL"))
        try:
            made = make()
        except Exception:
            if known_as() == before and not known.sealed:
                self.ledger.change(partial(self._sealed, known, "UNSEAL"))
            raise
        self.ledger.change(lambda state: [*self._anew(found, state), *self._sealed(known, "UNSEAL", state)])
        return made

    def _anew(self, found: Found, state: State) -> list[Event]:
        """The policies of the clauses in the place of those that there are."""
        known = state.objects.get(found.key or "")
        off = [] if known is None else taken_off(known, known, self.by, state)
        return [*off, *self._events(Domain.VIEW, found, folded(off, state))]

    def _sealed(self, known: Protected, kind: str, state: State) -> list[Event]:
        del state
        return [_event(kind, None, known, self.by)]


def require_free(key: str | None, name: Sequence[str], state: State) -> None:
    """Refuse to replace what policies protect.

    Raises:
        PolicyExistsError: they do.
    """
    known = None if key is None else state.objects.get(key)
    if known is not None and is_set_on(known):
        raise PolicyExistsError(
            f"the policies of {quote_name(name)} would be gone with the table that is replaced",
            "DROP it, which keeps it for UNDROP, or take them off",
        )


def taken_off(put: Protected, before: Protected, by: By, state: State) -> list[Event]:
    """The events that take off an object what was put on it, where it is on it still.

    Args:
        put: what protects it, or another of the same columns.
        before: the object, as it was.
        by: who does it.
        state: of the governance.
    """
    known = state.objects.get(before.key)
    if known is None:
        return []
    rows = [policy for policy, use in known.rows.items() if put.rows.get(policy) == use]
    grants = [(use, label) for label, use in known.grants.items() if put.grants.get(label) == use]
    had_rows = {"had_rows": before.had_rows}
    return [
        *(_event("UNSET_MASKING_POLICY", put.masks[key].policy, known, by, column=key)
          for key, use in known.masks.items() if put.masks.get(key) == use),
        *(_event("DROP_ROW_ACCESS_POLICY", policy, known, by, **had_rows) for policy in rows),
        *(_event("REVOKE_ROWS", use.policy, known, by, granted=label) for use, label in grants),
        *(_event("UNSET_TAG", tag, known, by, column=None) for tag in _both(known.tags, put.tags)),
        *(_event("UNSET_TAG", tag, known, by, column=key)
          for key, tags in known.column_tags.items() for tag in _both(tags, put.column_tags.get(key, {}))),
    ]  # fmt: skip


def _both(known: Mapping[str, str], put: Mapping[str, str]) -> list[str]:
    return [tag for tag, value in known.items() if put.get(tag) == value]


def _event(kind: str, of_id: str | None, known: Protected, by: By, **more: Any) -> Event:
    said = {"object_domain": known.domain.value, "columns": [], **more}
    return Event(by.time, kind, by.new_id(), of_id, known.key, known.name, by.user, None, by.query_id, said)
