"""BigQuery's row access policies: each belongs to a table, and is granted to users and groups.

In: a parsed command, its table, and the state. Out: the events of the command. A user sees the rows that pass
one of the policies granted to them, and no row without a grant (BigQuery, Introduction to row-level security;
CREATE ROW ACCESS POLICY). A user is current_user(); a group is a role.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.policies.errors import BadPolicyError, PolicyExistsError, UnknownPolicyError
from audit.policies.model.events import GovernanceEvent
from audit.policies.statements.attachment_event import attachment_event
from lineage.model import Column, Domain, Policy
from lineage.names import quote_name, sql_text
from lineage.sql.tokens import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import CatalogObject, Enforcer
    from audit.policies.model.governed_objects import PolicyUse
    from audit.policies.model.state import GovernanceState
    from lineage.sql.commands.command import Command

# BigQuery's principals as conditions on the audited user; its groups are roles here.
_GRANTEES = {
    "user": "current_user() = {}",
    "serviceAccount": "current_user() = {}",
    "group": "is_role_in_session({})",
    "domain": "endswith(current_user(), concat('@', {}))",
}


def row_policy_events(
    command: Command, found: CatalogObject, enforcer: Enforcer, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """CREATE [OR REPLACE] ROW ACCESS POLICY … ON … or DROP ROW ACCESS POLICY … ON …."""
    table, label = quote_name(found.name), command.target[0].casefold()
    known = state.objects.get(found.key or "")
    grants = {} if known is None else known.grants
    if command.policy is None:
        return _dropped(command, grants, found, actor)
    # BigQuery's policies are alternatives, Snowflake's holds for everybody: a table has one of the two kinds.
    if found.key is None or (known is not None and known.rows):
        raise PolicyExistsError(
            f"{table} has a row access policy for everybody already, or cannot be told apart",
            "DROP ALL ROW ACCESS POLICIES first",
        )
    if label in grants and command.if_clause:
        return []
    if label in grants and not command.replace:
        raise PolicyExistsError(
            f"row access policy {command.target[0]} is on {table} already",
            "use CREATE OR REPLACE, or another name",
        )
    # The name of such a policy is unique within its table (BigQuery), so it is put behind the name of the
    # table.
    name = quote_name((*found.name, command.target[0]))
    # A filter of BigQuery's names columns of its table; as a policy it needs them for parameters.
    columns = _named(command.policy.body, found)
    # The grantees are a part of the condition: a role that is granted later counts at the next read.
    body = f"({_granted(command.grantees, name)}) AND ({command.policy.body})"
    parameters = tuple(Column(column[0], column[3]) for column in columns)
    policy = Policy(name, Domain.ROW_ACCESS_POLICY, body, parameters, None, "BOOLEAN")
    enforcer.check_policy(policy)
    if found.key in enforcer.reads(policy):
        raise BadPolicyError(
            f"policy {name} reads {table}, which it is to protect",
            "move the rows that it looks up to another table",
        )
    replaced = revoke_row_policies({label: grants[label]}, found, actor) if label in grants else []
    details = {
        "domain": policy.domain.value,
        "body": body,
        "parameters": [[one.name, one.type] for one in parameters],
        "returns": "BOOLEAN",
    }
    made = GovernanceEvent.of(actor, "CREATE_POLICY", name=name, details=details)
    return [
        *replaced,
        made,
        attachment_event(actor, "GRANT_ROWS", made.event_id, found, columns, granted=label),
    ]


def revoke_row_policies(
    grants: Mapping[str, PolicyUse], found: CatalogObject, actor: Actor
) -> list[GovernanceEvent]:
    """The events that remove policies from their table."""
    return [
        attachment_event(actor, "REVOKE_ROWS", use.policy, found, [], granted=label)
        for label, use in grants.items()
    ]


def _dropped(
    command: Command, grants: Mapping[str, PolicyUse], found: CatalogObject, actor: Actor
) -> list[GovernanceEvent]:
    table, label = quote_name(found.name), command.target[0].casefold()
    if label not in grants:
        if command.if_clause:
            return []
        raise UnknownPolicyError(
            f"{table} has no row access policy {command.target[0]}", "there is nothing to drop"
        )
    # BigQuery refuses it, too (DROP ROW ACCESS POLICY: the last policy).
    if len(grants) == 1:
        raise BadPolicyError(
            f"row access policy {command.target[0]} is the last of {table}: without it everybody would"
            " see all",
            "say so by DROP ALL ROW ACCESS POLICIES ON the table",
        )
    return revoke_row_policies({label: grants[label]}, found, actor)


def _granted(grantees: Sequence[str], name: str) -> str:
    """The SQL condition that the reading user is among the grantees."""
    found = []
    for grantee in grantees:
        kind, _, who = grantee.partition(":")
        if grantee == "allAuthenticatedUsers":
            return "true"
        if kind not in _GRANTEES or not who:
            raise BadPolicyError(
                f"policy {name} is granted to {grantee!r}, which stands for nobody",
                "write 'user:…', 'group:…', 'domain:…', 'serviceAccount:…' or 'allAuthenticatedUsers'",
            )
        found.append(_GRANTEES[kind].format(sql_text(who)))
    # A policy without grantees shows no row.
    return " OR ".join(found) or "false"


def _named(body: str, found: CatalogObject) -> list[tuple[str, str, int, str]]:
    """The columns whose names occur in a filter: its parameters."""
    return [found.columns[name] for name in words_of(body) if name in found.columns]
