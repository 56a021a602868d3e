"""What statements about backups do, and what a retention lock, a legal hold or a privilege forbids."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from audit.time_travel import errors
from audit.time_travel.backups.model.apply_events import state_after
from audit.time_travel.backups.model.events import COLUMNS, BackupEvent, event_from, row_of
from audit.time_travel.backups.model.state import DAY, BackupState
from audit.time_travel.backups.rules.backup_rules import (
    NewBackup,
    backup_to_restore,
    expired_backups,
    runs_due,
    scheduled_backup,
)
from audit.time_travel.backups.rules.container_rules import drop_container
from audit.time_travel.backups.rules.requests import Request
from lineage.sql.parse import typed_of

from .world import HOURLY, LOCKED, PLAIN, START, Held, world

SET = "CREATE BACKUP SET b FOR TABLE t"
HOUR = DAY // 24


def refused(error, ask, *args, match=None):
    """An error of a kind, with a way out; nothing has changed."""
    with pytest.raises(error, match=match) as caught:
        ask(*args)
    assert caught.value.way_out
    return caught.value


# -- policies ----------------------------------------------------------------------------------


def test_a_policy_has_what_its_statement_says():
    """CREATE BACKUP POLICY, ALTER … SET, UNSET, tags and a new name."""
    made = world(
        "CREATE BACKUP POLICY p SCHEDULE = '2 HOUR' EXPIRE_AFTER_DAYS = 3 COMMENT = 'x'",
        "ALTER BACKUP POLICY p SET TAG g = 'v', s.h = 'w'",
    )
    policy = made.state.policy_named("C.S.P")
    assert (policy.name, policy.owner, policy.created) == ("c.s.p", "admin", START)
    assert (policy.schedule, policy.expire_after_days, policy.comment) == ("2 HOUR", 3, "x")
    assert policy.tags == {"c.s.g": "v", "c.s.h": "w"}
    assert not policy.has_retention_lock
    made.run("ALTER BACKUP POLICY p SET EXPIRE_AFTER_DAYS = 1, COMMENT = 'y'")
    made.run("ALTER BACKUP POLICY p UNSET SCHEDULE, COMMENT")
    made.run("ALTER BACKUP POLICY p UNSET TAG g")
    made.run("ALTER BACKUP POLICY p RENAME TO q")
    changed = made.state.policy_named("c.s.q")
    assert made.state.policy_named("c.s.p") is None
    assert (changed.schedule, changed.expire_after_days, changed.comment) == (None, 1, None)
    assert changed.tags == {"c.s.h": "w"}
    assert changed.policy_id == policy.policy_id
    made.run("DROP BACKUP POLICY q")
    made.run("DROP BACKUP POLICY IF EXISTS q")
    assert made.state.policies == {}


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("CREATE BACKUP POLICY p", errors.BadBackupPolicyError, "neither schedule nor expiration"),
        ("CREATE BACKUP POLICY p COMMENT = 'x'", errors.BadBackupPolicyError, "neither"),
        ("CREATE BACKUP POLICY p SCHEDULE = '5 MINUTE'", errors.BadBackupPolicyError, "more often"),
        ("CREATE BACKUP POLICY p EXPIRE_AFTER_DAYS = 0", errors.BadBackupPolicyError, "out of range"),
        ("CREATE BACKUP POLICY p EXPIRE_AFTER_DAYS = 3654", errors.BadBackupPolicyError, "out of range"),
        (
            "CREATE BACKUP POLICY p WITH RETENTION LOCK SCHEDULE = '1 HOUR'",
            errors.BadBackupPolicyError, "no expiration",
        ),
        ("CREATE BACKUP POLICY p SCHEDULE = 1", errors.BadBackupClauseError, "CREATE BACKUP POLICY p: SCHED"),
        ("CREATE BACKUP POLICY plain EXPIRE_AFTER_DAYS = 1", errors.BackupExistsError, "c.s.plain"),
        ("ALTER BACKUP POLICY plain UNSET EXPIRE_AFTER_DAYS", errors.BadBackupPolicyError, "neither"),
        ("ALTER BACKUP POLICY plain SET SCHEDULE = 'x'", errors.BadBackupPolicyError, "no schedule"),
        ("ALTER BACKUP POLICY plain RENAME TO locked", errors.BackupExistsError, "c.s.locked"),
        ("ALTER BACKUP POLICY none SET COMMENT = 'x'", errors.UnknownBackupError, "c.s.none"),
        ("DROP BACKUP POLICY none", errors.UnknownBackupError, "c.s.none"),
        ("CREATE BACKUP SET b FOR TABLE u", errors.BackupExistsError, "c.s.b"),
        ("CREATE BACKUP SET d FOR TABLE u WITH BACKUP POLICY none", errors.UnknownBackupError, "c.s.none"),
        ("ALTER BACKUP SET none ADD BACKUP", errors.UnknownBackupError, "c.s.none"),
        ("ALTER BACKUP SET b APPLY BACKUP POLICY none", errors.UnknownBackupError, "c.s.none"),
        ("ALTER BACKUP SET b SUSPEND BACKUP POLICY", errors.UnknownBackupError, "has no backup policy"),
        ("ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'x'", errors.UnknownBackupError, "no backup x"),
        (
            "ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'x' ADD LEGAL HOLD",
            errors.UnknownBackupError, "no backup x",
        ),
        ("DROP BACKUP SET none", errors.UnknownBackupError, "c.s.none"),
        ("CREATE TABLE x FROM BACKUP SET b IDENTIFIER 'x'", errors.UnknownBackupError, "no backup x"),
        ("CREATE SCHEMA x FROM BACKUP SET b IDENTIFIER 'x'", errors.UnknownBackupError, "is of a table"),
    ],
)  # fmt: skip
def test_what_cannot_be(text, error, match):
    """Each with the object's name and the way out."""
    made = world(PLAIN, LOCKED, SET)
    before = made.state
    refused(error, made.run, text, match=match)
    assert made.state is before


