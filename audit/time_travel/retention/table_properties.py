"""What a Delta table's properties hold for retention: what is stored, and what its owner sees of it.

In: the properties of a table, its periods. Out: the properties to set, and those to show.

Delta's own VACUUM goes by two properties, whoever runs it, so retention sets these. The owner may set them,
too: their value is kept beside it (`timeTravel.own.*`), and the longer one is in force. What is shown is what
the owner has set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from audit.time_travel.errors import BadParameterError
from audit.time_travel.retention.periods import (
    DELTAS_FILES,
    DELTAS_LOG,
    EARLIER,
    OWN,
    PREFIX,
    TRANSIENT,
    Retention,
    days_of,
    earlier_property,
    is_interval,
    key,
)
from lineage.sql.commands.time_travel.retention import RETENTION

ADOPTED = PREFIX + "adopted"
"""The property of a table that is kept although its location does not say so: an adopted one."""
CLONE_GROUP = PREFIX + "cloneGroup"
"""Holds the id of the oldest table that a clone goes back to."""
# Delta (4.4) has no setting for "never".
PINNED = "interval 36500 days"
"""Longer than any retention: a century."""
SET_BY_RETENTION = (DELTAS_FILES, DELTAS_LOG)
"""Delta's properties that retention sets, whoever runs VACUUM."""
_BY_LOWER = {name.lower(): name for name in SET_BY_RETENTION}
DELTAS_DAYS = 7.0
"""For how long Delta (4.4) keeps removed files by itself: `interval 1 week`."""
DELTAS_LOG_DAYS = 30.0
"""For how long Delta (4.4) keeps its log by itself."""


