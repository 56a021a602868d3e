"""What a user is told when the spool cannot be written, and how losses are counted until a gap tells them."""

from __future__ import annotations

import errno
import json
import os
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.config import Config
from audit.core.errors import RecordLossWarning, SpoolError, SpoolFullError, SpoolUnavailableError
from audit.spool.entry import decode
from audit.spool.failure import BoundReachedError, Losses, cause_of, gap_line, spool_errors, unavailable
from audit.store.tables import QUERY_HISTORY

PLACE = Path("/data/audit/spool/some driver")
T1, T2 = "2022-01-25T16:17:47.388000Z", "2022-01-25T16:18:00.000000Z"


def os_error(number):
    """An error as the kernel's."""
    return OSError(number, os.strerror(number), str(PLACE))


@pytest.mark.parametrize(
    ("number", "way_out"),
    [
        (errno.ENOSPC, "free space on that disk"),
        (errno.EDQUOT, "free space within the quota"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EROFS, "mount that file system writable, or choose another root"),
        (errno.EACCES, "write permission"),
        (errno.EPERM, "write permission"),
        (errno.ENOENT, "attach the audit again"),
        (errno.EIO, "check the disk"),
        (errno.ENOTDIR, "choose another root"),
        (9999, "check the disk"),
    ],
)
def test_each_error_names_the_path_its_cause_and_the_way_out(number, way_out):
    """A person who reads the one line knows what to do."""
    error = unavailable(PLACE, os_error(number))
    assert (type(error), error.code) == (SpoolUnavailableError, "AUDIT_SPOOL_UNAVAILABLE")
    assert str(PLACE) in error.problem
    assert os.strerror(number) in error.problem
    assert way_out in error.way_out


def test_the_bound_is_another_error_than_a_quota():
    """It names its size, and the key of the configuration that raises it (docs/operations.md)."""
    error = unavailable(PLACE, BoundReachedError(1 << 30))
    assert (type(error), error.code) == (SpoolFullError, "AUDIT_SPOOL_FULL")
    assert "1,073,741,824 bytes" in error.problem
    assert "audit ingest" in error.way_out
    (key,) = [word for word in error.way_out.replace(",", "").split() if word.endswith("max_bytes")]
    assert key in Config.__dataclass_fields__


def test_an_error_without_a_number_has_a_text_all_the_same():
    """Python raises such errors, too."""
    error = unavailable(PLACE, OSError("strange"))
    assert "(strange)" in error.problem
    assert cause_of(OSError("strange")) == "OSError"


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (os_error(errno.ENOSPC), "ENOSPC"),
        (os_error(errno.EDQUOT), "EDQUOT"),
        (BoundReachedError(1), "max_bytes"),
        (PermissionError(errno.EACCES, "x"), "EACCES"),
        (OSError(9999, "x"), "OSError"),
    ],
)
def test_a_cause_has_a_name(error, cause):
    """The kernel's own, under which a gap counts it."""
    assert cause_of(error) == cause


def test_only_errors_of_the_system_are_translated():
    """A defect of the program stays what it is; the cause of an error is kept."""
    with pytest.raises(SpoolUnavailableError) as told, spool_errors(PLACE):
        raise os_error(errno.EIO)
    assert isinstance(told.value.__cause__, OSError)
    for error in (ValueError("x"), SpoolError("x", "y"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as raised, spool_errors(PLACE):
            raise error
        assert raised.value is error


STEPS = st.lists(
    st.tuples(st.sampled_from("SEFRG+"), st.sampled_from("abc"), st.sampled_from(["ENOSPC", "EIO"]))
)


@given(STEPS)
def test_a_gap_counts_what_nothing_brings_back(steps):
    """`+` is a record that got through: its statement is no loss, and the last one ends the outage."""
    losses, queries, records, causes, since = Losses(), set(), set(), {}, ""
    for number, (kind, query_id, cause) in enumerate(steps):
        at = f"{number:04d}"
        if kind == "+":
            losses.recorded(query_id)
            queries.discard(query_id)
            records.discard(query_id)
            if not queries:
                causes, since = {}, ""
            continue
        losses.add(kind, query_id, cause, at)
        if kind in "SR":
            queries.add(query_id)
            records |= {query_id} if kind == "R" else set()
            causes[cause] = causes.get(cause, 0) + 1
            since = since or at
    assert (len(losses), bool(losses)) == (len(queries), bool(queries))
    assert losses.gap("end") == {
        "gap": "refused",
        "since": since,
        "until": "end",
        "queries": len(queries),
        "records": len(records),
        "causes": causes,
    }


def test_a_warning_comes_once_for_each_cause_of_an_outage():
    """After a gap has told of the losses the next outage is warned of again."""
    losses, error = Losses(), unavailable(PLACE, os_error(errno.ENOSPC))
    for expected in (["ENOSPC", "EIO"], ["ENOSPC", "EIO"]):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for cause in ("ENOSPC", "ENOSPC", "EIO", "ENOSPC", "EIO"):
                losses.warn(error, cause)
        assert [one.category for one in caught] == [RecordLossWarning] * 2
        assert [str(one.message).rpartition("said once for ")[2].rstrip(")") for one in caught] == expected
        assert all(str(PLACE) in str(one.message) for one in caught)
        losses.clear()


def lost(**more):
    """The payload of a gap."""
    return {"since": T1, "until": T2} | more


@pytest.mark.parametrize(
    ("payload", "code", "words"),
    [
        (
            lost(gap="refused", queries=2, records=1, causes={"ENOSPC": 3, "max_bytes": 1}),
            "AUDIT_GAP_REFUSED",
            ["2 statements", "without a record", "ENOSPC", "max_bytes"],
        ),
        (
            lost(gap="damaged", files=["000000000001.jsonl", "000000000002.open"]),
            "AUDIT_GAP_DAMAGED",
            ["damaged", "000000000001.jsonl", "000000000002.open"],
        ),
        (
            lost(gap="orphaned", queries=3, files=[], damages=0, orphans=["a", "b", "c"]),
            "AUDIT_GAP_ORPHANED",
            ["3 statements", "end was readable"],
        ),
    ],
)
def test_a_gap_is_a_row_of_query_history(payload, code, words):
    """docs/reference/tables.md: query_type GAP, "how many statements, from when to when, and why"."""
    entry = decode(gap_line("g1", payload)[:-1])
    assert (entry.kind, entry.query_id) == ("G", "g1")
    row = entry.payload["query"]
    assert row.keys() <= {name for name, _, _ in QUERY_HISTORY.columns}
    assert (row["query_type"], row["query_id"], row["error_code"]) == ("GAP", "g1", code)
    assert (row["start_time"], row["end_time"]) == (T1, T2)
    assert [word for word in words if word not in row["error_message"]] == []
    assert json.loads(row["query_text"]) == payload
    assert {key: entry.payload[key] for key in payload} == payload


def test_a_gap_is_no_statement_that_succeeded():
    """`audit verify` looks for the record of each one that did."""
    row = decode(gap_line("g1", lost(gap="damaged"))[:-1]).payload["query"]
    assert row["execution_status"] == "INCOMPLETE"
