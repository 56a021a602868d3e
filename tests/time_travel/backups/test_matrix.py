"""The matrix: a backup that is locked, held, expired, suspended, by who asks and by operation, in full.

`OPERATIONS` says it once more, from the document, without the rules: an operation is refused for each
reason that forbids it, and done without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest

from audit.time_travel import errors
from audit.time_travel.backups.rules.container_rules import drop_container

from .world import ADMIN, world

DENIED, HELD, LOCKED, IN_USE = (
    errors.BackupDeniedError,
    errors.BackupHeldError,
    errors.BackupLockedError,
    errors.BackupPolicyInUseError,
)
PERIOD = 10
ROLES = {
    ADMIN: (),
    "owner": ("OWNERSHIP ON BACKUP SET c.s.b", "OWNERSHIP ON BACKUP POLICY c.s.p"),
    "locker": ("APPLY BACKUP POLICY ON ACCOUNT", "APPLY BACKUP RETENTION LOCK ON ACCOUNT"),
    "holder": ("APPLY LEGAL HOLD ON ACCOUNT",),
    "owner who locks and holds": (
        "OWNERSHIP ON BACKUP SET c.s.b", "OWNERSHIP ON BACKUP POLICY c.s.p", "APPLY BACKUP POLICY ON ACCOUNT",
        "APPLY BACKUP RETENTION LOCK ON ACCOUNT", "APPLY LEGAL HOLD ON ACCOUNT",
        "CREATE BACKUP SET ON SCHEMA c.s", "OWNERSHIP ON TABLE c.s.t",
    ),
    "nobody": (),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One state of a set with a backup `i`, and who asks.

    `policy` is none, plain or locked; `suspended` is what of it is.
    """

    policy: str
    held: bool
    expired: bool
    suspended: str
    role: str

    @property
    def owns(self):
        """Whether who asks owns set and policy."""
        return self.role in (ADMIN, "owner", "owner who locks and holds")

    @property
    def locks(self):
        """Whether who asks may apply policies, and locks."""
        return self.role in (ADMIN, "locker", "owner who locks and holds")

    @property
    def holds(self):
        """Whether who asks may add and remove holds."""
        return self.role in (ADMIN, "holder", "owner who locks and holds")

    @property
    def creates(self):
        """Whether who asks may make a set of the table."""
        return self.role in (ADMIN, "owner who locks and holds")

    @property
    def bound(self):
        """Why nobody may delete the backup."""
        is_locked = self.policy == "locked" and not self.expired
        return ({HELD} if self.held else set()) | ({LOCKED} if is_locked else set())


def states():
    """All that there are: what has no policy is not suspended, and expiration under a lock never is."""
    suspensions = {"none": ["none"], "plain": ["none", "creation", "expiration", "both"]}
    suspensions["locked"] = ["none", "creation"]
    for policy, held, expired, role in product(suspensions, (False, True), (False, True), ROLES):
        for suspended in suspensions[policy]:
            yield Case(policy, held, expired, suspended, role)


def made_of(case):
    """A world in that state, with two more policies, `q` and, under a lock, `r`."""
    lock = " WITH RETENTION LOCK" if case.policy == "locked" else ""
    applied = "" if case.policy == "none" else " WITH BACKUP POLICY p"
    made = world(
        f"CREATE BACKUP POLICY p{lock} EXPIRE_AFTER_DAYS = {PERIOD}",
        "CREATE BACKUP POLICY q EXPIRE_AFTER_DAYS = 1",
        "CREATE BACKUP POLICY r WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 99",
        f"CREATE BACKUP SET b FOR TABLE t{applied}",
        grants={role: set(granted) for role, granted in ROLES.items()},
    )
    made.add(backup="i")
    if case.held:
        made.run("ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'i' ADD LEGAL HOLD")
    if case.suspended != "none":
        which = "" if case.suspended == "both" else f" {case.suspended.upper()}"
        made.run(f"ALTER BACKUP SET b SUSPEND BACKUP{which} POLICY")
    if case.expired:
        made.pass_time(PERIOD + 1)
        made.look()
    return made


def denied(*allowed):
    """The reason of a missing privilege."""
    return set() if all(allowed) else {DENIED}


def without_policy(case):
    """The reason where there is nothing to suspend."""
    return {errors.UnknownBackupError} if case.policy == "none" else set()


def locked(case):
    """The reason of a retention lock, which outlives the backups."""
    return {LOCKED} if case.policy == "locked" else set()


