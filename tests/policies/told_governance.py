"""A governance told in statements, without Spark: parsed text in, events and the next state out.

Names are resolved in a catalog in memory, and bodies of policies are taken as they are; everything else is
what runs in a session.
"""

from __future__ import annotations

from itertools import count, pairwise

from audit.core.actor import Actor
from audit.policies.enforcement.enforcer import CatalogObject
from audit.policies.enforcement.governance_permits import (
    Permits,
    policy_securable,
    schema_securable,
    tag_securable,
)
from audit.policies.enforcement.sent_facts import protection_facts
from audit.policies.model.apply_events import state_after
from audit.policies.model.changed import StateChanges
from audit.policies.model.events import COLUMNS, event_of, row_of
from audit.policies.model.grants import ACCOUNT
from audit.policies.model.privileges import ADMIN, Principal, Securable
from audit.policies.model.state import GovernanceState
from audit.policies.statements import (
    attach_policy,
    bigquery_row_policy,
    grant_ddl,
    policy_ddl,
    role_ddl,
    set_tag,
    tag_ddl,
)
from lineage import parse
from lineage.catalog.object_ids import column_id, object_id
from lineage.model import Column, Domain, Function, Relation
from lineage.names import qualify, quote_name
from lineage.sql.commands.governance.grant import PrivilegeChange
from lineage.sql.commands.governance.policy import PolicyChange, TablePolicyChange
from lineage.sql.commands.governance.role import RoleChange
from lineage.sql.commands.governance.set_policies import TagChange

HERE = ("c", "s")
GRANTS = {
    "GRANT": grant_ddl.grant_events, "REVOKE": grant_ddl.revoke_events,
    "GRANT_OWNERSHIP": grant_ddl.ownership_events,
}  # fmt: skip
SCHEMA = schema_securable("c.s")


def table(name, *columns, is_view=False, key=None, **facts):
    """A table of c.s, or a view; columns are `name TYPE`."""
    key = key or f"{'name:c.s.' if is_view else 'delta:'}{name}"
    identity = object_id("VIEW" if is_view else "TABLE", key.partition(":")[2])
    typed = [column.split(maxsplit=1) for column in columns]
    known = {one.lower(): (one, one.lower(), column_id(identity, one), kind) for one, kind in typed}
    return CatalogObject(key, is_view, (*HERE, name), identity, known, **facts)


def relation(found, *more):
    """A table or view as lineage knows it; `more` are columns that it has got since, as `name TYPE`."""
    columns = [Column(name, kind.lower(), number) for name, _, number, kind in found.columns.values()]
    columns += [Column(*one.split(maxsplit=1), column_id(found.object_id, one)) for one in more]
    domain = Domain.VIEW if found.is_view else Domain.TABLE
    return Relation(quote_name(found.name), domain, found.object_id, tuple(columns))


class Row:
    """A row of `governance_history`."""

    def __init__(self, *values):
        self.__dict__.update(zip([name for name, _, _ in COLUMNS], values, strict=True))


def _protected(state, key):
    """What the enforcement rule knows of an object."""
    known = state.objects.get(key)
    return known and protection_facts(known, state)


def _held(state, key):
    """Who holds what on an object, and who owns it."""
    return set(state.grants.given.get(key, ())), key in state.grants.owners and state.grants.owners[
        key
    ].holder


class Resolver:
    """What Spark would answer about bodies of policies and functions."""

    def __init__(self):
        self.read, self.functions, self.checked = frozenset(), {}, []

    def check_policy(self, policy):
        """Every body can be resolved."""
        self.checked.append(policy.name)

    def reads(self, _policy):
        """Bodies read what the test says."""
        return self.read

    def function(self, parts):
        """A function that the test has defined."""
        return self.functions[quote_name(parts)]


