"""Statements of a size: a query of many columns through CTEs, a statement of many lines.

In: how many. Out: a text and the catalog that it is asked over. What grows with the size is the number of
columns, or of lines; what one column or line means stays the same.
"""

from __future__ import annotations

from lineage import MemoryCatalog

_CTES = 20
_OUTPUTS = 20


def wide(columns: int) -> tuple[str, MemoryCatalog]:
    """One query of so many columns, each computed anew in each of 20 CTEs."""
    names = [f"c{n}" for n in range(columns)]
    computed = ", ".join(f"{name} + 1 AS {name}" for name in names)
    steps = [_step(n, f"s{n - 1}" if n else "wide", computed) for n in range(_CTES)]
    text = f"WITH {', '.join(steps)} SELECT {', '.join(names)} FROM s{_CTES - 1}"  # noqa: S608 - it runs nowhere
    return text, MemoryCatalog({"wide": dict.fromkeys(names, "int")})


def _step(number: int, source: str, computed: str) -> str:
    return f"s{number} AS (SELECT {computed} FROM {source})"  # noqa: S608 - it runs nowhere


def long(lines: int) -> tuple[str, MemoryCatalog]:
    """One statement of so many lines, or a few less: joined SELECTs of 20 CASEs each, in one UNION ALL."""
    cases = [f"  CASE WHEN a.c{n} > {n} THEN b.c{n} ELSE a.c{n + 1} END AS o{n}" for n in range(_OUTPUTS)]
    block = [
        "SELECT",
        *",\n".join(cases).split("\n"),
        "FROM t a",
        "JOIN t b ON a.c0 = b.c0",
        "WHERE b.c1 > 5",
    ]
    text = "\nUNION ALL\n".join(["\n".join(block)] * ((lines + 1) // (len(block) + 1)))
    return text, MemoryCatalog({"t": dict.fromkeys([f"c{n}" for n in range(_OUTPUTS + 1)], "int")})
