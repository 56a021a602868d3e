"""The cache of results: a query that was analyzed before is not analyzed again.

In: a parsed statement (whose text `lineage.parse` remembers) and a catalog that can tell whether anything
has changed. Out: the same `Access`. A catalog without a version is asked anew each time.
"""

from __future__ import annotations

from collections.abc import Callable

from lineage.catalog.protocol import Catalog, version_of
from lineage.model import Access
from lineage.sql.statement import Statement

# One statement over a few catalogs: sessions with current schemas of their own.
_CATALOGS = 4
# References to sources of all columns together; more of them (2,000 columns, each shaped by 2,000 keys)
# are worked out again, or a short text over a wide table would hold 30 MB.
_LARGEST = 10_000


def cached_access(
    statement: Statement, catalog: Catalog, user: str | None, find: Callable[[Statement, Catalog], Access]
) -> Access:
    """The cached result for this statement, user and version of the catalog, else that of `find`.

    Only queries are remembered: what changes something changes the catalog's version, too. The key is the
    text as it stands, not its fingerprint: an output's name is spelled as the text spells it.
    """
    version = version_of(catalog)
    if version is None or not statement.is_query:
        return find(statement, catalog)
    found = statement.seen.get((version, user))
    if found is None:
        found = find(statement, catalog)
        if _size(found) <= _LARGEST:
            if len(statement.seen) >= _CATALOGS:
                statement.seen.clear()
            statement.seen[version, user] = found
    return found


def _size(access: Access) -> int:
    return sum(len(c.base_sources) + len(c.direct_sources) + len(c.indirect_sources) for c in access.columns)