def test_if_exists_and_if_not_exists_change_nothing():
    """And make no event."""
    made = world(PLAIN, SET)
    for text in (
        "CREATE BACKUP POLICY IF NOT EXISTS plain EXPIRE_AFTER_DAYS = 99",
        "CREATE BACKUP SET IF NOT EXISTS b FOR SCHEMA x",
        "DROP BACKUP POLICY IF EXISTS none",
        "DROP BACKUP SET IF EXISTS none",
        "SHOW BACKUP SETS",
        "DESCRIBE BACKUP SET b",
    ):
        assert made.run(text) == ()


# -- sets --------------------------------------------------------------------------------------


def test_a_set_has_what_its_statement_says():
    """CREATE BACKUP SET, comment, tags, a new name."""
    made = world(PLAIN, "CREATE BACKUP SET x.b FOR DATABASE s WITH BACKUP POLICY plain TAG (g = 'v')")
    found = made.state.set_named("c.x.b")
    assert (found.domain.value, found.of, found.tags) == ("SCHEMA", "c.s", {"c.s.g": "v"})
    assert made.state.policy_of(found).name == "c.s.plain"
    made.run("ALTER BACKUP SET x.b SET COMMENT = 'y'")
    made.run("ALTER BACKUP SET x.b SET TAG g = 'w'")
    made.run("ALTER BACKUP SET x.b RENAME TO d")
    renamed = made.state.set_named("c.x.d")
    assert (renamed.comment, renamed.tags, renamed.set_id) == ("y", {"c.s.g": "w"}, found.set_id)
    made.run("ALTER BACKUP SET x.d UNSET COMMENT")
    assert made.state.set_named("c.x.d").comment is None
    made.run("DROP BACKUP SET x.d")
    assert made.state.sets == {}


def test_backups_come_and_go():
    """ADD, DELETE, and the checks before the files are made."""
    made = world(SET)
    assert made.run("ALTER BACKUP SET b ADD BACKUP") == ()
    one, two = made.add(), made.add()
    assert made.backups() == [one, two]
    made.run(f"ALTER BACKUP SET b DELETE BACKUP IDENTIFIER '{one}'")
    assert made.backups() == [two]
    made.run("CREATE OR REPLACE BACKUP SET b FOR TABLE u")
    assert made.backups() == []
    assert made.state.set_named("c.s.b").of == "c.s.u"


