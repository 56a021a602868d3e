"""A world of backups without Spark: a state, a clock, users with privileges, statements as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from audit.core.actor import Actor
from audit.time_travel.backups.model.apply_events import state_after
from audit.time_travel.backups.model.state import DAY, BackupState
from audit.time_travel.backups.model.trusted_time import Boot, Observation
from audit.time_travel.backups.rules.backup_rules import NewBackup, expire_backups, runs_due, scheduled_backup
from audit.time_travel.backups.rules.decide import events_of, look_at_clocks
from audit.time_travel.backups.rules.requests import Request
from lineage.sql.parse import typed_of

START = 20_000 * DAY
ADMIN = "admin"


@dataclass(frozen=True)
class Held:
    """The privileges of a user: names, each on the account or as `OWNERSHIP ON BACKUP SET c.s.b`."""

    granted: frozenset[str]
    everything: bool = False

    def holds(self, privilege, on):
        """As the object is shown in a GRANT."""
        return self.everything or f"{privilege} ON {on}" in self.granted


@dataclass
class World:
    """A state that statements change.

    `now` is the machine's clock, `age` the time since its boot, `store` the store's date or None.
    """

    now: int = START
    age: int = 1_000_000
    boot: str | None = "boot-1"
    store: int | None = None
    state: BackupState = field(default_factory=BackupState)
    events: list = field(default_factory=list)
    grants: dict = field(default_factory=dict)
    ids: count = field(default_factory=lambda: count(1))

    @property
    def seen(self):
        """What the clocks say."""
        boot = None if self.boot is None else Boot(self.boot, self.age)
        return Observation(self.now, boot, self.store)

    def actor(self, user=ADMIN):
        """Who asks, now."""
        return Actor(self.now, user, f"q{next(self.ids)}", lambda: f"e{next(self.ids)}")

    def pass_time(self, days=0.0, *, witnessed=True):
        """Real time passes; without a witness the machine was off, and boots again."""
        micros = round(days * DAY)
        self.now += micros
        if self.store is not None:
            self.store += micros
        if witnessed:
            self.age += micros
        else:
            self.boot, self.age = f"boot-{next(self.ids)}", 1_000_000

    def put(self, events):
        """Append events, as the table does."""
        self.events += events
        self.state = state_after(events, self.state)

    def look(self):
        """Look at the clocks, as each run does."""
        self.put([look_at_clocks(self.seen, self.actor())])

    def run(self, text, user=ADMIN, made=None):
        """A statement; its events."""
        privileges = Held(frozenset(self.grants.get(user, ())), everything=user == ADMIN)
        request = Request(self.actor(user), privileges, ("c", "s"))
        events = events_of(self.state, typed_of(text), request, self.seen, made)
        self.put(events)
        return events

    def add(self, name="b", backup=None, user=ADMIN):
        """ADD BACKUP; the id of the backup."""
        made = NewBackup(backup or f"i{next(self.ids)}")
        self.run(f"ALTER BACKUP SET {name} ADD BACKUP", user, made)
        return made.backup_id

    def tick(self):
        """What `audit backup run` does: look, make what is due, delete what has expired."""
        self.look()
        made = []
        for due in runs_due(self.state, self.now):
            new = NewBackup(f"i{next(self.ids)}")
            self.put(scheduled_backup(self.state, due, new, self.actor()))
            made.append((due.backup_set.name, due.planned))
        expired = expire_backups(self.state, self.actor())
        self.put(expired)
        return made, [event.details["backup"] for event in expired]

    def backups(self, name="c.s.b"):
        """The ids of the backups of a set."""
        return list(self.state.backups_of(self.state.set_named(name)))


def world(*texts, **options):
    """A world after some statements."""
    made = World(**options)
    for text in texts:
        made.run(text)
    return made


PLAIN = "CREATE BACKUP POLICY plain EXPIRE_AFTER_DAYS = 10"
LOCKED = "CREATE BACKUP POLICY locked WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 10"
HOURLY = "CREATE BACKUP POLICY hourly SCHEDULE = '1 HOUR' EXPIRE_AFTER_DAYS = 1"
