"""Random walks from a seed, and the shortest form of one that fails.

In: a seed. Out: steps. A world has few steps, so that a walk that fails is short before it is cut down.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from .walk import IMMEDIATE, NAMES, PLAIN, SCHEMAS, SCRIPT, SEMICOLON, Step

HOW = (PLAIN, PLAIN, SEMICOLON, SCRIPT, IMMEDIATE)
WRITES = ("insert", "overwrite", "update", "delete", "merge", "replace")
DAYS = (0, 1, 2, 5, 30, None)
# How often each operation comes, of about a hundred.
WEIGHTS = {
    "create": 9, "create_by_writer": 2, "create_by_stream": 1, "rename": 4, "drop": 6, "undrop": 8,
    "drop_schema": 2, "undrop_schema": 4, "failsafe_restore": 2, "write": 18, "write_by_frame": 4,
    "write_by_stream": 1, "write_outside": 2, "restore": 4, "restore_by_api": 1, "optimize": 1, "clone": 10,
    "clone_by_api": 1, "recover": 2, "set_by_hand": 1, "create_view": 2,
    "drop_view": 1, "set_table": 4, "set_schema": 3, "set_account": 1, "unset_account": 1, "days_pass": 9,
    "vacuum": 6, "purge": 2,
}  # fmt: skip
# The arguments of each operation, by the names of the choices below.
ARGUMENTS = {
    "create": "table how own_days transient", "create_by_writer": "table", "create_by_stream": "table other",
    "rename": "table other", "drop": "table how", "undrop": "table how", "drop_schema": "schema how",
    "undrop_schema": "schema how", "failsafe_restore": "table", "write": "table write how",
    "write_by_frame": "table frame", "write_by_stream": "table other", "write_outside": "table",
    "restore": "table earlier how", "restore_by_api": "table earlier", "optimize": "table",
    "clone": "table other back clone how", "clone_by_api": "table other back",
    "recover": "table other earlier", "set_by_hand": "table", "create_view": "table other view",
    "drop_view": "table", "set_table": "table days how",
    "set_schema": "schema days how", "set_account": "account_days minimum", "unset_account": "",
    "days_pass": "pass", "vacuum": "table where", "purge": "",
}  # fmt: skip
CHOICES: dict[str, tuple[object, ...]] = {
    "table": NAMES,
    "other": NAMES,
    "schema": SCHEMAS,
    "how": HOW,
    "days": DAYS,
    "own_days": (None, None, *DAYS),
    "account_days": DAYS[:-1],
    "minimum": (0, 0, 1, 3),
    "transient": (True, False, False, False, False, False),
    "write": WRITES,
    "frame": ("append", "overwrite", "replace"),
    "earlier": (1, 2, 3, 4),
    "back": (0, 0, 1, 2, 3),
    "clone": ("CLONE", "CLONE", "DEEP CLONE"),
    "view": ("plain", "plain", "cte", "hint", "table"),
    "pass": (0.1, 0.6, 1.2, 2.2, 6.3, 9.4, 20.1, 45.2),
    "where": ("here", "outside"),
}


def steps_of(seed: object, *, without: Iterable[str] = ()) -> Iterator[Step]:
    """Steps without an end; most make sense after those before.

    Args:
        seed: gives the same steps each time.
        without: operations that are left out.
    """
    pick = random.Random(str(seed))  # noqa: S311  which step is no secret
    weights = {name: weight for name, weight in WEIGHTS.items() if name not in set(without)}
    while True:
        (name,) = pick.choices(list(weights), list(weights.values()))
        yield (name, *(pick.choice(CHOICES[argument]) for argument in ARGUMENTS[name].split()))


def shortest(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool], tries: int) -> list[Step]:
    """The steps without those that the failure does not need.

    >>> shortest([("a",), ("b",), ("c",), ("d",)], lambda steps: {("b",), ("d",)} <= set(steps), 20)
    [('b',), ('d',)]

    Args:
        steps: which fail.
        fails: whether steps still fail.
        tries: how often it may be asked.
    """
    found, size = list(steps), max(1, len(steps) // 2)
    while tries > 0:
        at, changed = 0, False
        while at < len(found) and tries > 0:
            rest = found[:at] + found[at + size :]
            tries -= 1
            if fails(rest):
                found, changed = rest, True
            else:
                at += size
        if size == 1 and not changed:
            break
        size = max(1, size // 2)
    return found
