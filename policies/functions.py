"""Functions that mask or filter, as Databricks has them: each is a policy of the same body.

In: a clause as lineage has read it, the function that it names, and the state. Out: the policy that stands
for the function, made where there is none. The body is taken over, so that nobody who replaces the function
by a way around these statements changes what is hidden; an administrator's CREATE OR REPLACE FUNCTION
changes the policy, too (Databricks: ROW FILTER clause, column mask clause).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.model import Domain, Policy
from lineage.names import qualify, quote_name
from policies.errors import BadPolicyError, PolicyInUseError
from policies.events import Event
from policies.types import kind_of

if TYPE_CHECKING:
    from audit.by import By
    from lineage.model import Function
    from lineage.statement import Change
    from policies.governor import Governor
    from policies.state import Defined, State


def called(change: Change, here: tuple[str, str], state: State) -> tuple[str, Defined]:
    """The policy that stands for the function of a clause, with its id; it is there."""
    found = state.functions[_key(change, here)]
    return found, state.policies[found]


def calling(change: Change, here: tuple[str, str], governor: Governor, by: By, state: State) -> list[Event]:
    """The event that makes such a policy, or brings it up to date; none where it says what the function does.

    Raises:
        UnknownPolicyError: there is no such function.
        BadPolicyError: it is no SQL expression, or a filter that gives no BOOLEAN.
    """
    domain, name = _key(change, here)
    function = governor.function(qualify(change.name, here))
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
    governor.check(policy)
    if known is not None and state.users_of(known):
        raise PolicyInUseError(
            f"function {function.name} was changed past the audit, and protects what other tables hold",
            f"CREATE OR REPLACE FUNCTION {function.name} as it is to be, as an administrator",
        )
    if known is not None:
        return [_event(by, "SET_BODY", known, function.name, _said(function))]
    details = {**_said(function), "domain": domain.value, "function": True}
    return [_event(by, "CREATE_POLICY", None, function.name, details)]


def _same(one: Policy, other: Policy) -> bool:
    return (one.body, one.parameters, one.data_type) == (other.body, other.parameters, other.data_type)


def protected_by(name: str, state: State) -> list[str]:
    """The names of what a function of a fully qualified name masks or filters."""
    found = {one.name for policy in _policies_of(name, state) for one in state.users_of(policy)}
    return sorted(found)


def _policies_of(name: str, state: State) -> list[str]:
    domains = (Domain.MASKING_POLICY, Domain.ROW_ACCESS_POLICY)
    found = (state.functions.get((domain, name.casefold())) for domain in domains)
    return [policy for policy in found if policy is not None]


def changed(function: Function, by: By, state: State) -> list[Event]:
    """The events after which a function's new body masks and filters."""
    return [
        _event(by, "SET_BODY", policy, function.name, _said(function))
        for policy in _policies_of(function.name, state)
    ]


def require_same(function: Function, name: str, state: State) -> None:
    """Refuse to let a function that protects something take or give other types.

    Raises:
        BadPolicyError: it would.
    """
    for policy in _policies_of(name, state):
        known = state.policies[policy].policy
        old = [*(one.type for one in known.parameters), known.data_type]
        new = [*(one.type for one in function.parameters), function.data_type]
        if list(map(kind_of, old)) != list(map(kind_of, new)) and state.users_of(policy):
            raise BadPolicyError(
                f"function {name} protects data, and would take or give other types",
                "take it off first, or make another function",
            )


def require_unused(name: str, state: State) -> None:
    """Refuse to drop a function that masks or filters.

    Raises:
        PolicyInUseError: it does.
    """
    used = protected_by(name, state)
    if used:
        raise PolicyInUseError(
            f"function {name} protects {', '.join(used)}",
            "take it off first: ALTER TABLE … DROP MASK, DROP ROW FILTER",
        )


def _said(function: Function) -> dict[str, object]:
    parameters = [[one.name, one.type] for one in function.parameters]
    return {"body": function.body, "parameters": parameters, "returns": function.data_type}


def _key(change: Change, here: tuple[str, str]) -> tuple[Domain, str]:
    return change.domain or Domain.MASKING_POLICY, quote_name(qualify(change.name, here)).casefold()


def _event(by: By, kind: str, of_id: str | None, name: str, details: dict[str, object]) -> Event:
    return Event(by.time, kind, by.new_id(), of_id, None, name, by.user, None, by.query_id, details)
