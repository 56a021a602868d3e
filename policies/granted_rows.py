"""BigQuery's row access policies: each belongs to a table, and is granted to users and groups.

In: a command as lineage has read it, its table, and the state. Out: the events that it comes to. Of the
policies that are granted to whoever reads one has to let a row through; who is granted none sees no row
(BigQuery, Introduction to row-level security; CREATE ROW ACCESS POLICY). A user is current_user(), a group a
role of theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.model import Column, Domain, Policy
from lineage.names import quote_name, sql_text
from lineage.tokens import tokenize
from policies.errors import BadPolicyError, PolicyExistsError, UnknownPolicyError
from policies.events import Event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from audit.by import By
    from lineage.statement import Command
    from policies.governor import Found, Governor
    from policies.state import State, Use

_GRANTEES = {
    "user": "current_user() = {}",
    "serviceAccount": "current_user() = {}",
    "group": "is_role_in_session({})",
    "domain": "endswith(current_user(), concat('@', {}))",
}


def rows_granted(command: Command, found: Found, governor: Governor, by: By, state: State) -> list[Event]:
    """CREATE [OR REPLACE] ROW ACCESS POLICY … ON … or DROP ROW ACCESS POLICY … ON …."""
    table, label = quote_name(found.name), command.target[0].casefold()
    known = state.objects.get(found.key or "")
    grants = {} if known is None else known.grants
    if command.policy is None:
        return _dropped(command, grants, found, by)
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
    name = quote_name((*found.name, command.target[0]))
    columns = _named(command.policy.body, found)
    body = f"({_granted(command.grantees, name)}) AND ({command.policy.body})"
    parameters = tuple(Column(column[0], column[3]) for column in columns)
    policy = Policy(name, Domain.ROW_ACCESS_POLICY, body, parameters, None, "BOOLEAN")
    governor.check(policy)
    if found.key in governor.reads(policy):
        raise BadPolicyError(
            f"policy {name} reads {table}, which it is to protect",
            "keep what it looks up in a table of its own",
        )
    replaced = revoked({label: grants[label]}, found, by) if label in grants else []
    details = {
        "domain": policy.domain.value,
        "body": body,
        "parameters": [[one.name, one.type] for one in parameters],
        "returns": "BOOLEAN",
    }
    made = Event(by.time, "CREATE_POLICY", by.new_id(), None, None, name, by.user, None, by.query_id, details)
    return [*replaced, made, _event(by, "GRANT_ROWS", made.event_id, found, label, columns)]


def revoked(grants: Mapping[str, Use], found: Found, by: By) -> list[Event]:
    """The events that take policies off their table."""
    return [_event(by, "REVOKE_ROWS", use.policy, found, label, []) for label, use in grants.items()]


def _dropped(command: Command, grants: Mapping[str, Use], found: Found, by: By) -> list[Event]:
    table, label = quote_name(found.name), command.target[0].casefold()
    if label not in grants:
        if command.if_clause:
            return []
        raise UnknownPolicyError(
            f"{table} has no row access policy {command.target[0]}", "there is nothing to drop"
        )
    if len(grants) == 1:
        raise BadPolicyError(
            f"row access policy {command.target[0]} is the last of {table}: without it everybody would"
            " see all",
            "say so by DROP ALL ROW ACCESS POLICIES ON the table",
        )
    return revoked({label: grants[label]}, found, by)


def _granted(grantees: Sequence[str], name: str) -> str:
    """The condition that whoever reads is among the grantees."""
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
    return " OR ".join(found) or "false"


def _named(body: str, found: Found) -> list[tuple[str, str, int, str]]:
    """The columns whose names occur in a filter: its parameters."""
    names = dict.fromkeys(token.text.lower() for token in tokenize(body) or [])
    return [found.columns[name] for name in names if name in found.columns]


def _event(
    by: By, kind: str, policy: str, found: Found, label: str, columns: Sequence[tuple[str, str, int, str]]
) -> Event:
    details = {
        "object_domain": (Domain.VIEW if found.is_view else Domain.TABLE).value,
        "object_id": found.object_id,
        "columns": [[key, name, identity] for name, key, identity, _ in columns],
        "granted": label,
    }
    name = quote_name(found.name)
    return Event(by.time, kind, by.new_id(), policy, found.key, name, by.user, None, by.query_id, details)
