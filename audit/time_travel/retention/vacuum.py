"""Refuses a VACUUM that would delete files of retention, Fail-safe or clones.

In: the RETAIN hours of a VACUUM, and the table. Out: nothing, or an error with the table's periods. A VACUUM
without RETAIN needs no check: Delta uses the table's own properties, which hold the same periods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.time_travel.errors import RetainedError
from audit.time_travel.retention.table_properties import is_pinned
from lineage.names import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from audit.spark.delta.values import Table
    from audit.time_travel.retention.periods import Retention


def require_kept(
    table: Table, hours: float, periods: Retention, at: int, properties: Mapping[str, str]
) -> None:
    """Refuse a VACUUM with too few hours.

    Raises:
        RetainedError: retention or Fail-safe is longer, or a clone reads the files.
    """
    # Only RETAIN reaches these files: without it Delta obeys the property of the table, here a century.
    if is_pinned(properties):
        raise RetainedError(
            f"VACUUM {quote_name(table.name)} RETAIN {hours:g} HOURS: clones of it may read its files",
            "leave RETAIN out, or free what none of them needs: audit purge",
        )
    needed = periods.longest(at) * 24
    if hours < needed:
        raise RetainedError(
            f"VACUUM {quote_name(table.name)} RETAIN {hours:g} HOURS is less than its retention period and"
            f" Fail-safe, {needed:g} hours",
            "leave RETAIN out, or shorten the period first: ALTER TABLE … SET DATA_RETENTION_TIME_IN_DAYS",
        )
