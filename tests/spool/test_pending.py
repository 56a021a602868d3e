"""Statements without a record, against a model: what the next segment carries and what runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audit.spool.entry import encode
from audit.spool.pending import PendingStatements

IDS = ("q1", "q2", "q3")
STEPS = st.lists(st.tuples(st.sampled_from("SEFRG"), st.sampled_from(IDS), st.integers(0, 1)), max_size=30)


def line_of(kind, query_id, number):
    """A line; two numbers make two facts of one statement."""
    return encode(kind, query_id, {"fact": number})


def noted(pending, steps):
    """Takes the lines in, in order; what each has made superfluous."""
    return [pending.note(kind, query_id, line_of(kind, query_id, number)) for kind, query_id, number in steps]


def lines_left(steps):
    """The model: of each statement that has started, its S, E and F lines since, until its record."""
    kept = {}
    for kind, query_id, number in steps:
        if kind == "R":
            kept.pop(query_id, None)
        elif kind == "S" or (query_id in kept and kind != "G"):
            kept.setdefault(query_id, []).append((kind, number))
    return kept


@given(STEPS)
def test_what_has_no_record_is_carried_over(steps):
    """The lines of every started statement in the order of their writing; nothing of the others."""
    pending, model = PendingStatements(), lines_left(steps)
    noted(pending, steps)
    expected = [line_of(kind, query_id, n) for query_id, lines in model.items() for kind, n in lines]
    assert [*pending.carried()] == expected
    assert (len(pending), [query_id for query_id in IDS if query_id in pending]) == (
        len(model),
        sorted(model),
    )


@given(STEPS)
def test_what_has_started_and_not_ended_runs(steps):
    """With the payload of its first start, in the order of the starts."""
    pending = PendingStatements()
    noted(pending, steps)
    runs = {
        query_id: lines
        for query_id, lines in lines_left(steps).items()
        if "E" not in [kind for kind, _ in lines]
    }
    found = [(one.query_id, one.start["fact"]) for one in pending.running()]
    assert found == [(query_id, lines[0][1]) for query_id, lines in runs.items()]


@given(STEPS, STEPS)
def test_lines_that_were_not_written_leave_nothing(written, refused):
    """Taken back newest first, they leave what was written before, a record's statement included."""
    pending, only_written = PendingStatements(), PendingStatements()
    noted(pending, written)
    noted(only_written, written)
    dropped = noted(pending, refused)
    for (kind, query_id, number), lines in reversed([*zip(refused, dropped, strict=True)]):
        pending.undo(kind, query_id, line_of(kind, query_id, number), lines)
    assert sorted(pending.carried()) == sorted(only_written.carried())


def test_of_two_equal_lines_one_is_taken_back():
    """A fact may be told twice; where the disk refused the second, it has the first."""
    pending = PendingStatements()
    noted(pending, [("S", "q1", 0), ("F", "q1", 1), ("F", "q1", 1)])
    pending.undo("F", "q1", line_of("F", "q1", 1), None)
    assert [*pending.carried()] == [line_of("S", "q1", 0), line_of("F", "q1", 1)]