def delta_properties(
    periods: Retention, at: int = 0, owners: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Delta's properties that keep files and log for these periods, whoever runs VACUUM.

    >>> delta_properties(Retention(1.0, 7.0, ""))["delta.deletedFileRetentionDuration"]
    'interval 192 hours'
    >>> delta_properties(Retention(1.0, 7.0, ""), 0, {"delta.deletedFileRetentionDuration": "5 weeks"})
    {'delta.deletedFileRetentionDuration': '5 weeks', 'delta.logRetentionDuration': 'interval 36500 days'}

    The log is a purge's to clean. Delta (4.4) would do it with a checkpoint, by the age of commits: where a
    table at rest is written with one, by a CLONE or as its tenth commit, its state until then would be lost.

    Args:
        periods: of a table.
        at: the time, UTC microseconds; files kept by a longer former period stay for their Fail-safe.
        owners: the owner's own values; a longer one counts.
    """
    own = owners or {}
    hours = round(periods.longest(at) * 24)
    files = _longest(f"interval {hours} hours", own.get(DELTAS_FILES))
    return {DELTAS_FILES: files, DELTAS_LOG: PINNED}


def pinned_properties() -> dict[str, str]:
    """Delta's properties of a pinned table: a VACUUM by anybody keeps its files."""
    return dict.fromkeys(SET_BY_RETENTION, PINNED)


def is_pinned(properties: Mapping[str, str]) -> bool:
    """Whether a Delta table is pinned: it keeps every file, since a clone reads them."""
    return properties.get(DELTAS_FILES) == PINNED


def owners(properties: Mapping[str, str], *, is_kept: bool) -> dict[str, str]:
    """The owner's own values of Delta's properties that retention sets.

    >>> owners({DELTAS_FILES: "interval 8 days", OWN + DELTAS_FILES: "1 day"}, is_kept=True)
    {'delta.deletedFileRetentionDuration': '1 day'}
    >>> owners({DELTAS_FILES: "interval 8 days"}, is_kept=False)
    {'delta.deletedFileRetentionDuration': 'interval 8 days'}

    Args:
        properties: of the table.
        is_kept: retention sets them on this table; on any other one they are the owner's.
    """
    prefix = OWN if is_kept or is_pinned(properties) else ""
    found = {name: properties.get(prefix + name) for name in SET_BY_RETENTION}
    return {name: value for name, value in found.items() if value}


def saved(own: Mapping[str, str]) -> dict[str, str]:
    """The properties that save the owner's own values.

    >>> saved({"delta.logRetentionDuration": "5 weeks"})
    {'timeTravel.own.delta.logRetentionDuration': '5 weeks'}
    """
    return {OWN + name: value for name, value in own.items()}


def shown(properties: Mapping[str, str], *, is_kept: bool) -> dict[str, str]:
    """The properties as the owner has set them.

    >>> shown({"a": "b", "timeTravel.adopted": "true", DELTAS_LOG: "interval 720 hours"}, is_kept=True)
    {'a': 'b'}
    """
    hidden = {name for name in properties if name.startswith(PREFIX) or name in SET_BY_RETENTION}
    rest = {name: value for name, value in properties.items() if name not in hidden}
    return rest | owners(properties, is_kept=is_kept)


def of_text(given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The owner's own values among the properties of a statement, and the rest.

    >>> of_text({"delta.LOGretentionDuration": "5 weeks", "a": "b"})
    ({'delta.logRetentionDuration': '5 weeks'}, {'a': 'b'})

    Raises:
        BadParameterError: one is no interval.
    """
    own = {_BY_LOWER[name.lower()]: value for name, value in given.items() if name.lower() in _BY_LOWER}
    for name, value in own.items():
        if not is_interval(value):
            raise BadParameterError(f"{name} = {value!r} is no interval", "write it as 'interval 30 days'")
    return own, {name: value for name, value in given.items() if name.lower() not in _BY_LOWER}


def require_not_ours(names: Iterable[str]) -> None:
    """Refuse to set or unset what Time Travel keeps in the properties of a table.

    Raises:
        BadParameterError: a name is one of these.
    """
    for name in names:
        if name.lower().startswith(PREFIX.lower()):
            raise BadParameterError(
                f"the property {name} is Time Travel's own",
                "ALTER TABLE … SET DATA_RETENTION_TIME_IN_DAYS sets the retention of a table",
            )


def given_parameters(given: Mapping[str, str]) -> dict[str, str]:
    """The parameters among the properties of a statement.

    >>> given_parameters({"timeTravel.transient": "true", "a": "b"})
    {'timeTravel.transient': 'true'}
    """
    return {name: value for name, value in given.items() if name.startswith(PREFIX)}


def parameters_of(table: Mapping[str, str]) -> dict[str, str]:
    """The parameters that a copy of a table takes from it: its retention, and whether it is transient.

    >>> parameters_of({"timeTravel.transient": "true", "timeTravel.earlierRetention": "1:1", "a": "b"})
    {'timeTravel.transient': 'true'}
    """
    return {name: table[name] for name in (key(TRANSIENT), key(RETENTION)) if table.get(name)}


def inherited(before: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a table that is replaced.

    A statement that says nothing of the retention keeps it. Whether the new table is transient, the statement
    alone says: its Fail-safe is a choice of those who write into it.

    >>> days = "timeTravel.dataRetentionTimeInDays"
    >>> inherited({days: "5", "timeTravel.transient": "true", "a": "b"}, {})
    {'timeTravel.dataRetentionTimeInDays': '5'}
    """
    names = (key(RETENTION), CLONE_GROUP, ADOPTED, EARLIER)
    kept = {name: before[name] for name in names if before.get(name)}
    return kept | given_parameters(given)


def kept_properties(
    parameters: Mapping[str, str],
    own: Mapping[str, str],
    periods: Retention,
    at: int,
    *,
    pinned: bool = False,
) -> dict[str, str]:
    """All that retention keeps in the properties of a table.

    Args:
        parameters: of the table, as properties.
        own: the owner's own values of Delta's properties.
        periods: in force, with the former ones.
        at: the time, UTC microseconds.
        pinned: clones read its files.
    """
    rest = {name: value for name, value in parameters.items() if name != EARLIER}
    stored = pinned_properties() if pinned else delta_properties(periods, at, own)
    return {**rest, **saved(own), **earlier_property(periods), **stored}


def _longest(*intervals: str | None) -> str:
    found = [one for one in intervals if one]
    return max(reversed(found), key=days_of)
