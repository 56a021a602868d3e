"""Privileges of backups, without Spark: who owns a policy and a set, who may apply, lock and hold."""

from __future__ import annotations

import pytest

from audit.policies.enforcement.backup_privileges import BackupPrivileges, backup_securable
from audit.policies.errors import AccessDeniedError
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.grants import ACCOUNT
from audit.policies.model.privileges import Holder
from audit.policies.model.shown_grants import rows_on, rows_to
from audit.policies.statements import grant_ddl
from audit.time_travel.backups.rules import requests
from audit.time_travel.backups.rules.decide import events_of
from audit.time_travel.backups.rules.requests import BackupSecurable
from audit.time_travel.errors import BackupDeniedError
from lineage.model import Domain
from lineage.sql.parse import parse, typed_of
from tests.time_travel.backups.world import LOCKED, PLAIN, world

from .history_rows import all_rows
from .told_governance import GRANTS, SCHEMA, Governance, table

POLICY = BackupSecurable(Domain.BACKUP_POLICY, "c.s.p", "p1", "bob", 5)
SET = BackupSecurable(Domain.BACKUP_SET, "c.s.b", "s1", "bob", 5)
SCHEMA_C = BackupSecurable(Domain.SCHEMA, "c.s")
TABLE_T = BackupSecurable(Domain.TABLE, "c.s.t")


class Told(Governance):
    """A governance with a table, roles A, of zoe, and B; grants may be on backups."""

    def __init__(self, *statements):
        self.backups = {"c.s.p": POLICY, "c.s.b": SET}
        super().__init__(
            "CREATE ROLE a", "CREATE ROLE b", "GRANT ROLE a TO USER zoe", tables=(table("t", "a INT"),)
        )
        self.grant(*statements)

    def grant(self, *statements, user="ann"):
        """GRANT and REVOKE on what the statement names."""
        for text in statements:
            command = parse(text).command
            on = self.catalog(BackupSecurable(command.domain, ".".join(("c", "s", *command.target)[-3:])))
            self.take(GRANTS[command.kind](command, on, self.who(user), self.actor(user), self.state))
        return self

    def catalog(self, on):
        """What a name stands for."""
        if on.domain is Domain.ACCOUNT:
            return ACCOUNT
        if on.domain is Domain.SCHEMA:
            return SCHEMA
        known = self.backups.get(on.name)
        return backup_securable(known) if known else self.securable(Domain.TABLE, ("t",))

    def of(self, user):
        """What the rules of backups ask."""
        return BackupPrivileges(self.who(user), self.state, self.catalog)

    def made(self, on, to, name, time=5):
        """The event of whoever created a policy or set."""
        details = {"to": to, "grantee": name, "domain": on.domain.value}
        key = backup_securable(on).key
        return self.take(
            [GovernanceEvent(time, "CREATE_OBJECT", f"m{time}", None, key, on.name, details=details)]
        )


def may(told, user, privilege, on):
    """As the rules ask."""
    return told.of(user).holds(privilege, on)


def test_the_creator_owns_it_and_nobody_else():
    """A user by the events of backups alone; the role that was current by the event of governance."""
    told = Told()
    for on in (POLICY, SET):
        assert [may(told, user, "OWNERSHIP", on) for user in ("bob", "zoe", "ann")] == [True, False, True]
    told.made(SET, "ROLE", "A")
    assert [may(told, user, "OWNERSHIP", SET) for user in ("bob", "zoe")] == [False, True]


def test_grant_ownership_moves_it():
    """Whoever had it has it no more; an administrator may move it, and the owner."""
    told = Told("GRANT OWNERSHIP ON BACKUP SET b TO ROLE a")
    assert [may(told, user, "OWNERSHIP", SET) for user in ("bob", "zoe")] == [False, True]
    told.grant("GRANT OWNERSHIP ON BACKUP SET b TO USER max", user="zoe")
    assert [may(told, user, "OWNERSHIP", SET) for user in ("zoe", "max")] == [False, True]
    with pytest.raises(AccessDeniedError, match=r"may not give backup set c\.s\.b another owner"):
        told.grant("GRANT OWNERSHIP ON BACKUP SET b TO USER zoe", user="zoe")


def test_a_rename_keeps_owner_and_grants():
    """A policy or set is known by the event that created it, and not by its name."""
    told = Told("GRANT APPLY ON BACKUP POLICY p TO USER max", "GRANT OWNERSHIP ON BACKUP SET b TO USER max")
    assert may(told, "max", "APPLY", BackupSecurable(Domain.BACKUP_POLICY, "c.s.q", "p1", "bob", 5))
    assert may(told, "max", "OWNERSHIP", BackupSecurable(Domain.BACKUP_SET, "c.s.c", "s1", "bob", 5))
    assert not may(told, "max", "APPLY", BackupSecurable(Domain.BACKUP_POLICY, "c.s.p", "p2", "bob", 9))