def test_a_policy_gives_way_with_force():
    """And the expiration of the new one holds for the backups that are there."""
    made = world(PLAIN, "CREATE BACKUP POLICY short EXPIRE_AFTER_DAYS = 1", SET)
    made.run("ALTER BACKUP SET b APPLY BACKUP POLICY plain")
    assert made.run("ALTER BACKUP SET b APPLY BACKUP POLICY plain") == ()
    backup = made.add()
    refused(
        errors.BackupPolicyInUseError, made.run, "ALTER BACKUP SET b APPLY BACKUP POLICY short", match="plain"
    )
    made.pass_time(2)
    assert made.tick() == ([], [])
    made.run("ALTER BACKUP SET b APPLY BACKUP POLICY short FORCE")
    assert made.tick() == ([], [backup])


def test_a_policy_that_is_applied_stays():
    """It is neither dropped nor replaced."""
    made = world(PLAIN, "CREATE BACKUP SET b FOR TABLE t WITH BACKUP POLICY plain")
    for text in ("DROP BACKUP POLICY plain", "CREATE OR REPLACE BACKUP POLICY plain EXPIRE_AFTER_DAYS = 1"):
        refused(errors.BackupPolicyInUseError, made.run, text, match="c.s.b")
    made.run("DROP BACKUP SET b")
    made.run("CREATE OR REPLACE BACKUP POLICY plain EXPIRE_AFTER_DAYS = 1")
    assert made.state.policy_named("c.s.plain").expire_after_days == 1


# -- retention lock ----------------------------------------------------------------------------


def locked_world(**options):
    """A set under a retention lock of ten days, with one backup, `i`."""
    made = world(
        PLAIN, LOCKED, "CREATE BACKUP SET b FOR TABLE t WITH BACKUP POLICY locked", **options
    )  # fmt: skip
    made.add(backup="i")
    return made


AGAINST_THE_LOCK = [
    "ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'i'",
    "DROP BACKUP SET b",
    "DROP BACKUP SET IF EXISTS b",
    "CREATE OR REPLACE BACKUP SET b FOR TABLE t",
]
"""Until the backup has expired."""
AGAINST_THE_LOCK_FOR_EVER = [
    "ALTER BACKUP SET b APPLY BACKUP POLICY plain",
    "ALTER BACKUP SET b APPLY BACKUP POLICY plain FORCE",
    "ALTER BACKUP SET b APPLY BACKUP POLICY longer FORCE",
    "ALTER BACKUP SET b SUSPEND BACKUP POLICY",
    "ALTER BACKUP SET b SUSPEND BACKUP EXPIRATION POLICY",
    "ALTER BACKUP POLICY locked SET EXPIRE_AFTER_DAYS = 9",
    "ALTER BACKUP POLICY locked SET EXPIRE_AFTER_DAYS = 9 SCHEDULE = '1 HOUR'",
    "ALTER BACKUP POLICY locked UNSET EXPIRE_AFTER_DAYS",
]
LONGER = "CREATE BACKUP POLICY longer WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 99"


@pytest.mark.parametrize("text", AGAINST_THE_LOCK + AGAINST_THE_LOCK_FOR_EVER)
def test_nobody_works_around_a_retention_lock(text):
    """Backups can't be deleted by any role, "including the ACCOUNTADMIN role": the administrator asks."""
    made = locked_world()
    made.run(LONGER)
    made.pass_time(9.99)
    refused(errors.BackupLockedError, made.run, text)
    assert made.tick() == ([], [])
    assert made.backups() == ["i"]


@pytest.mark.parametrize("text", AGAINST_THE_LOCK)
def test_what_has_expired_is_no_longer_bound(text):
    """The lock ends with the period of each backup."""
    made = locked_world()
    made.pass_time(10)
    made.run(text)
    found = made.state.set_named("c.s.b")
    assert found is None or not made.state.backups_of(found)


