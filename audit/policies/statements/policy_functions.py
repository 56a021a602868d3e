"""Databricks' mask and filter functions: each gets a policy with the function's body.

In: a parsed clause, the function that it names, and the state. Out: the policy that stands for the function,
created if needed. The policy holds a copy of the body: replacing the function in Spark's catalog by another
way does not change what is hidden. An administrator's CREATE OR REPLACE FUNCTION changes both (Databricks:
ROW FILTER clause, column mask clause).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.policies.errors import BadPolicyError, PolicyInUseError
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.types import kind_of
from lineage.model import Domain, Policy
from lineage.names import qualify, quote_name

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import Enforcer
    from audit.policies.model.governed_objects import StoredPolicy
    from audit.policies.model.state import GovernanceState
    from lineage.model import Function
    from lineage.sql.commands.command import Change


def policy_of_function(
    change: Change, current: tuple[str, str], state: GovernanceState
) -> tuple[str, StoredPolicy]:
    """The policy that stands for the function of a clause, with its id; it must exist."""
    found = state.functions[_key(change, current)]
    return found, state.policies[found]


def function_policy_events(
    change: Change, current: tuple[str, str], enforcer: Enforcer, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """The event that creates or updates the policy of a function; none if it is up to date.

    Raises:
        UnknownPolicyError: there is no such function.
        BadPolicyError: it is no SQL expression, or a filter of another type than BOOLEAN.
    """
    domain, name = _key(change, current)
    function = enforcer.function(qualify(change.name, current))
    known = state.functions.get((domain, name))
    if domain is Domain.ROW_ACCESS_POLICY and function.data_type.upper() != "BOOLEAN":
        raise BadPolicyError(
            f"function {function.name} returns {function.data_type}", "let it return BOOLEAN"
        )
    body = function.body or ""
    policy = Policy(function.name, domain, body, function.parameters, None, function.data_type)
    if known is not None and _same(state.policies[known].policy, policy):
        return []
    require_same(function, name, state)
    enforcer.check_policy(policy)
    # Spark's catalog was changed by another way: taking the new body over could show hidden data on all its
    # tables.
    if known is not None and state.users_of(known):
        raise PolicyInUseError(
            f"function {function.name} was changed past the audit, and protects what other tables hold",
            f"CREATE OR REPLACE FUNCTION {function.name} as it is to be, as an administrator",
        )
    if known is not None:
        return [_event(actor, "SET_BODY", known, function.name, _function_details(function))]
    details = {**_function_details(function), "domain": domain.value, "function": True}
    return [_event(actor, "CREATE_POLICY", None, function.name, details)]


def _same(one: Policy, other: Policy) -> bool:
    return (one.body, one.parameters, one.data_type) == (other.body, other.parameters, other.data_type)


def policies_calling(name: str, state: GovernanceState) -> list[str]:
    """The objects that a function masks or filters, by its fully qualified name."""
    found = {one.name for policy in _policies_of(name, state) for one in state.users_of(policy)}
    return sorted(found)


def _policies_of(name: str, state: GovernanceState) -> list[str]:
    domains = (Domain.MASKING_POLICY, Domain.ROW_ACCESS_POLICY)
    found = (state.functions.get((domain, name.casefold())) for domain in domains)
    return [policy for policy in found if policy is not None]


def replaced_function_events(
    function: Function, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """The events that take over the new body of a replaced function."""
    return [
        _event(actor, "SET_BODY", policy, function.name, _function_details(function))
        for policy in _policies_of(function.name, state)
    ]


def require_same(function: Function, name: str, state: GovernanceState) -> None:
    """Refuse to replace a mask or filter function by one with other parameter or result types.

    Raises:
        BadPolicyError: the types differ.
    """
    for policy in _policies_of(name, state):
        known = state.policies[policy].policy
        old = [*(one.type for one in known.parameters), known.data_type]
        new = [*(one.type for one in function.parameters), function.data_type]
        # A mask's result must keep the column's type, or reads of the table would fail.
        if list(map(kind_of, old)) != list(map(kind_of, new)) and state.users_of(policy):
            raise BadPolicyError(
                f"function {name} protects data, and would take or give other types",
                "take it off first, or make another function",
            )


def require_unused(name: str, state: GovernanceState) -> None:
    """Refuse to drop a function that masks or filters.

    Raises:
        PolicyInUseError: it is set on something.
    """
    used = policies_calling(name, state)
    if used:
        raise PolicyInUseError(
            f"function {name} protects {', '.join(used)}",
            "take it off first: ALTER TABLE … DROP MASK, DROP ROW FILTER",
        )


def _function_details(function: Function) -> dict[str, object]:
    parameters = [[one.name, one.type] for one in function.parameters]
    return {"body": function.body, "parameters": parameters, "returns": function.data_type}


def _key(change: Change, current: tuple[str, str]) -> tuple[Domain, str]:
    return change.domain or Domain.MASKING_POLICY, quote_name(qualify(change.name, current)).casefold()


def _event(
    actor: Actor, kind: str, of_id: str | None, name: str, details: dict[str, object]
) -> GovernanceEvent:
    return GovernanceEvent.of(actor, kind, of_id=of_id, name=name, details=details)