class Governance:
    """Statements, one after the other, as of user ann, who administers, unless they name another user.

    Attributes:
        log: all events, oldest first.
        state: after them.
    """

    def __init__(self, *statements, tables=()):
        self.tables = {one.name[-1]: one for one in tables}
        self.resolver, self.log, self.state, self.time = Resolver(), [], GovernanceState(), 0
        self._moments = [(0, self.state)]
        self.run(*statements)

    def run(self, *statements, user="ann", permitted=False, at=None):
        """Runs statements, each later than the one before, or at a moment.

        `permitted` asks whether their user has the privileges, as a session does.
        """
        for text in statements:
            self.time = self.time if at is None else at - 10
            command = parse(text).command
            events = self._events(command, self.actor(user))
            if permitted:
                Permits(self.who(user), self.state, lambda command=command: self._on(command),
                        self.resolver.reads).require(events)  # fmt: skip
            self.take(events)
        return self

    def take(self, events):
        """Adds events to the log."""
        self.log += events
        self.state = state_after(events, self.state)
        self._moments.append((len(self.log), self.state))
        return events

    def require_replay(self):
        """Asserts that the log's rows up to each moment lead to the state of then, which is unchanged."""
        rows = [Row(*row_of(number, event)) for number, event in enumerate(self.log)]
        replayed = [event_of(row) for row in rows]
        assert replayed == self.log
        for size, state in self._moments:
            assert state_after(replayed[:size]) == state
            assert state_after(replayed[size:], state) == self.state

    def require_changes_told(self):
        """Asserts that whatever has changed is among what the enforcement rule is told of the change."""
        for (start, before), (end, after) in pairwise(self._moments):
            told = StateChanges.from_events(self.log[start:end], after)
            for key in {*before.objects, *after.objects} - told.objects:
                assert _protected(before, key) == _protected(after, key)
            for identity in {*before.policies, *after.policies} - told.policies:
                assert before.policies.get(identity) == after.policies.get(identity)
            for key in {*before.grants.about, *after.grants.about} - told.grants:
                assert _held(before, key) == _held(after, key)
            if not told.has_roles:
                assert (before.roles, before.granted) == (after.roles, after.granted)

    def actor(self, user="ann"):
        """Whoever runs something now; each time it is later."""
        self.time += 10
        numbers = count()
        return Actor(self.time, user, f"q{self.time}", lambda: f"e{self.time}-{next(numbers)}")

    def who(self, user):
        """A user with all roles; ann administers."""
        return Principal(user, self.state.roles_of(user, ()) | ({ADMIN} if user == "ann" else set()))

    def define(self, name, body, *parameters, returns="STRING"):
        """CREATE FUNCTION, as Spark's catalog has it then; parameters are `name TYPE`."""
        columns = tuple(Column(*one.split(maxsplit=1)) for one in parameters)
        full = quote_name(qualify((name,), HERE))
        self.resolver.functions[full] = Function(full, None, columns, returns, body)
        return self.resolver.functions[full]

    def masks(self, found, *more):
        """The masks in force on a table: policy by column, without `c.s.`."""
        attached = self.state.attachments(relation(found, *more))
        masks = [one for one in attached if one.policy.domain is Domain.MASKING_POLICY]
        return {one.columns[0]: one.policy.name.removeprefix("c.s.") for one in masks}

    def rows(self, found):
        """The row access policies in force on a table, with their columns, in order."""
        attached = self.state.attachments(relation(found))
        rows = [one for one in attached if one.policy.domain is Domain.ROW_ACCESS_POLICY]
        return [(one.policy.name.removeprefix("c.s."), one.columns) for one in rows]

    def securable(self, domain, parts):
        """What a GRANT names."""
        if domain is Domain.ACCOUNT:
            return ACCOUNT
        if domain is Domain.SCHEMA:
            return schema_securable(quote_name((HERE[0], *parts) if len(parts) == 1 else parts))
        name = quote_name(qualify(parts, HERE))
        if domain in (Domain.TABLE, Domain.VIEW):
            return Securable(self.tables[parts[-1]].key, domain, name, (SCHEMA, ACCOUNT))
        if domain is Domain.FUNCTION:
            return Securable(f"function:{name}", domain, name, (SCHEMA, ACCOUNT))
        if domain is Domain.TAG:
            return tag_securable(*self.state.find_tag(name))
        return policy_securable(*self.state.find(domain, name))

    def _on(self, command):
        parts = command.on or command.target
        if command.domain is Domain.SCHEMA:
            return self.securable(Domain.SCHEMA, parts)
        return self.securable(Domain.VIEW if self.tables[parts[-1]].is_view else Domain.TABLE, parts)

    def _events(self, command, actor):
        if isinstance(command, RoleChange):
            return getattr(role_ddl, command.kind.lower())(command, actor, self.state)
        if isinstance(command, PrivilegeChange):
            on, who = self.securable(command.domain, command.target), self.who(actor.user)
            return GRANTS[command.kind](command, on, who, actor, self.state)
        if isinstance(command, PolicyChange):
            names = (command.target, command.new_name or command.target)
            change = getattr(policy_ddl, f"{command.kind.partition('_')[0].lower()}_policy")
            full = [quote_name(qualify(name, HERE)) for name in names]
            return change(command, *full, self.resolver, actor, self.state)
        if isinstance(command, TagChange):
            change = getattr(tag_ddl, command.kind.lower())
            return change(command, HERE, self.resolver.reads, actor, self.state)
        return self._set(command, actor)

    def _set(self, command, actor):
        if command.domain is Domain.SCHEMA:
            return set_tag.set_schema_tag_events(command, HERE, actor, self.state)
        found = self.tables[(command.on or command.target)[-1]]
        if isinstance(command, TablePolicyChange):
            return bigquery_row_policy.row_policy_events(command, found, self.resolver, actor, self.state)
        return attach_policy.attachment_events(command, found, HERE, self.resolver, actor, self.state)