@pytest.mark.parametrize("text", AGAINST_THE_LOCK_FOR_EVER)
def test_the_lock_of_a_set_outlives_its_backups(text):
    """To apply a policy with a retention lock "is irreversible"."""
    made = locked_world()
    made.run(LONGER)
    made.pass_time(11)
    assert made.tick() == ([], ["i"])
    refused(errors.BackupLockedError, made.run, text)


def test_the_period_can_be_made_longer():
    """One can "increase the expiration period": that of the backups that are there, too."""
    made = locked_world()
    made.run("ALTER BACKUP POLICY locked SET EXPIRE_AFTER_DAYS = 20")
    made.run("ALTER BACKUP POLICY locked SET EXPIRE_AFTER_DAYS = 20 COMMENT = 'the same'")
    made.pass_time(19)
    assert made.tick() == ([], [])
    refused(errors.BackupLockedError, made.run, "ALTER BACKUP POLICY locked SET EXPIRE_AFTER_DAYS = 10")
    made.pass_time(1)
    assert made.tick() == ([], ["i"])


def test_creation_under_a_lock_can_be_suspended():
    """The way out that the error names; renaming and comments are free as well."""
    made = locked_world()
    made.run("ALTER BACKUP SET b SUSPEND BACKUP CREATION POLICY")
    made.run("ALTER BACKUP SET b RESUME BACKUP POLICY")
    made.run("ALTER BACKUP SET b RENAME TO d")
    made.run("ALTER BACKUP POLICY locked RENAME TO l")
    made.run("ALTER BACKUP POLICY l SET SCHEDULE = '1 HOUR'")
    refused(errors.BackupLockedError, made.run, "DROP BACKUP SET d")


def test_a_lock_that_is_applied_later_binds_what_is_there():
    """And ends a suspension of expiration, which it does not allow."""
    made = world(PLAIN, LOCKED, "CREATE BACKUP SET b FOR TABLE t WITH BACKUP POLICY plain")
    made.add(backup="i")
    made.run("ALTER BACKUP SET b SUSPEND BACKUP POLICY")
    made.run("ALTER BACKUP SET b APPLY BACKUP POLICY locked FORCE")
    refused(errors.BackupLockedError, made.run, "ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'i'")
    found = made.state.set_named("c.s.b")
    assert found.is_creation_suspended
    assert not found.is_expiration_suspended
    made.pass_time(10)
    assert made.tick() == ([], ["i"])


def test_without_a_lock_the_owner_deletes_what_has_not_expired():
    """An expiration alone binds nobody."""
    for text in AGAINST_THE_LOCK:
        made = world(PLAIN, "CREATE BACKUP SET b FOR TABLE t WITH BACKUP POLICY plain")
        made.add(backup="i")
        made.run(text)


# -- the clock ---------------------------------------------------------------------------------


def test_a_clock_that_is_set_forward_opens_no_lock():
    """Neither at once nor after a reboot; set back again, the lock lasts as long as before."""
    made = locked_world()
    made.pass_time(1)
    made.look()
    made.now += 3650 * DAY
    for _ in range(3):
        assert made.tick() == ([], [])
        for text in AGAINST_THE_LOCK:
            refused(errors.BackupLockedError, made.run, text)
        made.boot, made.age = f"boot {made.now}", 7
        made.now += 365 * DAY
    made.now = START + DAY
    made.tick()
    made.pass_time(8.9)
    assert made.tick() == ([], [])
    made.pass_time(0.2)
    assert made.tick() == ([], ["i"])


def test_a_clock_that_is_set_forward_is_seen_at_the_statement_itself():
    """The mark advances with the statement, by what its boot has seen."""
    made = locked_world()
    made.age += 9 * DAY
    made.now += 900 * DAY
    refused(errors.BackupLockedError, made.run, "DROP BACKUP SET b")
    made.age += DAY
    made.now += DAY
    made.run("DROP BACKUP SET b")


