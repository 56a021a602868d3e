"""Patterns of names in SHOW … LIKE.

In: a pattern. Out: a function that tells whether a name matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# % and _ are Snowflake's, * is Spark's. Spark's | for alternatives is not among them.
_WILD = {"%": ".*", "*": ".*", "_": "."}


def like_matcher(pattern: str) -> Callable[[str], bool]:
    """A pattern of SHOW … LIKE: % and _, whatever the case; * as Spark's SHOW has it; "" fits all.

    >>> like_matcher("load%")("LOAD_1"), like_matcher("load_")("load")
    (True, False)
    """
    if not pattern:
        return lambda _name: True
    compiled = re.compile("".join(_WILD.get(c, re.escape(c)) for c in pattern), re.IGNORECASE | re.DOTALL)
    return lambda name: compiled.fullmatch(name) is not None
