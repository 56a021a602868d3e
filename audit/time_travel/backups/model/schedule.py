"""The schedule of a backup policy: when backups are to be made.

In: the text of SCHEDULE and moments, UTC microseconds. Out: the next run, and the run that is due. The rules
are Snowflake's (CREATE BACKUP POLICY): `n MINUTE`, `n HOUR` or `USING CRON <expression> <time zone>`, and at
least 60 minutes between two runs.

An interval begins when the policy is applied, creation resumed or the schedule changed, and counts real time,
so that daylight saving does not move it. A cron expression means the clocks on the wall of its time zone: a
time that they skip runs when they go on, a time that they show twice runs once, the first time; an
expression that names no hour runs each real hour. (Snowflake's tasks skip the one and run twice at the other.
One backup too few is worse than one at another hour.)

A run is missed when nobody could make the backup at its time. What has been missed is made up by one backup,
for the newest of the missed runs: a backup shows the table as it is now, so that several would be alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from audit.core.clock import to_datetime, to_micros
from audit.time_travel.errors import BadBackupPolicyError

LEAST_MINUTES = 60
"""Between two scheduled backups lie so many minutes or more (Snowflake, CREATE BACKUP POLICY)."""
LONGEST_DAYS = 3653
"""Ten years: the longest interval, as the longest EXPIRE_AFTER_DAYS."""
_MINUTE = 60_000_000
_MINUTES = {"MINUTE": 1, "MINUTES": 1, "HOUR": 60, "HOURS": 60}
_FIELDS = 5
_WAY_OUT = "write SCHEDULE = '60 MINUTE', '24 HOUR' or 'USING CRON 0 2 * * * Europe/Berlin'"
# How far back the run before a moment is looked for: the last step finds a 29 February, over 2100 as well.
_BACK = tuple(timedelta(days=days) for days in (2, 40, 400, 3000))


@dataclass(frozen=True, slots=True)
class Interval:
    """A run each so many minutes."""

    minutes: int


@dataclass(frozen=True, slots=True)
class Cron:
    """Runs by a cron expression in a time zone.

    Attributes:
        expression: minute, hour, day of month, month, day of week.
        zone: a name of the IANA time zone database.
    """

    expression: str
    zone: str


Schedule = Interval | Cron


def parse_schedule(text: str) -> Schedule:
    """The schedule of a text.

    >>> parse_schedule("24 hour"), parse_schedule("USING CRON 0 2 * * * UTC")
    (Interval(minutes=1440), Cron(expression='0 2 * * *', zone='UTC'))

    Raises:
        BadBackupPolicyError: it is none, or has less than 60 minutes between two runs.
    """
    words = text.split()
    if [word.upper() for word in words[:2]] == ["USING", "CRON"]:
        return _cron(text, words[2:])
    number, unit = words if len(words) == 2 else ("", "")  # noqa: PLR2004  a number and its unit
    if not (number.isascii() and number.isdigit()) or unit.upper() not in _MINUTES:
        raise BadBackupPolicyError(f"{text!r} is no schedule", _WAY_OUT)
    # A number of more digits than that is beyond any interval, and costs time to read.
    minutes = int(number[:10]) * _MINUTES[unit.upper()]
    if minutes < LEAST_MINUTES:
        raise BadBackupPolicyError(
            f"{text!r} makes a backup more often than each {LEAST_MINUTES} minutes",
            f"give it {LEAST_MINUTES} MINUTE or more",
        )
    if minutes > LONGEST_DAYS * 24 * 60:
        raise BadBackupPolicyError(
            f"{text!r} is longer than ten years", f"give it {LONGEST_DAYS * 24} HOUR or less"
        )
    return Interval(minutes)


def _cron(text: str, words: list[str]) -> Cron:
    if len(words) != _FIELDS + 1:
        raise BadBackupPolicyError(
            f"{text!r} has not five fields and a time zone",
            "write USING CRON <minute> <hour> <day of month> <month> <day of week> <time zone>",
        )
    cron = Cron(" ".join(words[:_FIELDS]), words[_FIELDS])
    try:
        zone = ZoneInfo(cron.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadBackupPolicyError(
            f"{text!r} has an unknown time zone, {cron.zone}", "write one as UTC or America/Los_Angeles"
        ) from error
    try:
        runs = CronSim(cron.expression, datetime(2000, 1, 1, tzinfo=zone))
        next(runs)
    except CronSimError as error:
        raise BadBackupPolicyError(f"{text!r} is no cron expression: {error}", _WAY_OUT) from error
    except StopIteration as error:
        raise BadBackupPolicyError(f"{text!r} names a day that never comes", _WAY_OUT) from error
    # Runs at one minute of an hour are an hour or more apart; at two minutes they are not.
    if len(runs.minutes) != 1:
        raise BadBackupPolicyError(
            f"{text!r} makes a backup more often than each {LEAST_MINUTES} minutes",
            "name one minute, as in USING CRON 0 * * * * UTC",
        )
    return cron


def next_run(schedule: Schedule, since: int, after: int) -> int:
    """The first run after a moment.

    >>> next_run(Interval(60), 0, 3600_000_000) // 3600_000_000
    2

    Args:
        schedule: from `parse_schedule`.
        since: when it came into force, UTC microseconds.
        after: the moment, UTC microseconds.
    """
    if isinstance(schedule, Interval):
        step = schedule.minutes * _MINUTE
        return since + step * max(1, (after - since) // step + 1)
    start = max(since, after)
    return next(run for run in _runs(schedule, start) if run > start)


def last_run(schedule: Schedule, since: int, now: int) -> int | None:
    """The newest run up to a moment, None where none was since the schedule came into force.

    >>> last_run(Interval(60), 0, 3599_999_999) is None
    True

    Args:
        schedule: from `parse_schedule`.
        since: when it came into force. A later moment than `now` was told by a clock that has been put back
            meanwhile: it then bounds nothing.
        now: the moment, UTC microseconds.
    """
    is_bounded = since <= now
    if isinstance(schedule, Interval):
        step = schedule.minutes * _MINUTE
        runs = (now - since) // step
        return since + step * runs if runs >= 1 or not is_bounded else None
    # `CronSim(reverse=True)` (2.8) treats the hours that clocks skip another way: forward is what counts.
    for back in _BACK:
        start = now - back // timedelta(microseconds=1)
        begin = max(start, since) if is_bounded else start
        found = None
        for run in _runs(schedule, begin):
            if run > now:
                break
            if run > begin:
                found = run
        if found is not None or begin == since:
            return found
    return None


def run_due(schedule: Schedule, since: int, now: int, made: Iterable[int]) -> int | None:
    """The run that a backup is to be made for now, None for none.

    >>> run_due(Interval(60), 0, 5 * 3600_000_000, [3600_000_000]) // 3600_000_000
    5

    Args:
        schedule: from `parse_schedule`.
        since: when it came into force, UTC microseconds.
        now: the moment, UTC microseconds.
        made: the runs that backups were made for. A run after `now` was told by a clock set forward: it does
            not count, or no backup would be made until then.
    """
    newest = last_run(schedule, since, now)
    if newest is None or any(newest <= run <= now for run in made):
        return None
    return newest


def _runs(schedule: Cron, start: int) -> Iterator[int]:
    """Runs from about a moment on, in order; the first may be that moment or one before it."""
    zone = ZoneInfo(schedule.zone)
    # In the hour that clocks show twice CronSim (2.8) begins with the first one, which may be over.
    for run in CronSim(schedule.expression, to_datetime(start).astimezone(zone)):
        yield to_micros(run.astimezone(timezone.utc))
