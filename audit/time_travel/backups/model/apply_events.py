"""Applies events to the state of backups: one function for each kind of event.

In: events, oldest first, and the `BackupState` before them. Out: the next `BackupState`, which shares
unchanged parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from audit.time_travel.backups.model.events import BackupEvent
from audit.time_travel.backups.model.state import Backup, BackupPolicy, BackupSet, BackupState
from audit.time_travel.backups.model.trusted_time import Boot, Observation, TrustedTime, observed
from audit.time_travel.errors import BackupHistoryError
from lineage.model import Domain


def state_after(events: Iterable[BackupEvent], before: BackupState | None = None) -> BackupState:
    """The state that events lead to, oldest first; the state before stays as it is.

    >>> made = BackupEvent(1, "CREATE_SET", "e", name="c.s.b", details={"domain": "Table", "of": "c.s.t"})
    >>> state_after([made]).set_named("C.S.B").of
    'c.s.t'

    Raises:
        BackupHistoryError: an event is unknown to this version, or a backup comes before any look at the
            clocks.
    """
    old = BackupState() if before is None else before
    # Shallow copies, one for all events: values are immutable.
    next_one = _Next(
        dict(old.policies), dict(old.policy_ids), dict(old.sets), dict(old.set_ids), dict(old.backups),
        set(), old.time,
    )  # fmt: skip
    for event in events:
        # A newer driver may have written it; ignoring it could unbind a backup.
        if event.event not in _APPLY:
            raise BackupHistoryError(
                f"event {event.event} of the backups is unknown to this version",
                "install the version that has written it",
            )
        _APPLY[event.event](next_one, event)
    return BackupState(
        next_one.policies, next_one.policy_ids, next_one.sets, next_one.set_ids, next_one.backups,
        next_one.time,
    )  # fmt: skip


@dataclass(slots=True)
class _Next:
    """A state on its way; `fresh` are the sets whose backups are copies of its own."""

    policies: dict[str, BackupPolicy]
    policy_ids: dict[str, str]
    sets: dict[str, BackupSet]
    set_ids: dict[str, str]
    backups: dict[str, Mapping[str, Backup]]
    fresh: set[str]
    time: TrustedTime

    def backups_of(self, set_id: str) -> dict[str, Backup]:
        """The backups of a set, to be changed."""
        known = self.backups.get(set_id, {})
        if set_id not in self.fresh or not isinstance(known, dict):
            self.fresh.add(set_id)
            known = self.backups[set_id] = dict(known)
        return known


def _observe(state: _Next, event: BackupEvent) -> None:
    details = event.details
    boot = None if details["boot"] is None else Boot(*details["boot"])
    state.time = observed(state.time, Observation(details["machine"], boot, details["store"]))


# -- policies ----------------------------------------------------------------------------------


def _create_policy(state: _Next, event: BackupEvent) -> None:
    details = event.details
    state.policies[event.event_id] = BackupPolicy(
        event.event_id, event.name, event.user, event.time, details.get("schedule"),
        details.get("expire_after_days"), details.get("has_retention_lock", False), details.get("comment"),
        details.get("tags", {}),
    )  # fmt: skip
    state.policy_ids[event.name.casefold()] = event.event_id


def _alter_policy(state: _Next, event: BackupEvent) -> None:
    known = state.policies[event.of_id or ""]
    changed = {key: value for key, value in event.details.items() if key != "tags"}
    policy = replace(known, **changed, tags=_tags(known.tags, event))
    state.policies[policy.policy_id] = policy
    if policy.schedule != known.schedule:
        # The runs of the old schedule are not those of the new one.
        for backup_set in state.sets.values():
            if backup_set.policy == policy.policy_id:
                _put_set(state, backup_set, scheduled_since=event.time)


def _rename_policy(state: _Next, event: BackupEvent) -> None:
    known = state.policies[event.of_id or ""]
    del state.policy_ids[known.name.casefold()]
    state.policies[known.policy_id] = replace(known, name=event.name)
    state.policy_ids[event.name.casefold()] = known.policy_id


def _drop_policy(state: _Next, event: BackupEvent) -> None:
    gone = state.policies.pop(event.of_id or "")
    del state.policy_ids[gone.name.casefold()]


# -- sets --------------------------------------------------------------------------------------


def _create_set(state: _Next, event: BackupEvent) -> None:
    details = event.details
    state.sets[event.event_id] = BackupSet(
        event.event_id, event.name, event.user, event.time, Domain(details["domain"]), details["of"],
        details.get("policy"), event.time, comment=details.get("comment"), tags=details.get("tags", {}),
        location=details.get("location"),
    )  # fmt: skip
    state.set_ids[event.name.casefold()] = event.event_id


def _alter_set(state: _Next, event: BackupEvent) -> None:
    known = state.sets[event.of_id or ""]
    _put_set(state, known, comment=event.details.get("comment", known.comment), tags=_tags(known.tags, event))


def _rename_set(state: _Next, event: BackupEvent) -> None:
    known = state.sets[event.of_id or ""]
    del state.set_ids[known.name.casefold()]
    _put_set(state, known, name=event.name)
    state.set_ids[event.name.casefold()] = known.set_id


def _drop_set(state: _Next, event: BackupEvent) -> None:
    gone = state.sets.pop(event.of_id or "")
    del state.set_ids[gone.name.casefold()]
    state.backups.pop(gone.set_id, None)


def _apply_policy(state: _Next, event: BackupEvent) -> None:
    known = state.sets[event.of_id or ""]
    policy = state.policies[event.details["policy"]]
    # Expiration under a lock cannot be suspended; what was suspended before goes on.
    suspended = known.is_expiration_suspended and not policy.has_retention_lock
    _put_set(
        state, known, policy=policy.policy_id, scheduled_since=event.time, is_expiration_suspended=suspended
    )


def _suspend(state: _Next, event: BackupEvent) -> None:
    known = state.sets[event.of_id or ""]
    suspended = event.event == "SUSPEND"
    changed: dict[str, Any] = {}
    if event.details["creation"]:
        changed["is_creation_suspended"] = suspended
        # Runs that were due meanwhile were not missed: nobody wanted them.
        if known.is_creation_suspended and not suspended:
            changed["scheduled_since"] = event.time
    if event.details["expiration"]:
        changed["is_expiration_suspended"] = suspended
    _put_set(state, known, **changed)


def _put_set(state: _Next, known: BackupSet, **changed: Any) -> None:
    state.sets[known.set_id] = replace(known, **changed)


def _tags(known: Mapping[str, str], event: BackupEvent) -> Mapping[str, str]:
    """Tags by name: a value sets one, None takes it off."""
    told = {**known, **event.details.get("tags", {})}
    return {name: value for name, value in told.items() if value is not None}


# -- backups -----------------------------------------------------------------------------------


def _add_backup(state: _Next, event: BackupEvent) -> None:
    details = event.details
    # Counted from no mark at all, a lock would be over with the first look.
    if state.time.mark is None:
        raise BackupHistoryError(
            f"backup {details['backup']} of backup set {event.name} comes before any look at the clocks",
            "append the event of a look before it",
        )
    made = Backup(
        details["backup"], event.of_id or "", event.time, state.time.mark, details.get("planned"),
        content=details.get("content", {}),
    )  # fmt: skip
    state.backups_of(made.set_id)[made.backup_id] = made
    changed: dict[str, Any] = {} if made.planned is None else {"last_run": made.planned}
    # What is backed up may have another name by now.
    if "of" in made.content:
        changed["of"] = made.content["of"]
    if changed:
        _put_set(state, state.sets[made.set_id], **changed)


def _delete_backup(state: _Next, event: BackupEvent) -> None:
    del state.backups_of(event.of_id or "")[event.details["backup"]]


def _hold(state: _Next, event: BackupEvent) -> None:
    backups = state.backups_of(event.of_id or "")
    known = backups[event.details["backup"]]
    backups[known.backup_id] = replace(known, is_held=event.event == "ADD_LEGAL_HOLD")


def _complete_backup(state: _Next, event: BackupEvent) -> None:
    backups = state.backups_of(event.of_id or "")
    known = backups[event.details["backup"]]
    backups[known.backup_id] = replace(known, content={**known.content, **event.details["content"]})


_APPLY: Mapping[str, Callable[[_Next, BackupEvent], None]] = {
    "OBSERVED": _observe,
    "CREATE_POLICY": _create_policy,
    "ALTER_POLICY": _alter_policy,
    "RENAME_POLICY": _rename_policy,
    "DROP_POLICY": _drop_policy,
    "CREATE_SET": _create_set,
    "ALTER_SET": _alter_set,
    "RENAME_SET": _rename_set,
    "DROP_SET": _drop_set,
    "APPLY_POLICY": _apply_policy,
    "SUSPEND": _suspend,
    "RESUME": _suspend,
    "ADD_BACKUP": _add_backup,
    "COMPLETE_BACKUP": _complete_backup,
    "DELETE_BACKUP": _delete_backup,
    "EXPIRE_BACKUP": _delete_backup,
    "ADD_LEGAL_HOLD": _hold,
    "REMOVE_LEGAL_HOLD": _hold,
}