def test_a_clock_that_is_set_back_makes_no_lock_shorter():
    """A backup that says that it was made years ago is bound as long as any other."""
    made = world(LOCKED, "CREATE BACKUP SET b FOR TABLE t WITH BACKUP POLICY locked")
    made.now -= 3650 * DAY
    made.add(backup="i")
    made.now += 3650 * DAY
    made.tick()
    assert made.backups() == ["i"]
    refused(errors.BackupLockedError, made.run, "DROP BACKUP SET b")


def test_days_that_a_machine_was_off_make_a_lock_longer():
    """Nobody has witnessed them; the calendar shows what is left."""
    made = locked_world()
    made.pass_time(30, witnessed=False)
    made.tick()
    assert made.backups() == ["i"]
    backup = made.state.backups_of(made.state.set_named("c.s.b"))["i"]
    assert made.state.expiration_scheduled_for(backup, made.now) == made.now + 10 * DAY
    made.pass_time(10)
    assert made.tick() == ([], ["i"])


def test_with_a_store_that_has_a_clock_they_count():
    """An object store's dates and the machine's clock agree upon them."""
    made = locked_world(store=START)
    made.pass_time(30, witnessed=False)
    assert made.tick() == ([], ["i"])


def test_without_a_lock_the_machines_clock_decides():
    """As for retention and everything else."""
    made = world(PLAIN, "CREATE BACKUP SET b FOR TABLE t WITH BACKUP POLICY plain", boot=None)
    made.add(backup="i")
    backup = made.state.backups_of(made.state.set_named("c.s.b"))["i"]
    assert made.state.expiration_scheduled_for(backup, made.now) == START + 10 * DAY
    made.pass_time(9.99)
    assert made.tick() == ([], [])
    made.pass_time(0.01)
    assert made.tick() == ([], ["i"])


# -- legal hold --------------------------------------------------------------------------------

AGAINST_THE_HOLD = AGAINST_THE_LOCK
HOLD = "ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'i' {} LEGAL HOLD"


@pytest.mark.parametrize("policy", ["", "plain", "locked"])
@pytest.mark.parametrize("text", AGAINST_THE_HOLD)
def test_a_held_backup_stays_whatever_its_period(policy, text):
    """Nobody can delete it, "even if the backup has passed its EXPIRE_AFTER_DAYS period"."""
    clause = f" WITH BACKUP POLICY {policy}" if policy else ""
    made = world(PLAIN, LOCKED, SET + clause)
    made.add(backup="i")
    made.add(backup="j")
    made.run(HOLD.format("ADD"))
    assert made.run(HOLD.format("ADD")) == ()
    made.pass_time(5000)
    made.tick()
    assert made.backups() == (["i"] if policy else ["i", "j"])
    refused(errors.BackupHeldError, made.run, text, match="legal hold")
    made.run(HOLD.format("REMOVE"))
    made.run(text)


def test_a_hold_is_on_one_backup():
    """Another of the same set is deleted."""
    made = world(SET)
    made.add(backup="i")
    made.add(backup="j")
    made.run(HOLD.format("ADD"))
    made.run("ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'j'")
    assert made.backups() == ["i"]


def test_a_hold_that_is_removed_leaves_the_lock():
    """It can be removed, unlike a retention lock."""
    made = locked_world()
    made.run(HOLD.format("ADD"))
    made.run(HOLD.format("REMOVE"))
    refused(errors.BackupLockedError, made.run, "ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'i'")


# -- schedule, suspension, two runners ---------------------------------------------------------


def scheduled_world():
    """A set with a backup each hour, which expires after a day."""
    return world(HOURLY, "CREATE BACKUP SET b FOR TABLE t WITH BACKUP POLICY hourly")


def test_the_schedule_makes_and_expires():
    """One backup a run, none between; after a day the first one goes."""
    made = scheduled_world()
    assert made.tick() == ([], [])
    for hour in range(1, 25):
        made.pass_time(1 / 24)
        assert made.tick() == ([("c.s.b", START + hour * HOUR)], [])
        assert made.tick() == ([], [])
    made.pass_time(1 / 24)
    run, expired = made.tick()
    assert (len(run), len(expired), len(made.backups())) == (1, 1, 24)


