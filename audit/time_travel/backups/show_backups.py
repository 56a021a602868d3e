"""SHOW and DESCRIBE of backup policies, backup sets and backups, in Snowflake's columns.

In: the parsed statement, the state and who asks. Out: the columns and the rows, by name; backups in the
order in which they were made. `database_name` is the catalog. Sources: Snowflake's SHOW BACKUP POLICIES, SHOW
BACKUP SETS, SHOW BACKUPS IN BACKUP SET and the DESCRIBEs, each under Output; `bytes` of a backup is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime
from audit.time_travel.backups.rules.policy_rules import find_policy
from audit.time_travel.backups.rules.requests import ACCOUNT, APPLY, APPLY_HOLD, APPLY_POLICY, OWNERSHIP
from audit.time_travel.backups.rules.requests import of_policy as securable_policy
from audit.time_travel.backups.rules.requests import of_set as securable_set
from audit.time_travel.backups.rules.set_rules import find_set
from lineage.model import Domain
from lineage.names import split_name
from lineage.sql.commands.backups.statements import DescribeBackups, ShowBackups
from lineage.sql.commands.command import CURRENT_SCHEMA
from lineage.sql.like_patterns import like_matcher

if TYPE_CHECKING:
    from audit.time_travel.backups.model.state import Backup, BackupPolicy, BackupSet, BackupState
    from audit.time_travel.backups.rules.requests import Request

Row = tuple[Any, ...]
POLICY_COLUMNS = (
    "created_on TIMESTAMP, name STRING, database_name STRING, schema_name STRING, owner STRING,"
    " comment STRING, schedule STRING, expire_after_days INT, has_retention_lock STRING"
)
SET_COLUMNS = (
    "created_on TIMESTAMP, name STRING, database_name STRING, schema_name STRING, object_kind STRING,"
    " object_name STRING, object_database_name STRING, object_schema_name STRING, owner STRING,"
    " comment STRING, backup_policy_name STRING, backup_policy_database_name STRING,"
    " backup_policy_schema_name STRING, backup_creation_policy_state STRING,"
    " backup_expiration_policy_state STRING"
)
BACKUP_COLUMNS = (
    "created_on TIMESTAMP, backup_id STRING, backup_set_name STRING, database_name STRING,"
    " schema_name STRING, expiration_scheduled_for TIMESTAMP, is_under_legal_hold STRING, bytes BIGINT"
)
_CATALOG_AND_SCHEMA = 2


def show(command: ShowBackups, state: BackupState, request: Request) -> tuple[str, list[Row]]:
    """Columns and rows of a SHOW: what the user may do nothing with is left out.

    Raises:
        UnknownBackupError: there is no such backup set.
    """
    if command.what == "BACKUPS":
        known = find_set(state, request.full(command.backup_set))
        rows = [_backup(one, known, state, request) for one in state.backups_of(known).values()]
        seen = rows if _sees_set(known, request) else []
        return BACKUP_COLUMNS, list(_chosen(command, ((row[1], row) for row in seen)))
    wanted = _schema(command, request.current)

    def inside(name: str) -> bool:
        parts = [part.casefold() for part in split_name(name)]
        return parts[: len(wanted)] == wanted

    found: Iterator[tuple[str, Row]]
    if command.what == "POLICIES":
        policies = sorted(state.policies.values(), key=lambda one: split_name(one.name))
        found = (
            (split_name(one.name)[-1], _policy(one))
            for one in policies
            if inside(one.name) and _sees_policy(one, request)
        )
        return POLICY_COLUMNS, list(_chosen(command, found))
    sets = sorted(state.sets.values(), key=lambda one: split_name(one.name))
    found = (
        (split_name(one.name)[-1], _set(one, state))
        for one in sets
        if inside(one.name) and _sees_set(one, request)
    )
    return SET_COLUMNS, list(_chosen(command, found))


def describe(command: DescribeBackups, state: BackupState, request: Request) -> tuple[str, list[Row]]:
    """Columns and row of a DESCRIBE.

    Raises:
        UnknownBackupError: there is no such policy or set, or none that the user may do anything with.
    """
    name = request.full(command.name)
    if command.domain is Domain.BACKUP_POLICY:
        policy = find_policy(state, name)
        if not _sees_policy(policy, request):
            find_policy(type(state)(), name)
        return POLICY_COLUMNS, [_policy(policy)]
    known = find_set(state, name)
    if not _sees_set(known, request):
        find_set(type(state)(), name)
    return SET_COLUMNS, [_set(known, state)]


def _sees_policy(policy: BackupPolicy, request: Request) -> bool:
    on, holds = securable_policy(policy), request.privileges.holds
    return holds(OWNERSHIP, on) or holds(APPLY, on) or holds(APPLY_POLICY, ACCOUNT)


def _sees_set(backup_set: BackupSet, request: Request) -> bool:
    holds = request.privileges.holds
    return holds(OWNERSHIP, securable_set(backup_set)) or holds(APPLY_HOLD, ACCOUNT)


def _schema(command: ShowBackups, current: tuple[str, str]) -> list[str]:
    """The catalog, or catalog and schema, in lower case; [] for all."""
    if command.schema is None:
        return []
    if command.schema == CURRENT_SCHEMA:
        parts: tuple[str, ...] = current
    elif not command.schema or [*command.schema] == [current[0]]:
        parts = current[:1]
    else:
        parts = (*current[: max(0, _CATALOG_AND_SCHEMA - len(command.schema))], *command.schema)
    return [part.casefold() for part in parts]


def _chosen(command: ShowBackups, found: Iterator[tuple[str, Row]]) -> Iterator[Row]:
    like: Callable[[str], bool] = like_matcher(command.like)
    begun, left = not command.following, command.limit
    for name, row in found:
        begun = begun or name.startswith(command.following)
        if not (begun and like(name) and name.startswith(command.starts_with)):
            continue
        if left is not None:
            if left <= 0:
                return
            left -= 1
        yield row


def _policy(one: BackupPolicy) -> Row:
    catalog, schema, name = split_name(one.name)
    return (
        to_datetime(one.created), name, catalog, schema, one.owner, one.comment, one.schedule,
        one.expire_after_days, "Y" if one.has_retention_lock else "N",
    )  # fmt: skip


def _set(one: BackupSet, state: BackupState) -> Row:
    catalog, schema, name = split_name(one.name)
    of = split_name(one.of)
    is_table = one.domain is Domain.TABLE
    policy = state.policy_of(one)
    applied = (None, None, None) if policy is None else tuple(reversed(split_name(policy.name)))
    policy_name, policy_schema, policy_catalog = applied

    def told(*, suspended: bool) -> str | None:
        return None if policy is None else "SUSPENDED" if suspended else "STARTED"

    return (
        to_datetime(one.created), name, catalog, schema, one.domain.value.upper(), of[-1], of[0],
        of[1] if is_table else of[-1], one.owner, one.comment, policy_name, policy_catalog, policy_schema,
        told(suspended=one.is_creation_suspended), told(suspended=one.is_expiration_suspended),
    )  # fmt: skip


def _backup(one: Backup, known: BackupSet, state: BackupState, request: Request) -> Row:
    catalog, schema, name = split_name(known.name)
    expires = state.expiration_scheduled_for(one, request.actor.time)
    return (
        to_datetime(one.created), one.backup_id, name, catalog, schema,
        None if expires is None else to_datetime(expires), "Y" if one.is_held else "N",
        one.content.get("bytes"),
    )  # fmt: skip
