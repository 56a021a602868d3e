"""What happens to backups when a schema is dropped or renamed.

In: the state and the name of a schema. Out: events, or a refusal. A table may be dropped: its backups lie in
their sets. A set that goes with its schema does not come back with UNDROP: its backups have been deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.time_travel.backups.model.events import BackupEvent
from audit.time_travel.backups.rules.set_rules import require_unbound
from audit.time_travel.errors import BackupPolicyInUseError
from lineage.names import split_name

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.time_travel.backups.model.state import BackupState
    from audit.time_travel.backups.rules.policy_rules import Events


def drop_container(state: BackupState, container: str, actor: Actor) -> Events:
    """DROP SCHEMA, or of all schemas of a catalog: the sets and policies in it go with it.

    "You can't drop a schema that contains a backup set with any unexpired backups", nor a database, nor an
    account with one (Backups, Retention lock). A policy that a set elsewhere is under stays, or a lock could
    be taken away with the schema of its policy.

    Args:
        state: of all backups.
        container: the full name of the schema, or the catalog.
        actor: who drops it.

    Raises:
        BackupHeldError: a set in it has a backup under a legal hold.
        BackupLockedError: a set in it has a backup under a retention lock that has not expired.
        BackupPolicyInUseError: a policy in it is applied to a set that is not in it.
    """
    sets = [one for one in state.sets.values() if _is_in(one.name, container)]
    policies = [one for one in state.policies.values() if _is_in(one.name, container)]
    for one in sets:
        require_unbound(state, one, actor.time, f"to drop schema {container}")
    for policy in policies:
        others = [one for one in state.users_of(policy) if not _is_in(one.name, container)]
        if others:
            raise BackupPolicyInUseError(
                f"backup policy {policy.name} in schema {container} is applied to backup set"
                f" {others[0].name}",
                f"rename the policy into another schema: ALTER BACKUP POLICY {policy.name} RENAME TO …",
            )
    return (
        *(BackupEvent.of(actor, "DROP_SET", of_id=one.set_id, name=one.name) for one in sets),
        *(BackupEvent.of(actor, "DROP_POLICY", of_id=one.policy_id, name=one.name) for one in policies),
    )


def _is_in(name: str, container: str) -> bool:
    wanted = [part.casefold() for part in split_name(container)]
    return [part.casefold() for part in split_name(name)][: len(wanted)] == wanted