def test_what_was_missed_is_one_backup():
    """After a week without a runner."""
    made = scheduled_world()
    made.pass_time(7.01)
    assert made.tick() == ([("c.s.b", START + 7 * DAY)], [])


def test_a_backup_that_is_gone_is_not_made_again():
    """Deleted or expired: its run is over."""
    made = scheduled_world()
    made.pass_time(1 / 24)
    made.tick()
    made.run(f"ALTER BACKUP SET b DELETE BACKUP IDENTIFIER '{made.backups()[0]}'")
    assert made.tick() == ([], [])


def test_suspended_creation_owes_nothing():
    """Runs of that time are not made up; ADD BACKUP works all the time."""
    made = scheduled_world()
    made.run("ALTER BACKUP SET b SUSPEND BACKUP CREATION POLICY")
    made.pass_time(2)
    assert made.tick() == ([], [])
    manual = made.add()
    made.run("ALTER BACKUP SET b RESUME BACKUP CREATION POLICY")
    assert made.tick() == ([], [])
    made.pass_time(1 / 24)
    assert len(made.tick()[0]) == 1
    assert made.backups()[0] == manual


def test_suspended_expiration_keeps_what_has_expired():
    """Until it is resumed."""
    made = scheduled_world()
    old = made.add()
    made.run("ALTER BACKUP SET b SUSPEND BACKUP EXPIRATION POLICY")
    made.pass_time(5)
    assert made.tick()[1] == []
    made.run("ALTER BACKUP SET b RESUME BACKUP POLICY")
    assert made.tick()[1] == [old]


def test_a_new_schedule_begins_when_it_is_set():
    """Its runs are not those of the old one; a set without a schedule has none."""
    made = scheduled_world()
    made.pass_time(0.9 / 24)
    made.run("ALTER BACKUP POLICY hourly SET SCHEDULE = '2 HOUR'")
    made.pass_time(1.9 / 24)
    assert made.tick()[0] == []
    made.pass_time(0.1 / 24)
    assert len(made.tick()[0]) == 1
    made.run("ALTER BACKUP POLICY hourly UNSET SCHEDULE")
    made.pass_time(0.5)
    assert made.tick()[0] == []


def test_of_two_runners_one_makes_the_backup():
    """The second finds that it is made, or that nobody wants it any more."""
    made = scheduled_world()
    made.pass_time(1 / 24)
    (due,) = runs_due(made.state, made.now)
    made.put(scheduled_backup(made.state, due, NewBackup("first"), made.actor()))
    assert scheduled_backup(made.state, due, NewBackup("second"), made.actor()) == ()
    made.pass_time(1 / 24)
    (due,) = runs_due(made.state, made.now)
    made.run("ALTER BACKUP SET b SUSPEND BACKUP POLICY")
    assert scheduled_backup(made.state, due, NewBackup("third"), made.actor()) == ()
    made.run("DROP BACKUP SET b")
    assert scheduled_backup(made.state, due, NewBackup("fourth"), made.actor()) == ()


def test_delete_against_hold():
    """Whoever is second decides on what the first has left: the hold wins, or there is nothing to hold."""
    made = world(SET)
    made.add(backup="i")
    made.run(HOLD.format("ADD"))
    refused(errors.BackupHeldError, made.run, "ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'i'")
    made.run(HOLD.format("REMOVE"))
    made.run("ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'i'")
    refused(errors.UnknownBackupError, made.run, HOLD.format("ADD"))


# -- schemas -----------------------------------------------------------------------------------


def test_a_schema_with_a_bound_backup_stays():
    """Nobody drops "a schema that contains a backup set with any unexpired backups", or a database."""
    made = locked_world()
    for container in ("c.s", "c", "`C`.S"):
        refused(errors.BackupLockedError, drop_container, made.state, container, made.actor())
    made.run(HOLD.format("ADD"))
    made.pass_time(11)
    made.look()
    refused(errors.BackupHeldError, drop_container, made.state, "c.s", made.actor())
    made.run(HOLD.format("REMOVE"))
    made.put(drop_container(made.state, "c.s", made.actor()))
    assert (made.state.sets, made.state.policies, made.state.backups) == ({}, {}, {})
    assert drop_container(made.state, "c.other", made.actor()) == ()


