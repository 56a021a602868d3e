"""CREATE, ALTER, RENAME and DROP of masking and row access policies.

In: a parsed command and the state. Out: the events of the command, or an error. Rules are those of the
access-history document and of Snowflake's CREATE MASKING POLICY and CREATE ROW ACCESS POLICY.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from audit.policies.errors import BadPolicyError, PolicyExistsError, PolicyInUseError, UnknownPolicyError
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.types import fits, spark_type
from lineage.model import Column, Domain, Policy
from lineage.names import split_name

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import Enforcer
    from audit.policies.model.governed_objects import StoredPolicy
    from audit.policies.model.state import GovernanceState
    from lineage.sql.commands.command import Command


def create_policy(
    command: Command, name: str, new_name: str, enforcer: Enforcer, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """CREATE [OR REPLACE] … POLICY [IF NOT EXISTS]."""
    del new_name
    given = command.policy
    if given is None:
        raise BadPolicyError(
            f"policy {name} has no definition", "write AS (value TYPE) RETURNS TYPE -> expression"
        )
    _require_in_a_schema(name)
    known = state.find(given.domain, name)
    if known is not None and command.if_clause:
        return []
    if known is not None and not command.replace:
        raise PolicyExistsError(
            f"{given.domain.value.lower()} {name} is there already",
            "use ALTER … SET BODY, CREATE OR REPLACE, or another name",
        )
    policy = _checked(given, name, enforcer)
    events = [] if known is None else [_dropping(known[0], known[1], state, actor)]
    details = {
        "domain": policy.domain.value,
        "body": policy.body,
        "parameters": [[column.name, column.type] for column in policy.parameters],
        "returns": policy.data_type,
        "comment": dict(command.properties).get("comment"),
    }
    return [*events, _event(actor, "CREATE_POLICY", name=name, details=details)]


def alter_policy(
    command: Command, name: str, new_name: str, enforcer: Enforcer, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """ALTER … POLICY [IF EXISTS] … SET BODY | SET COMMENT | UNSET COMMENT."""
    del new_name
    known = _known(command, name, state)
    if known is None:
        return []
    properties = dict(command.properties)
    if "body" in properties:
        policy = replace(known[1].policy, body=properties["body"] or "")
        enforcer.check_policy(policy)
        return [_event(actor, "SET_BODY", known[0], name, {"body": policy.body})]
    return [_event(actor, "SET_COMMENT", known[0], name, {"comment": properties["comment"]})]


def rename_policy(
    command: Command, name: str, new_name: str, enforcer: Enforcer, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """ALTER … POLICY [IF EXISTS] … RENAME TO."""
    del enforcer
    known = _known(command, name, state)
    if known is None:
        return []
    _require_in_a_schema(new_name)
    domain = known[1].policy.domain
    if state.find(domain, new_name) is not None:
        raise PolicyExistsError(f"{domain.value.lower()} {new_name} is there already", "choose another name")
    return [_event(actor, "RENAME_POLICY", known[0], new_name)]


def drop_policy(
    command: Command, name: str, new_name: str, enforcer: Enforcer, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """DROP … POLICY [IF EXISTS]."""
    del new_name, enforcer
    known = _known(command, name, state)
    return [] if known is None else [_dropping(known[0], known[1], state, actor)]


def _require_in_a_schema(name: str) -> None:
    # A policy below a table is BigQuery's, and needs no CREATE on a schema.
    if len(split_name(name)) > len(("catalog", "schema", "policy")):
        raise BadPolicyError(f"policy {name} lies in no schema", "name it catalog.schema.policy, or less")


def _dropping(identity: str, known: StoredPolicy, state: GovernanceState, actor: Actor) -> GovernanceEvent:
    policy = known.policy
    used = sorted(one.name for one in state.users_of(identity))
    used += sorted(f"what carries tag {tag.name}" for tag in state.tags_of(identity))
    # Snowflake refuses to drop a policy that is set on something.
    if used:
        others = f" and {len(used) - 3} more" if len(used) > 3 else ""  # noqa: PLR2004 - enough to find them
        raise PolicyInUseError(
            f"{policy.domain.value.lower()} {policy.name} protects {', '.join(used[:3])}{others}",
            "take it off first, or change it by ALTER … SET BODY",
        )
    return _event(actor, "DROP_POLICY", identity, policy.name)


def _known(command: Command, name: str, state: GovernanceState) -> tuple[str, StoredPolicy] | None:
    domain = command.domain or Domain.MASKING_POLICY
    known = state.find(domain, name)
    if known is None and not command.if_clause:
        raise UnknownPolicyError(
            f"there is no {domain.value.lower()} {name}", "look at its schema and spelling"
        )
    return known


def _checked(given: Policy, name: str, enforcer: Enforcer) -> Policy:
    """A definition under its full name, in Spark's types."""
    parameters = tuple(Column(column.name, spark_type(column.type)) for column in given.parameters)
    policy = replace(given, name=name, parameters=parameters, data_type=spark_type(given.data_type))
    if not parameters:
        raise BadPolicyError(
            f"policy {name} has no parameter", "name the column that it is about: AS (val STRING)"
        )
    # Spark resolves the parameters of a body without case, by default.
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
    enforcer.check_policy(policy)
    return policy


def _event(
    actor: Actor,
    kind: str,
    of_id: str | None = None,
    name: str = "",
    details: Mapping[str, object] | None = None,
) -> GovernanceEvent:
    return GovernanceEvent.of(actor, kind, of_id=of_id, name=name, details=details or {})
