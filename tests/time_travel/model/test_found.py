"""The shortest steps of what random walks have found, each once a defect.

In the words of `Operations`: an operation and its arguments. After the last step all promised reads are made.
"""

from __future__ import annotations

import pytest

from tests.sessions import NO_TABLES

from .operations import IMMEDIATE, PLAIN, SCRIPT, SEMICOLON
from .test_model import replay

pytestmark = [pytest.mark.spark, pytest.mark.long("some thirty sequences of 14 to 50 s each")]

ATTACH = NO_TABLES
LEDGER = "moving_session"

MADE = ("create", "x.a", PLAIN, None, False)
CLONED = ("clone", "x.b", "x.a", 0, "CLONE", PLAIN)
OVERWRITTEN = ("write", "x.a", "overwrite", PLAIN)
# Longer than the standard period and Fail-safe: only what is kept for another reason is there.
LATER = (("days_pass", 9.4), ("vacuum", "x.a", "outside"))

FOUND = {
    # A REPLACE keeps the pin of a cloned table, and its retention.
    "replace-of-a-cloned-table": (MADE, CLONED, ("write", "x.a", "replace", PLAIN), *LATER),
    "writer-replaces-a-cloned-table": (MADE, CLONED, ("write_by_frame", "x.a", "replace"), *LATER),
    "clone-replaces-a-cloned-table": (
        MADE, ("create", "x.c", PLAIN, None, False), CLONED, ("clone", "x.a", "x.c", 0, "CLONE", PLAIN),
        *LATER,
    ),
    "deep-clone-replaces-a-cloned-table": (
        MADE, ("create", "x.c", PLAIN, None, False), CLONED, ("clone", "x.a", "x.c", 0, "DEEP CLONE", PLAIN),
        *LATER,
    ),
    "replace-keeps-the-retention": (
        ("create", "x.a", PLAIN, 5, False), ("write", "x.a", "replace", PLAIN), ("days_pass", 2.2),
    ),
    "writer-replace-keeps-the-retention": (
        ("create", "x.a", PLAIN, 5, False), ("write_by_frame", "x.a", "replace"), ("days_pass", 2.2),
    ),
    "replace-in-a-schema-with-a-retention": (
        ("set_schema", "x", 30, PLAIN), MADE, ("write", "x.a", "replace", PLAIN), *LATER,
    ),
    "clone-over-a-table-with-a-retention": (
        ("create", "x.a", PLAIN, 5, False), ("create", "x.c", PLAIN, None, False),
        ("clone", "x.a", "x.c", 0, "CLONE", PLAIN), ("days_pass", 2.2),
    ),
    # Also where that is its schema's, and the source has one of its own.
    "clone-of-a-table-with-a-retention-over-one-without": (
        MADE, ("create", "x.c", PLAIN, 2, False), ("clone", "x.a", "x.c", 0, "CLONE", PLAIN),
        ("set_schema", "x", 30, PLAIN), ("days_pass", 2.2),
    ),
    # A purge keeps what is in the Fail-safe of a clone.
    "purge-and-the-fail-safe-of-a-clone": (
        MADE, CLONED, ("set_table", "x.b", 5, PLAIN), ("write", "x.b", "overwrite", PLAIN), OVERWRITTEN,
        ("days_pass", 2.2), ("set_table", "x.b", 1, PLAIN), ("days_pass", 6.3), ("purge",),
        ("recover", "x.c", "x.b", 1),
    ),
    # What replaces a transient table is none, unless it says so.
    "replace-of-a-transient-table": (
        ("create", "x.b", PLAIN, None, True), ("write_by_frame", "x.b", "replace"),
        ("set_schema", "x", 5, PLAIN), ("days_pass", 2.2),
    ),
    # What was current until a moment ago can be read, however old it is.
    "a-table-at-rest": (MADE, ("days_pass", 20.1), OVERWRITTEN),
    # A CLONE writes a checkpoint: there Delta would clean the log of a table that has rested for 30 days.
    "a-clone-over-a-table-at-rest": (
        MADE, ("days_pass", 45.2), ("create", "x.c", PLAIN, 2, False),
        ("clone", "x.a", "x.c", 0, "CLONE", PLAIN),
    ),
    # Scripts and EXECUTE IMMEDIATE are no other way.
    "drop-by-execute-immediate": (MADE, ("drop", "x.a", IMMEDIATE), ("undrop", "x.a", PLAIN)),
    "drop-in-a-script": (MADE, ("drop", "x.a", SCRIPT), ("undrop", "x.a", PLAIN)),
    "drop-schema-by-execute-immediate": (
        MADE, ("drop_schema", "x", IMMEDIATE), ("undrop_schema", "x", PLAIN),
    ),
    "create-in-a-script": (("create", "x.a", SCRIPT, 5, False), OVERWRITTEN, ("days_pass", 2.2)),
    "clone-in-a-script": (MADE, ("clone", "x.b", "x.a", 0, "CLONE", SCRIPT), OVERWRITTEN, *LATER),
    "clone-by-execute-immediate": (MADE, ("clone", "x.b", "x.a", 0, "CLONE", IMMEDIATE), OVERWRITTEN, *LATER),
    # A view is read as of the point, whatever its text is.
    "view-with-a-cte-of-the-same-name": (MADE, OVERWRITTEN, ("create_view", "x.b", "x.a", "cte")),
    "view-with-a-hint": (MADE, OVERWRITTEN, ("create_view", "x.b", "x.a", "hint")),
    "view-of-a-table-statement": (MADE, OVERWRITTEN, ("create_view", "x.b", "x.a", "table")),
    # Delta's own API and its properties.
    "rename-of-a-table-in-the-schemas-folder": (
        ("create", "x.a", SCRIPT, None, False), CLONED, ("rename", "x.a", "x.c"),
    ),
    "clone-by-the-api": (MADE, ("clone_by_api", "x.b", "x.a", 0), OVERWRITTEN, *LATER),
    "restore-by-the-api-keeps-the-retention": (
        ("create", "x.a", PLAIN, 5, False), OVERWRITTEN, ("restore_by_api", "x.a", 1), ("days_pass", 2.2),
    ),
    "restore-by-the-api-beyond-retention": (
        MADE, OVERWRITTEN, ("days_pass", 2.2), ("restore_by_api", "x.a", 1),
    ),
    "property-set-by-hand": (
        MADE, OVERWRITTEN, ("set_by_hand", "x.a"), ("days_pass", 0.6), ("vacuum", "x.a", "outside"),
    ),
    "semicolon": (MADE, ("set_table", "x.a", 30, SEMICOLON)),
    "a-stream-makes-a-table": (
        ("set_schema", "x", 30, PLAIN), MADE, ("create_by_stream", "x.b", "x.a"),
        ("write", "x.b", "overwrite", PLAIN), ("days_pass", 9.4), ("vacuum", "x.b", "outside"),
    ),
    # The longer period of another container counts from then on.
    "undrop-schema-into-a-longer-period": (
        MADE, OVERWRITTEN, ("drop_schema", "x", PLAIN), ("set_account", 30, 0), ("undrop_schema", "x", PLAIN),
        *LATER,
    ),
    "undrop-schema-under-a-longer-minimum": (
        ("create", "x.a", PLAIN, 0, False), ("days_pass", 0.6), OVERWRITTEN, ("drop_schema", "x", PLAIN),
        ("set_account", None, 3), ("undrop_schema", "x", PLAIN),
    ),
    "recover-into-a-longer-period": (
        MADE, OVERWRITTEN, ("days_pass", 2.2), ("set_schema", "y", 30, PLAIN), ("recover", "y.c", "x.a", 1),
        ("write", "y.c", "overwrite", PLAIN), ("days_pass", 9.4), ("vacuum", "y.c", "outside"),
    ),
    "undrop-into-a-longer-period": (
        MADE, OVERWRITTEN, ("drop", "x.a", PLAIN), ("set_schema", "x", 30, PLAIN), ("undrop", "x.a", PLAIN),
        *LATER,
    ),
}  # fmt: skip


@pytest.mark.parametrize("steps", FOUND.values(), ids=FOUND)
def test_found(moving_session, spark, moving_clock, steps):
    """What is promised after these steps can be read."""
    replay(moving_session, spark, moving_clock, steps)
