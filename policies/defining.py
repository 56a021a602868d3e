"""CREATE, ALTER, RENAME and DROP of masking and row access policies.

In: a command as lineage has read it, and the state that it meets. Out: the events that it comes to; an error
where it cannot be. Rules are those of the access-history document and of Snowflake's CREATE MASKING POLICY
and CREATE ROW ACCESS POLICY.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lineage.model import Column, Domain, Policy
from policies.errors import BadPolicyError, PolicyExistsError, PolicyInUseError, UnknownPolicyError
from policies.events import Event
from policies.types import fits, spark_type

if TYPE_CHECKING:
    from audit.by import By
    from lineage.statement import Command
    from policies.governor import Governor
    from policies.state import Defined, State


def created(
    command: Command, name: str, new_name: str, governor: Governor, by: By, state: State
) -> list[Event]:
    """CREATE [OR REPLACE] … POLICY [IF NOT EXISTS]."""
    del new_name
    given = command.policy
    if given is None:
        raise BadPolicyError(
            f"policy {name} has no definition", "write AS (value TYPE) RETURNS TYPE -> expression"
        )
    known = state.find(given.domain, name)
    if known is not None and command.if_clause:
        return []
    if known is not None and not command.replace:
        raise PolicyExistsError(
            f"{given.domain.value.lower()} {name} is there already",
            "use ALTER … SET BODY, CREATE OR REPLACE, or another name",
        )
    policy = _checked(given, name, governor)
    events = [] if known is None else [_dropping(known[0], known[1], state, by)]
    details = {
        "domain": policy.domain.value,
        "body": policy.body,
        "parameters": [[column.name, column.type] for column in policy.parameters],
        "returns": policy.data_type,
        "comment": dict(command.properties).get("comment"),
    }
    return [*events, _event(by, "CREATE_POLICY", name=name, details=details)]


def altered(
    command: Command, name: str, new_name: str, governor: Governor, by: By, state: State
) -> list[Event]:
    """ALTER … POLICY [IF EXISTS] … SET BODY | SET COMMENT | UNSET COMMENT."""
    del new_name
    known = _known(command, name, state)
    if known is None:
        return []
    said = dict(command.properties)
    if "body" in said:
        policy = replace(known[1].policy, body=said["body"] or "")
        governor.check(policy)
        return [_event(by, "SET_BODY", known[0], name, {"body": policy.body})]
    return [_event(by, "SET_COMMENT", known[0], name, {"comment": said["comment"]})]


def renamed(
    command: Command, name: str, new_name: str, governor: Governor, by: By, state: State
) -> list[Event]:
    """ALTER … POLICY [IF EXISTS] … RENAME TO."""
    del governor
    known = _known(command, name, state)
    if known is None:
        return []
    domain = known[1].policy.domain
    if state.find(domain, new_name) is not None:
        raise PolicyExistsError(f"{domain.value.lower()} {new_name} is there already", "choose another name")
    return [_event(by, "RENAME_POLICY", known[0], new_name)]


def dropped(
    command: Command, name: str, new_name: str, governor: Governor, by: By, state: State
) -> list[Event]:
    """DROP … POLICY [IF EXISTS]."""
    del new_name, governor
    known = _known(command, name, state)
    return [] if known is None else [_dropping(known[0], known[1], state, by)]


def _dropping(identity: str, known: Defined, state: State, by: By) -> Event:
    policy = known.policy
    used = sorted(one.name for one in state.users_of(identity))
    used += sorted(f"what carries tag {tag.name}" for tag in state.tags_of(identity))
    if used:
        others = f" and {len(used) - 3} more" if len(used) > 3 else ""  # noqa: PLR2004 - enough to find them
        raise PolicyInUseError(
            f"{policy.domain.value.lower()} {policy.name} protects {', '.join(used[:3])}{others}",
            "take it off first, or change it by ALTER … SET BODY",
        )
    return _event(by, "DROP_POLICY", identity, policy.name)


def _known(command: Command, name: str, state: State) -> tuple[str, Defined] | None:
    domain = command.domain or Domain.MASKING_POLICY
    known = state.find(domain, name)
    if known is None and not command.if_clause:
        raise UnknownPolicyError(
            f"there is no {domain.value.lower()} {name}", "look at its schema and spelling"
        )
    return known


def _checked(given: Policy, name: str, governor: Governor) -> Policy:
    """A definition under its full name, in Spark's types."""
    parameters = tuple(Column(column.name, spark_type(column.type)) for column in given.parameters)
    policy = replace(given, name=name, parameters=parameters, data_type=spark_type(given.data_type))
    if not parameters:
        raise BadPolicyError(
            f"policy {name} has no parameter", "name the column that it is about: AS (val STRING)"
        )
    names = [column.name.lower() for column in parameters]
    if len(set(names)) < len(names):
        raise BadPolicyError(f"policy {name} has two parameters of one name", "give each its own")
    if policy.domain is Domain.ROW_ACCESS_POLICY and policy.data_type.upper() != "BOOLEAN":
        raise BadPolicyError(f"row access policy {name} returns {policy.data_type}", "let it RETURN BOOLEAN")
    if policy.domain is Domain.MASKING_POLICY and not fits(parameters[0].type, policy.data_type):
        raise BadPolicyError(
            f"masking policy {name} takes {parameters[0].type} and returns {policy.data_type}",
            "a mask keeps the type of its column: let both be the same",
        )
    governor.check(policy)
    return policy


def _event(
    by: By, kind: str, of_id: str | None = None, name: str = "", details: Mapping[str, object] | None = None
) -> Event:
    return Event(by.time, kind, by.new_id(), of_id, None, name, by.user, None, by.query_id, details or {})
