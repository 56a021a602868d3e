"""Random operations on backups, on a clock that is set at will, against a model of the rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.time_travel.backups.model.state import DAY
from audit.time_travel.backups.rules.backup_rules import NewBackup
from audit.time_travel.backups.rules.container_rules import drop_container
from audit.time_travel.errors import BackupError

from .model import Model
from .world import ADMIN, START, World

POLICIES, SETS = ("p", "q", "r"), ("a", "b")
OWNER = "ann"
OWNERS = {
    *(f"OWNERSHIP ON BACKUP POLICY c.s.{name}" for name in POLICIES),
    *(f"OWNERSHIP ON BACKUP SET c.s.{name}" for name in SETS),
    "OWNERSHIP ON TABLE c.s.t",
    "CREATE BACKUP POLICY ON SCHEMA c.s",
    "CREATE BACKUP SET ON SCHEMA c.s",
    "APPLY BACKUP POLICY ON ACCOUNT",
}
"""All but retention lock and legal hold."""
BEGIN = (
    ("create_policy", "p", 3, 60, False, True),
    ("create_policy", "q", 1, 1440, True, True),
    ("create_set", "a", "p", False, True),
    ("add", "a", True),
)
"""A walk begins with something to lose."""
policies, sets, flags = st.sampled_from(POLICIES), st.sampled_from("aaab"), st.booleans()
days = st.sampled_from([None, 1, 3, 7])
minutes = st.sampled_from([None, 60, 1440])
admins = st.sampled_from([True, True, True, False])
rarely = st.sampled_from([False, False, False, True])
backups = st.sampled_from([0, 0, 1, 2])
what = st.sampled_from(["", "CREATION ", "EXPIRATION "])
_KINDS = {
    "pass_time": (4, st.sampled_from([0.01, 0.05, 0.3, 1, 2.5, 8])),
    "run": (4,),
    "set_clock": (1, st.sampled_from([-400, -2, -0.1, 0.1, 2, 30, 4000])),
    "boot": (1, st.sampled_from([0.001, 1, 9])),
    "create_policy": (1, policies, days, minutes, flags, admins),
    "alter_policy": (1, policies, days, admins),
    "drop_policy": (1, policies, admins),
    "create_set": (1, sets, st.one_of(st.none(), policies), rarely, admins),
    "drop_set": (1, sets, admins),
    "apply_policy": (2, sets, policies, flags, admins),
    "suspend": (3, sets, what, flags, admins),
    "add": (2, sets, admins),
    "delete": (2, sets, backups, admins),
    "hold": (3, sets, backups, flags, admins),
    "drop_schema": (1, admins),
}
OPERATIONS = st.sampled_from([name for name, (weight, *_) in _KINDS.items() for _ in range(weight)]).flatmap(
    lambda name: st.tuples(st.just(name), *_KINDS[name][1:])
)


class Walk:
    """Operations on the rules, and on the model beside them."""

    def __init__(self):
        self.world = World(grants={OWNER: OWNERS})
        self.model = Model(START)
        self.refused = 0

    def take(self, operation):
        """One of them; afterwards both are the same."""
        name, *arguments = operation
        getattr(self, name)(*arguments)
        self.compare()

    # -- clocks --------------------------------------------------------------------------------

    def pass_time(self, passed):
        """For everybody."""
        self.world.pass_time(passed)
        self.model.pass_time(round(passed * DAY))

    def set_clock(self, by):
        """The machine's clock alone."""
        self.world.now += round(by * DAY)
        self.model.now += round(by * DAY)

    def boot(self, off):
        """The machine was off, and boots."""
        self.world.pass_time(off, witnessed=False)
        self.model.pass_time(round(off * DAY))
        self.model.looked = None

    def run(self):
        """What is due is made, what has expired goes."""
        made, expired = self.world.tick()
        names = {self.world.backups(f"c.s.{name}")[-1]: name for name in SETS if self._is_set(name)}
        wanted, gone = self.model.run(
            lambda name: next((new for new, of in names.items() if of == name), "none")
        )
        assert {name.rpartition(".")[2]: planned for name, planned in made} == wanted
        assert set(expired) == gone

    def _is_set(self, name):
        known = self.world.state.set_named(f"c.s.{name}")
        return known is not None and bool(self.world.state.backups_of(known))

    # -- statements ----------------------------------------------------------------------------

    def create_policy(self, name, days, minutes, lock, admin):
        """A policy."""
        text = f"CREATE BACKUP POLICY {name}" + " WITH RETENTION LOCK" * lock
        text += "" if days is None else f" EXPIRE_AFTER_DAYS = {days}"
        text += "" if minutes is None else f" SCHEDULE = '{minutes} MINUTE'"
        self._say(text, admin, self.model.create_policy(name, days, minutes, lock, admin))

    def alter_policy(self, name, days, admin):
        """Its period."""
        what = "UNSET EXPIRE_AFTER_DAYS" if days is None else f"SET EXPIRE_AFTER_DAYS = {days}"
        self._say(f"ALTER BACKUP POLICY {name} {what}", admin, self.model.alter_policy(name, days, admin))

    def drop_policy(self, name, admin):
        """No policy."""
        self._say(f"DROP BACKUP POLICY {name}", admin, self.model.drop_policy(name, admin))

    def create_set(self, name, policy, replace, admin):
        """A set."""
        text = f"CREATE {'OR REPLACE ' * replace}BACKUP SET {name} FOR TABLE t"
        text += "" if policy is None else f" WITH BACKUP POLICY {policy}"
        self._say(text, admin, self.model.create_set(name, policy, replace, admin))

    def drop_set(self, name, admin):
        """No set."""
        self._say(f"DROP BACKUP SET {name}", admin, self.model.drop_set(name, admin))

    def apply_policy(self, name, policy, force, admin):
        """Another policy."""
        text = f"ALTER BACKUP SET {name} APPLY BACKUP POLICY {policy}" + " FORCE" * force
        self._say(text, admin, self.model.apply_policy(name, policy, force, admin))

    def suspend(self, name, what, resume, admin):
        """Creation, expiration or both."""
        text = f"ALTER BACKUP SET {name} {'RESUME' if resume else 'SUSPEND'} BACKUP {what}POLICY"
        why = self.model.suspend(name, what != "EXPIRATION ", what != "CREATION ", resume, admin)
        self._say(text, admin, why)

    def add(self, name, admin):
        """One more backup."""
        made = NewBackup(f"n{next(self.world.ids)}")
        why = self.model.add(name, made.backup_id, admin)
        self._say(f"ALTER BACKUP SET {name} ADD BACKUP", admin, why, made)

    def delete(self, name, number, admin):
        """One less."""
        backup = self._backup(name, number)
        text = f"ALTER BACKUP SET {name} DELETE BACKUP IDENTIFIER '{backup}'"
        self._say(text, admin, self.model.delete(name, backup, admin))

    def hold(self, name, number, add, admin):
        """A hold, or none."""
        backup = self._backup(name, number)
        what = "ADD" if add else "REMOVE"
        text = f"ALTER BACKUP SET {name} MODIFY BACKUP IDENTIFIER '{backup}' {what} LEGAL HOLD"
        self._say(text, admin, self.model.hold(name, backup, add, admin))

    def drop_schema(self, admin):
        """All of it, if nothing is bound."""
        self.world.look()
        self.model.look()
        why = self.model.drop_schema(admin)
        self._try(why, lambda: self.world.put(drop_container(self.world.state, "c.s", self.world.actor())))

    def _backup(self, name, number):
        known = list(self.model.sets[name].backups) if name in self.model.sets else []
        return known[number] if number < len(known) else "none"

    def _say(self, text, admin, why, made=None):
        events = self._try(why, lambda: self.world.run(text, ADMIN if admin else OWNER, made))
        # A statement that changes something keeps its look at the clocks.
        if events:
            self.model.look()

    def _try(self, why, ask):
        try:
            done = ask()
        except BackupError as error:
            self.refused += 1
            assert error.code in why  # noqa: PT017  which error, if any, is what is compared
            return ()
        assert why == set()
        return done

    # -- what is there -------------------------------------------------------------------------

    def compare(self):
        """Policies, sets, backups and holds are those of the model."""
        state, model = self.world.state, self.model
        assert {
            one.name: (one.expire_after_days, one.has_retention_lock) for one in state.policies.values()
        } == {f"c.s.{name}": (one.days, one.lock) for name, one in model.policies.items()}
        assert {
            one.name: {backup.backup_id: backup.is_held for backup in state.backups_of(one).values()}
            for one in state.sets.values()
        } == {
            f"c.s.{name}": {backup: kept.held for backup, kept in one.backups.items()}
            for name, one in model.sets.items()
        }