@pytest.mark.parametrize(
    ("granted", "privilege", "on", "holds"),
    [
        ("APPLY ON BACKUP POLICY p", "APPLY", POLICY, True),
        ("APPLY ON BACKUP POLICY p", "APPLY BACKUP POLICY", requests.ACCOUNT, False),
        ("ALL ON BACKUP POLICY p", "APPLY", POLICY, True),
        ("ALL ON BACKUP POLICY p", "OWNERSHIP", POLICY, False),
        ("APPLY BACKUP POLICY ON ACCOUNT", "APPLY BACKUP POLICY", requests.ACCOUNT, True),
        ("APPLY BACKUP POLICY ON ACCOUNT", "APPLY BACKUP RETENTION LOCK", requests.ACCOUNT, False),
        ("APPLY BACKUP RETENTION LOCK ON ACCOUNT", "APPLY BACKUP RETENTION LOCK", requests.ACCOUNT, True),
        ("APPLY LEGAL HOLD ON ACCOUNT", "APPLY LEGAL HOLD", requests.ACCOUNT, True),
        ("APPLY LEGAL HOLD ON ACCOUNT", "OWNERSHIP", SET, False),
        ("CREATE BACKUP SET ON SCHEMA s", "CREATE BACKUP SET", SCHEMA_C, True),
        ("CREATE BACKUP SET ON SCHEMA s", "CREATE BACKUP POLICY", SCHEMA_C, False),
        ("CREATE BACKUP POLICY ON ACCOUNT", "CREATE BACKUP POLICY", SCHEMA_C, True),
        ("ALL ON SCHEMA s", "CREATE BACKUP SET", SCHEMA_C, True),
        ("ALL ON SCHEMA s", "OWNERSHIP", TABLE_T, False),
        ("ALL ON ACCOUNT", "APPLY LEGAL HOLD", requests.ACCOUNT, True),
        ("MANAGE GRANTS ON ACCOUNT", "APPLY LEGAL HOLD", requests.ACCOUNT, False),
    ],
)
def test_where_a_privilege_holds(granted, privilege, on, holds):
    """On what it is granted on, and below its schema or account; by a role as by oneself."""
    told = Told(f"GRANT {granted} TO ROLE a")
    assert may(told, "zoe", privilege, on) is holds
    assert not may(told, "max", privilege, on)
    told.grant(f"REVOKE {granted} FROM ROLE a")
    assert not may(told, "zoe", privilege, on)


def test_the_owner_of_a_table_is_who_owns_it_in_the_catalog():
    """CREATE BACKUP SET FOR TABLE asks for it."""
    told = Told("GRANT OWNERSHIP ON TABLE t TO USER max")
    assert [may(told, user, "OWNERSHIP", TABLE_T) for user in ("max", "bob")] == [True, False]


def test_what_is_dropped_has_no_grants():
    """No row stays of it; the same privileges on another one do."""
    told = Told("GRANT APPLY ON BACKUP POLICY p TO USER max", "GRANT APPLY LEGAL HOLD ON ACCOUNT TO USER max")
    told.made(SET, "ROLE", "A")
    for on in (POLICY, SET):
        key = backup_securable(on).key
        told.take([GovernanceEvent(told.time + 20, "DROP_OBJECT", f"d{key}", None, key, on.name)])
    assert [row[1:4] for row in rows_to(told.state, Holder("USER", "max"))] == [
        ("APPLY LEGAL HOLD", "ACCOUNT", "")
    ]
    ended = {
        (row.privilege, row.granted_on): row.deleted_on is not None for row in all_rows(told.log, "PRIVILEGE")
    }
    assert ended["APPLY", "BACKUP POLICY"]
    assert ended["OWNERSHIP", "BACKUP SET"]
    assert not ended["APPLY LEGAL HOLD", "ACCOUNT"]


def test_show_grants_names_them():
    """The owner first, then each grant, with the domain as it is written."""
    told = Told("GRANT APPLY ON BACKUP POLICY p TO ROLE a WITH GRANT OPTION")
    assert [row[1:7] for row in rows_on(told.state, backup_securable(POLICY))] == [
        ("OWNERSHIP", "BACKUP POLICY", "c.s.p", "USER", "bob", "true"),
        ("APPLY", "BACKUP POLICY", "c.s.p", "ROLE", "A", "true"),
    ]
    assert grant_ddl.require_ownership(backup_securable(SET), told.who("bob"), told.state) is None


# Each statement on a set of bob's with what asks for a privilege, and the grant that gives it to max.
RULES = [
    ("CREATE BACKUP POLICY q EXPIRE_AFTER_DAYS = 1", "CREATE BACKUP POLICY ON SCHEMA s"),
    ("ALTER BACKUP SET b APPLY BACKUP POLICY plain FORCE", "OWNERSHIP ON BACKUP SET b"),
    ("ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'i' ADD LEGAL HOLD", "APPLY LEGAL HOLD ON ACCOUNT"),
    ("DROP BACKUP SET b", "OWNERSHIP ON BACKUP SET b"),
    ("ALTER BACKUP POLICY plain SET COMMENT = 'x'", "OWNERSHIP ON BACKUP POLICY plain"),
]


@pytest.mark.parametrize(("text", "needed"), RULES)
def test_the_rules_ask_the_governance(text, needed):
    """Refused without the privilege, whose GRANT the error names, and done with it."""
    there = world(PLAIN, LOCKED, "CREATE BACKUP SET b FOR TABLE t")
    there.add("b", "i")
    told = Told()
    told.time = there.now
    told.backups = {
        one.name: one
        for one in (
            *map(requests.of_set, there.state.sets.values()),
            *map(requests.of_policy, there.state.policies.values()),
        )
    }
    if "APPLY BACKUP POLICY" in text:
        told.grant("GRANT APPLY ON BACKUP POLICY plain TO USER max")

    def run():
        request = requests.Request(there.actor("max"), told.of("max"), ("c", "s"))
        return events_of(there.state, typed_of(text), request, there.seen)

    privilege = needed.partition(" ON ")[0]
    with pytest.raises(
        BackupDeniedError, match=f"max has no privilege {privilege} on .*GRANT {privilege} ON"
    ):
        run()
    told.grant(f"GRANT {needed} TO USER max")
    assert run()


def test_a_state_goes_on_after_a_drop():
    """A driver that reads the events anew comes to the same state."""
    told = Told("GRANT APPLY ON BACKUP POLICY p TO USER max")
    told.made(SET, "USER", "bob")
    assert state_after(told.log) == told.state