def in_place_of(case, *, force):
    """The reasons against another policy."""
    taken = {IN_USE} if case.policy == "plain" and not force else set()
    return denied(case.owns, case.locks) | locked(case) | taken


OPERATIONS = {
    "ALTER BACKUP SET b ADD BACKUP": lambda case: denied(case.owns),
    "ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'i'": lambda case: denied(case.owns) | case.bound,
    "ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'i' ADD LEGAL HOLD": lambda case: denied(case.holds),
    "ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'i' REMOVE LEGAL HOLD": lambda case: denied(case.holds),
    "ALTER BACKUP SET b SUSPEND BACKUP CREATION POLICY": lambda case: (
        denied(case.owns) | without_policy(case)
    ),
    "ALTER BACKUP SET b SUSPEND BACKUP EXPIRATION POLICY": lambda case: (
        denied(case.owns) | without_policy(case) | locked(case)
    ),
    "ALTER BACKUP SET b SUSPEND BACKUP POLICY": lambda case: (
        denied(case.owns) | without_policy(case) | locked(case)
    ),
    "ALTER BACKUP SET b RESUME BACKUP POLICY": lambda case: denied(case.owns) | without_policy(case),
    "ALTER BACKUP SET b APPLY BACKUP POLICY q": lambda case: in_place_of(case, force=False),
    "ALTER BACKUP SET b APPLY BACKUP POLICY q FORCE": lambda case: in_place_of(case, force=True),
    "ALTER BACKUP SET b APPLY BACKUP POLICY r": lambda case: in_place_of(case, force=False),
    "ALTER BACKUP SET b APPLY BACKUP POLICY r FORCE": lambda case: in_place_of(case, force=True),
    "ALTER BACKUP SET b SET COMMENT = 'x'": lambda case: denied(case.owns),
    "ALTER BACKUP SET b RENAME TO c": lambda case: denied(case.owns),
    "DROP BACKUP SET b": lambda case: denied(case.owns) | case.bound,
    "CREATE OR REPLACE BACKUP SET b FOR TABLE t": lambda case: denied(case.owns, case.creates) | case.bound,
    f"ALTER BACKUP POLICY p SET EXPIRE_AFTER_DAYS = {PERIOD + 1}": lambda case: denied(
        case.owns, case.locks or case.policy != "locked"
    ),
    f"ALTER BACKUP POLICY p SET EXPIRE_AFTER_DAYS = {PERIOD - 1}": lambda case: (
        denied(case.owns) | locked(case)
    ),
    "ALTER BACKUP POLICY p UNSET EXPIRE_AFTER_DAYS": lambda case: (
        denied(case.owns) | locked(case) | {errors.BadBackupPolicyError}
    ),
    "ALTER BACKUP POLICY p RENAME TO o": lambda case: denied(case.owns),
    "DROP BACKUP POLICY p": lambda case: denied(case.owns) | ({IN_USE} if case.policy != "none" else set()),
    "CREATE TABLE x FROM BACKUP SET b IDENTIFIER 'i'": lambda case: denied(case.owns),
}
"""The reasons that forbid each operation."""
DELETES = ("DELETE BACKUP", "DROP BACKUP SET", "OR REPLACE BACKUP SET")


def is_there(made):
    """Whether the backup is there."""
    return any(one.backup_id == "i" for one in made.state.all_backups())


@pytest.mark.parametrize("text", OPERATIONS)
def test_each_operation_in_each_state(text):
    """It is refused for a reason that forbids it, and changes nothing then; without one it is done."""
    for case in states():
        made, reasons = made_of(case), OPERATIONS[text](case)
        before = made.state
        if reasons:
            with pytest.raises(tuple(reasons)):
                made.run(text, case.role)
            assert made.state is before, case
        else:
            made.run(text, case.role)
        assert is_there(made) is (bool(reasons) or not any(part in text for part in DELETES)), case


def test_a_schema_with_it_in_each_state():
    """DROP SCHEMA: whose the schema is, is asked elsewhere; what is bound keeps it."""
    for case in states():
        made = made_of(case)
        if not case.bound:
            made.put(drop_container(made.state, "c.s", made.actor()))
            assert not is_there(made), case
            continue
        with pytest.raises(tuple(case.bound)):
            drop_container(made.state, "c.s", made.actor())


def test_what_a_run_deletes_in_each_state():
    """What has expired, is not held, and whose expiration is not suspended."""
    for case in states():
        made = made_of(case)
        made.tick()
        goes = (
            case.policy != "none"
            and case.expired
            and not case.held
            and case.suspended not in ("expiration", "both")
        )
        assert is_there(made) is not goes, case