def walk(operations):
    """All of them in one world, after the beginning of each."""
    walked = Walk()
    for operation in (*BEGIN, *operations):
        walked.take(operation)


@settings(max_examples=20, derandomize=True)
@given(st.lists(OPERATIONS, min_size=30, max_size=30))
def test_random_operations(operations):
    """600 operations, the same in each run."""
    walk(operations)


@pytest.mark.long("2,000 operations with a new seed; test_random_operations has 600")
@settings(max_examples=40)
@given(st.lists(OPERATIONS, min_size=50, max_size=50))
def test_many_random_operations(operations):
    """Others in each run."""
    walk(operations)


def test_a_walk_that_reaches_far():
    """Operations of each kind are done and refused, so that the model is asked both ways."""
    walked = Walk()
    for operation in [
        ("create_policy", "p", 3, 60, True, False),
        ("create_policy", "p", 3, 60, True, True),
        ("create_policy", "q", 1, None, False, False),
        ("create_set", "a", "p", False, True),
        ("pass_time", 0.05),
        ("run",),
        ("set_clock", 4000),
        ("run",),
        ("drop_set", "a", True),
        ("apply_policy", "a", "q", True, True),
        ("set_clock", -4000),
        ("boot", 9),
        ("run",),
        ("hold", "a", 0, True, True),
        ("pass_time", 8),
        ("run",),
        ("delete", "a", 0, True),
        ("hold", "a", 0, False, False),
        ("hold", "a", 0, False, True),
        ("drop_schema", True),
        ("pass_time", 8),
        ("run",),
        ("suspend", "a", "EXPIRATION ", False, True),
        ("drop_schema", True),
    ]:
        walked.take(operation)
    assert walked.refused == 8