def test_the_policy_of_a_set_elsewhere_keeps_its_schema():
    """Else a lock would go with the schema of its policy."""
    made = world(
        "CREATE BACKUP POLICY x.p WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 1",
        "CREATE BACKUP SET b FOR TABLE t WITH BACKUP POLICY x.p",
    )
    refused(errors.BackupPolicyInUseError, drop_container, made.state, "c.x", made.actor(), match=r"c\.s\.b")
    made.run("ALTER BACKUP POLICY x.p RENAME TO s.p")
    assert drop_container(made.state, "c.x", made.actor()) == ()


# -- privileges --------------------------------------------------------------------------------

OWNS_B, OWNS_P = "OWNERSHIP ON BACKUP SET c.s.b", "OWNERSHIP ON BACKUP POLICY c.s.plain"
OWNS_LOCKED = "OWNERSHIP ON BACKUP POLICY c.s.locked"
IN_SCHEMA = "CREATE BACKUP POLICY ON SCHEMA c.s"
LOCKS, HOLDS = "APPLY BACKUP RETENTION LOCK ON ACCOUNT", "APPLY LEGAL HOLD ON ACCOUNT"
APPLIES = "APPLY BACKUP POLICY ON ACCOUNT"
MAKES_SET = ("CREATE BACKUP SET ON SCHEMA c.s", "OWNERSHIP ON TABLE c.s.u")


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("CREATE BACKUP POLICY n EXPIRE_AFTER_DAYS = 1", [IN_SCHEMA]),
        ("CREATE BACKUP POLICY n WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 1", [IN_SCHEMA, LOCKS]),
        ("CREATE OR REPLACE BACKUP POLICY plain EXPIRE_AFTER_DAYS = 1", [IN_SCHEMA, OWNS_P]),
        ("ALTER BACKUP POLICY plain SET EXPIRE_AFTER_DAYS = 1", [OWNS_P]),
        ("ALTER BACKUP POLICY locked SET EXPIRE_AFTER_DAYS = 99", [OWNS_LOCKED, LOCKS]),
        ("ALTER BACKUP POLICY locked SET COMMENT = 'x'", [OWNS_LOCKED]),
        ("ALTER BACKUP POLICY plain RENAME TO q", [OWNS_P]),
        ("ALTER BACKUP POLICY plain RENAME TO x.q", [OWNS_P, "CREATE BACKUP POLICY ON SCHEMA c.x"]),
        ("DROP BACKUP POLICY plain", [OWNS_P]),
        ("CREATE BACKUP SET d FOR TABLE u", [*MAKES_SET]),
        ("CREATE BACKUP SET d FOR SCHEMA x", [MAKES_SET[0], "OWNERSHIP ON SCHEMA c.x"]),
        ("CREATE BACKUP SET d FOR TABLE u WITH BACKUP POLICY plain", [*MAKES_SET, APPLIES]),
        (
            "CREATE BACKUP SET d FOR TABLE u WITH BACKUP POLICY plain",
            [*MAKES_SET, "APPLY ON BACKUP POLICY c.s.plain"],
        ),
        ("CREATE BACKUP SET d FOR TABLE u WITH BACKUP POLICY locked", [*MAKES_SET, APPLIES, LOCKS]),
        ("ALTER BACKUP SET b APPLY BACKUP POLICY plain", [OWNS_B, APPLIES]),
        ("ALTER BACKUP SET b APPLY BACKUP POLICY locked", [OWNS_B, APPLIES, LOCKS]),
        ("ALTER BACKUP SET b ADD BACKUP", [OWNS_B]),
        ("ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'i'", [OWNS_B]),
        ("ALTER BACKUP SET b SET COMMENT = 'x'", [OWNS_B]),
        ("ALTER BACKUP SET b RENAME TO x.b", [OWNS_B, "CREATE BACKUP SET ON SCHEMA c.x"]),
        ("ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'i' ADD LEGAL HOLD", [HOLDS]),
        ("DROP BACKUP SET b", [OWNS_B]),
        ("CREATE OR REPLACE BACKUP SET b FOR TABLE u", [*MAKES_SET, OWNS_B]),
        ("CREATE TABLE x FROM BACKUP SET b IDENTIFIER 'i'", [OWNS_B]),
    ],
)
def test_privileges(text, needs):
    """All of them are enough, and each is needed."""
    made = world(PLAIN, LOCKED, SET)
    made.add(backup="i")
    before = made.state
    for missing in needs:
        made.grants["ann"] = set(needs) - {missing}
        error = refused(errors.BackupDeniedError, made.run, text, "ann")
        assert "ann has no privilege" in str(error)
        assert made.state is before
    made.grants["ann"] = set(needs)
    made.run(text, "ann")


