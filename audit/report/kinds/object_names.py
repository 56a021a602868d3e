"""Which object of those on record a name means.

In: a name as people write it. Out: its full name and its ids. Names are compared without regard to case; the
catalog, and the schema, may be left out where only one object answers.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from audit.core.plain_text import escaped
from audit.report.binding import bound
from audit.report.errors import ReportNameAmbiguous, ReportNameUnknown
from audit.report.model import About
from lineage.names import split_recorded

if TYPE_CHECKING:
    from audit.query.tables import Tables
    from audit.report.period import Period

_SHOWN = 5
# What a statement was refused has no id, since nobody looked it up.
_NAMED = """
SELECT DISTINCT object_name, object_id
FROM (
  SELECT object_name, object_id, query_date
  FROM account_usage.objects_read
  UNION ALL
  SELECT o.objectName, o.objectId, query_date
  FROM account_usage.access_history
  LATERAL VIEW explode(objects_modified) AS o
  UNION ALL
  SELECT object_modified_by_ddl.objectName, object_modified_by_ddl.objectId, query_date
  FROM account_usage.access_history
  UNION ALL
  SELECT tried, CAST(NULL AS BIGINT), query_date
  FROM account_usage.query_history
  LATERAL VIEW explode(objects_tried) AS tried
)
WHERE object_name IS NOT NULL
"""
_IN_PERIOD = "AND query_date BETWEEN :from_day AND :to_day"


def find_object(tables: Tables, name: str, period: Period) -> About:
    """The object of a name, looked for in the period, then in all records.

    Raises:
        ReportNameUnknown: nothing on record has this name.
        ReportNameAmbiguous: several objects answer to it.
    """
    names: list[str] = []
    for sql in (_NAMED + _IN_PERIOD, _NAMED):
        rows = tables.ask(bound(sql, period.values, tables.schema), {}).rows
        names = sorted({one for one, _ in rows})
        if found := matching(name, names):
            if len(found) > 1:
                raise ReportNameAmbiguous(
                    f"{name!r} may be {_listed(found)}",
                    "write the one that you mean in full, with catalog and schema",
                )
            ids = tuple(sorted({key for one, key in rows if one == found[0] and key is not None}))
            return About(found[0], {"object_name": found[0], "object_ids": ids})
    near = _near(name, names)
    raise ReportNameUnknown(
        f"nothing on record is called {name!r}",
        f"near it: {_listed(near)}"
        if near
        else "is it spelled schema.table? `audit query most_used_objects` lists some",
    )


def matching(name: str, names: Iterable[str]) -> list[str]:
    """The names that a name may mean: exactly that one, else all that end with its parts.

    >>> matching("s.T", ["spark_catalog.s.t", "spark_catalog.r.t"])
    ['spark_catalog.s.t']
    >>> matching("t", ["spark_catalog.s.t", "spark_catalog.r.t"])
    ['spark_catalog.s.t', 'spark_catalog.r.t']
    """
    known = list(names)
    if name in known:
        return [name]
    asked = split_recorded(name.casefold())
    return [one for one in known if asked and split_recorded(one.casefold())[-len(asked) :] == asked]


def _near(name: str, names: list[str]) -> list[str]:
    # By the last two parts: people leave the catalog out.
    tails = {".".join(split_recorded(one.casefold())[-2:]): one for one in names}
    wanted = ".".join(split_recorded(name.casefold())[-2:])
    return [tails[one] for one in difflib.get_close_matches(wanted, tails, _SHOWN, cutoff=0.5)]


def _listed(names: list[str]) -> str:
    return ", ".join(escaped(one) for one in names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
