"""Patterns of names in SHOW … LIKE.

In: a pattern. Out: what says whether a name fits it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_WILD = {"%": ".*", "*": ".*", "_": "."}


def matcher(pattern: str) -> Callable[[str], bool]:
    """A pattern of SHOW … LIKE: % and _, whatever the case; * as Spark's SHOW has it; "" fits all.

    >>> matcher("load%")("LOAD_1"), matcher("load_")("load")
    (True, False)
    """
    if not pattern:
        return lambda _name: True
    compiled = re.compile("".join(_WILD.get(c, re.escape(c)) for c in pattern), re.IGNORECASE | re.DOTALL)
    return lambda name: compiled.fullmatch(name) is not None