def test_the_owner_of_a_set_holds_nothing():
    """APPLY LEGAL HOLD is a privilege of its own, for ADD and for REMOVE."""
    made = world(SET)
    made.add(backup="i")
    made.grants["ann"] = {OWNS_B}
    refused(errors.BackupDeniedError, made.run, HOLD.format("ADD"), "ann", match="APPLY LEGAL HOLD")
    made.run(HOLD.format("ADD"))
    refused(errors.BackupDeniedError, made.run, HOLD.format("REMOVE"), "ann", match="APPLY LEGAL HOLD")


# -- events ------------------------------------------------------------------------------------


def test_the_state_comes_back_from_the_rows_of_the_table():
    """All that happened above is kept in JSON."""
    made = locked_world()
    made.run("CREATE BACKUP SET d FOR SCHEMA x WITH BACKUP POLICY plain COMMENT = 'ü' TAG (g = 'v')")
    made.run("ALTER BACKUP SET d SUSPEND BACKUP EXPIRATION POLICY")
    made.add("d")
    made.run(HOLD.format("ADD"))
    names = [name for name, _, _ in COLUMNS]
    rows = [dict(zip(names, row_of(at, event), strict=True)) for at, event in enumerate(made.events)]
    json.dumps([row["details"] for row in rows])
    events = [event_from(event.time, row.get) for event, row in zip(made.events, rows, strict=True)]
    assert asdict(state_after(events)) == asdict(made.state)


def test_an_unknown_event_is_refused():
    """A newer version may have bound something by it."""
    refused(errors.BackupHistoryError, state_after, [BackupEvent(1, "NEW", "e")], match="NEW")


def test_a_backup_comes_after_a_look_at_the_clocks():
    """Else its lock would count from the year 1970, and be over at once."""
    made = [
        BackupEvent(1, "CREATE_SET", "e", name="c.s.b", details={"domain": "Table", "of": "c.s.t"}),
        BackupEvent(2, "ADD_BACKUP", "f", "e", "c.s.b", details={"backup": "i"}),
    ]
    refused(errors.BackupHistoryError, state_after, made, match="backup i of backup set")


def test_a_state_is_never_changed():
    """The one before stays as it was, its backups as well."""
    made = world(SET)
    made.add(backup="i")
    before, shown = made.state, asdict(made.state)
    made.run(HOLD.format("ADD"))
    made.add()
    assert asdict(before) == shown
    assert state_after([]) == BackupState()


def test_a_backup_of_the_schedule_is_read_by_its_id():
    """What CREATE … FROM BACKUP SET reads; one that has expired and is there yet, too."""
    made = locked_world()
    made.pass_time(20)
    made.look()
    request = Request(made.actor(), Held(frozenset(), everything=True), ("c", "s"))
    statement = typed_of("CREATE OR REPLACE TABLE x FROM BACKUP SET b IDENTIFIER 'i'")
    assert backup_to_restore(made.state, statement, request).backup_id == "i"
    assert [one.backup_id for one in expired_backups(made.state, made.now)] == ["i"]
    assert made.run("CREATE TABLE x FROM BACKUP SET b IDENTIFIER 'i'") == ()
    assert replace(statement, replace=False) != statement
