"""The rows of `object_backups`: the policies, sets and backups that there are, and those that there were.

In: the events of `backup_history`, oldest first. Out: rows as `COLUMNS` orders them. What has been deleted
keeps its row, as it was at the end: at the time t was there what has `created <= t AND (deleted IS NULL OR
deleted > t)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from audit.core.clock import to_datetime
from audit.time_travel.backups.model.apply_events import state_after
from audit.time_travel.backups.model.events import BackupEvent
from audit.time_travel.backups.model.state import Backup, BackupPolicy, BackupSet, BackupState
from lineage.model import Domain
from lineage.names import split_name

NAME = "object_backups"
"""The table, beside the audit tables."""
_PLACE = "name: STRING, schema_name: STRING, catalog_name: STRING"
_POLICY = (
    f"id: STRING, {_PLACE}, owner: STRING, comment: STRING, schedule: STRING, expire_after_days: INT,"
    " has_retention_lock: BOOLEAN"
)
_SET = (
    f"id: STRING, {_PLACE}, owner: STRING, comment: STRING, object_kind: STRING, object_name: STRING,"
    " object_schema: STRING, object_catalog: STRING, policy_id: STRING, policy_name: STRING,"
    " policy_schema: STRING, policy_catalog: STRING, is_creation_suspended: BOOLEAN,"
    " is_expiration_suspended: BOOLEAN"
)
_BACKUP = (
    "id: STRING, set_id: STRING, set_name: STRING, set_schema: STRING, set_catalog: STRING,"
    " expiration_scheduled_for: TIMESTAMP, is_under_legal_hold: BOOLEAN, is_scheduled: BOOLEAN,"
    " bytes: BIGINT, files: BIGINT, tables: BIGINT, deleted_by: STRING"
)
COLUMNS = (
    ("kind", "STRING", "POLICY, SET or BACKUP"),
    ("created", "TIMESTAMP", "When it was made (UTC)"),
    ("last_altered", "TIMESTAMP", "When a statement or a run changed it last (UTC)"),
    ("deleted", "TIMESTAMP", "When it was dropped, deleted, or had expired (UTC); null for what is there"),
    ("policy", f"STRUCT<{_POLICY}>", "Of a backup policy"),
    ("backup_set", f"STRUCT<{_SET}>", "Of a backup set"),
    ("backup", f"STRUCT<{_BACKUP}>", "Of a backup"),
)
"""Name, type and meaning of each."""
_DELETED_BY = {"DELETE_BACKUP": "STATEMENT", "DROP_SET": "DROP", "EXPIRE_BACKUP": "EXPIRATION"}


@dataclass(slots=True)
class _Known:
    """What is known of one object: its row but for the times, and these."""

    kind: str
    created: int
    altered: int
    row: tuple[Any, ...]
    deleted: int | None = None


@dataclass(slots=True)
class _History:
    known: dict[str, _Known] = field(default_factory=dict)

    def put(self, key: str, kind: str, created: int, at: int, row: tuple[Any, ...]) -> None:
        """Note an object as it is now; it was changed where it is not as before."""
        before = self.known.get(key)
        if before is None:
            self.known[key] = _Known(kind, created, at, row)
        elif before.row != row:
            before.altered, before.row = at, row

    def end(self, key: str, at: int) -> None:
        """Note that an object is gone."""
        known = self.known[key]
        known.deleted = known.altered = at


def backup_rows(events: Iterable[BackupEvent]) -> list[tuple[Any, ...]]:
    """The rows that events lead to, in the order in which the objects were made.

    >>> from audit.time_travel.backups.model.events import BackupEvent
    >>> of = {"domain": "Table", "of": "c.s.t"}
    >>> made = BackupEvent(1_000_000, "CREATE_SET", "e", name="c.s.b", details=of)
    >>> gone = BackupEvent(2_000_000, "DROP_SET", "f", of_id="e", name="c.s.b")
    >>> [(row[0], str(row[1]), str(row[3])) for row in backup_rows([made, gone])]
    [('SET', '1970-01-01 00:00:01+00:00', '1970-01-01 00:00:02+00:00')]

    Args:
        events: oldest first.

    Raises:
        BackupHistoryError: an event is of a newer version.
    """
    found, state = _History(), BackupState()
    for event in events:
        before, state = state, state_after([event], state)
        _note(found, event, before, state)
    return [_row(one) for one in found.known.values()]


def _note(found: _History, event: BackupEvent, before: BackupState, state: BackupState) -> None:
    """What an event has changed: the objects of which it tells, and those that hang on them."""
    at = event.time
    for policy_id in before.policies.keys() - state.policies.keys():
        found.end(policy_id, at)
    for set_id in before.sets.keys() - state.sets.keys():
        found.end(set_id, at)
    for set_id in before.backups.keys() | state.backups.keys():
        there, now = before.backups.get(set_id, {}), state.backups.get(set_id, {})
        for backup_id in there.keys() - now.keys():
            known = found.known[backup_id]
            known.row = (*known.row[:-1], _DELETED_BY.get(event.event))
            found.end(backup_id, at)
    told = {event.event_id, event.of_id or ""}
    policies = told & state.policies.keys()
    sets = (told & state.sets.keys()) | {one.set_id for one in state.sets.values() if one.policy in policies}
    for concerned in policies:
        policy = state.policies[concerned]
        found.put(policy.policy_id, "POLICY", policy.created, at, _policy(policy))
    for concerned in sets:
        one = state.sets[concerned]
        found.put(one.set_id, "SET", one.created, at, _set(one, state))
        for backup in state.backups_of(one).values():
            found.put(backup.backup_id, "BACKUP", backup.created, at, _backup(backup, one, state, at))


def _row(one: _Known) -> tuple[Any, ...]:
    structs = {kind: one.row if kind == one.kind else None for kind in ("POLICY", "SET", "BACKUP")}
    ended = None if one.deleted is None else to_datetime(one.deleted)
    return (
        one.kind, to_datetime(one.created), to_datetime(one.altered), ended, *structs.values(),
    )  # fmt: skip


def _policy(one: BackupPolicy) -> tuple[Any, ...]:
    catalog, schema, name = split_name(one.name)
    return (
        one.policy_id, name, schema, catalog, one.owner, one.comment, one.schedule, one.expire_after_days,
        one.has_retention_lock,
    )  # fmt: skip


def _set(one: BackupSet, state: BackupState) -> tuple[Any, ...]:
    catalog, schema, name = split_name(one.name)
    of = split_name(one.of)
    policy = state.policy_of(one)
    applied = (None, None, None) if policy is None else tuple(reversed(split_name(policy.name)))
    return (
        one.set_id, name, schema, catalog, one.owner, one.comment, one.domain.value.upper(), of[-1],
        of[1] if one.domain is Domain.TABLE else of[-1], of[0], one.policy, *applied,
        one.is_creation_suspended, one.is_expiration_suspended,
    )  # fmt: skip


def _backup(one: Backup, known: BackupSet, state: BackupState, at: int) -> tuple[Any, ...]:
    catalog, schema, name = split_name(known.name)
    expires = state.expiration_scheduled_for(one, at)
    content = one.content
    return (
        one.backup_id, one.set_id, name, schema, catalog,
        None if expires is None else to_datetime(expires), one.is_held, one.planned is not None,
        content.get("bytes"), content.get("files"), content.get("tables"), None,
    )  # fmt: skip
