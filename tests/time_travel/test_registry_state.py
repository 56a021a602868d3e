"""The state of dropped objects after events, whoever wrote them, in whatever order they are read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.core.actor import Actor
from audit.time_travel.clones.create import literal_properties, replace_spans
from audit.time_travel.dropped.crash_repair import drop_on_its_way
from audit.time_travel.dropped.drop_registry import (
    MOVED_FROM,
    ObjectEvent,
    RegistryState,
    registry_state_after,
)
from audit.time_travel.dropped.recreate import created_on, make_all, schema_clauses
from audit.time_travel.dropped.schema_folder import SchemaFolder
from audit.time_travel.retention.periods import DAY

SCHEMA = ("spark_catalog", "s")


def drop(event_id, time, name="t", *, location=None, **more):
    """The drop of a table; its files lie at `/its name` if nothing else is said."""
    place = f"/{name}" if location is None else location
    return ObjectEvent(time, "DROPPED", event_id, "TABLE", (*SCHEMA, name), location=place, **more)


def about(kind, of, time, event_id=None):
    """An event about a drop, with the drop's object."""
    return replace(
        of, event=kind, event_id=event_id or f"{kind} {of.event_id}", of_event=of.event_id, time=time
    )


def parameter(name, value, time):
    """An ALTER ACCOUNT."""
    return ObjectEvent(time, "SET_PARAMETER", f"{name}{time}", "ACCOUNT", (name,), details={"value": value})


def left(*events):
    """The ids of the drops that can be restored, newest first."""
    return [one.event_id for one in registry_state_after(events).dropped]


def test_drops_stand_newest_first():
    """UNDROP restores the newest drop of a name."""
    assert left(drop("a", 1), drop("b", 3, "u"), drop("c", 2, "v")) == ["b", "c", "a"]
    assert left() == []


@pytest.mark.parametrize("kind", ["UNDROPPED", "RETRACTED", "PURGED", "PURGING"])
@pytest.mark.parametrize("time", [0, 5, 9])
def test_what_ends_a_drop_ends_it_whatever_the_clocks_say(kind, time):
    """An UNDROP may have an earlier time than its DROP, of another driver; other drops stay."""
    one, other = drop("a", 5), drop("b", 6, "u")
    assert left(one, other, about(kind, one, time)) == ["b"]


def test_a_purge_that_did_not_end_is_remembered():
    """Its folder is partly deleted: it cannot be restored, and the next purge deletes the rest."""
    one, other = drop("a", 1), drop("b", 2, "u")
    state = registry_state_after([one, other, about("PURGING", one, 3), about("PURGING", other, 3)])
    assert (state.dropped, state.half_purged) == ((), (one, other))
    state = registry_state_after([one, about("PURGING", one, 3), about("PURGED", one, 4)])
    assert state.half_purged == ()


def test_an_earlier_drop_of_the_same_files_has_nothing_left_after_a_purge():
    """A table made again at its location and dropped again after the purge has its own files."""
    first, second, third = (drop(name, time) for name, time in (("a", 1), ("b", 2), ("c", 9)))
    assert left(first, second, about("PURGED", second, 5)) == []
    assert left(first, second, about("PURGED", second, 5), third) == ["c"]


def test_of_two_drops_of_the_same_files_the_later_one_counts():
    """A killed driver wrote one before Spark dropped anything, and the next driver another."""
    assert left(drop("a", 1), drop("b", 2)) == ["b"]
    assert left(drop("a", 1), drop("b", 2, location="/elsewhere")) == ["b", "a"]
    assert left(drop("a", 1, details={MOVED_FROM: "/old"}), drop("b", 2, location="/old")) == ["b"]


def test_two_tables_of_a_dropped_schema_may_share_a_location():
    """Both names come back with the schema."""
    one = drop("a", 1, location="/x", container_event="s")
    assert left(one, replace(one, event_id="b", name=(*SCHEMA, "u"))) == ["b", "a"]


def test_views_have_no_files_to_share():
    """Drops without a location do not replace each other."""
    views = [ObjectEvent(n, "DROPPED", str(n), "VIEW", (*SCHEMA, "v")) for n in (1, 2)]
    assert left(*views) == ["2", "1"]


def test_a_moved_drop_has_its_new_location_and_keeps_the_rest():
    """DROP SCHEMA moves the tables out of its folder."""
    one = drop("a", 1, location="/s.db/t", details={"kind": "MANAGED"})
    moved = replace(
        about("MOVED", one, 2), location="/_tables/t", details={"kind": "MANAGED", MOVED_FROM: "/s.db/t"}
    )
    (found,) = registry_state_after([one, moved]).dropped
    assert (found.time, found.event_id, found.location) == (1, "a", "/_tables/t")
    assert found.places == {"/_tables/t", "/s.db/t"}
    assert left(one, moved, about("UNDROPPED", one, 3)) == []


def test_the_newest_value_of_a_parameter_counts():
    """None unsets it; zero is a value."""
    changes = [parameter("A", 7, 1), parameter("B", 30, 1), parameter("A", 0, 2), parameter("B", None, 3)]
    assert registry_state_after(changes).parameters == {"A": 0}


def test_a_purge_of_old_versions_is_remembered_by_table():
    """Up to which moment, and when; of two the later purge."""
    events = [
        ObjectEvent(time, "PURGED_VERSIONS", str(time), "TABLE", SCHEMA, object_id=of, details={"until": to})
        for time, of, to in ((5, "x", 2), (9, "x", 6), (7, "y", 1))
    ]
    assert registry_state_after(events).purged == {"x": (6, 9), "y": (1, 7)}


@pytest.mark.parametrize(
    ("days", "fail_safe", "retained", "kept"),
    [(1, 7, 1, 8), (0, 7, 0, 7), (90, 0, 90, 90), (None, None, 0, 0)],
)
def test_a_drop_keeps_the_periods_that_it_had(days, fail_safe, retained, kept):
    """Counted from the drop, whatever is set afterwards."""
    one = drop("a", 100 * DAY, retention_days=days, fail_safe_days=fail_safe)
    assert (one.retained_until, one.kept_until) == ((100 + retained) * DAY, (100 + kept) * DAY)


EVENTS = st.lists(
    st.builds(
        lambda kind, event_id, of, time, place: ObjectEvent(
            time, kind, event_id, "TABLE", (*SCHEMA, of),
            of_event=None if kind == "DROPPED" else of, location=place,
        ),
        st.sampled_from(["DROPPED", "DROPPED", "UNDROPPED", "RETRACTED", "MOVED", "PURGING", "PURGED"]),
        st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.integers(0, 9),
        st.sampled_from(["/x", "/y"]),
    ),
    max_size=8, unique_by=lambda one: one.event_id,
)  # fmt: skip


@settings(max_examples=50)
@given(EVENTS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(events, random):
    """The table has no order: several drivers append to it."""
    shuffled = random.sample(events, len(events))
    assert registry_state_after(shuffled) == registry_state_after(events)


@settings(max_examples=50)
@given(EVENTS)
def test_each_file_belongs_to_one_drop_at_most(events):
    """What can be restored was dropped, is not ended, and shares no location with another."""
    state = registry_state_after(events)
    ended = {one.of_event for one in events if one.event not in ("DROPPED", "MOVED")}
    assert {one.event_id for one in state.dropped}.isdisjoint(ended)
    places = [place for one in state.dropped for place in one.places]
    assert len(places) == len(set(places))
    assert {one.event for one in state.dropped} <= {"DROPPED"}


def test_only_a_schema_of_that_name_is_on_its_way():
    """The mark may have been copied to another schema with its properties."""
    one = ObjectEvent(1, "DROPPED", "a", "SCHEMA", ("spark_catalog", "S"))
    state = RegistryState((one,))
    assert drop_on_its_way({"name": "s", "properties": {"timeTravel.drop": "a"}}, state) == one
    assert drop_on_its_way({"name": "copy", "properties": {"timeTravel.drop": "a"}}, state) is None
    assert drop_on_its_way({"name": "s", "properties": {}}, state) is None
    assert drop_on_its_way(None, state) is None


FOLDER = SchemaFolder(None, Actor(0, "ann", None, lambda: "new"), "s", "file:/w/s.db/")


@pytest.mark.parametrize(
    ("place", "inside"),
    [
        ("file:/w/s.db/t", True), ("file:/w/s.db/deep/t", True), ("file:/w/s.db2/t", False),
        ("file:/w/s.db", False), ("file:/w/_tables/t", False), ("/w/s.db/t", False), ("", False),
        (None, False),
    ],
)  # fmt: skip
def test_a_drop_is_moved_out_if_it_lies_in_the_folder(place, inside):
    """To the folder of tables beside it, and it remembers where it lay."""
    one = drop("a", 1, "a/b ü", location=place or "", details={"kind": "MANAGED"})
    one = replace(one, location=place)
    moved = FOLDER.moved_out(one)
    assert FOLDER.holds(place) is inside
    assert moved == (
        replace(one, location="file:/w/_tables/a_b__-new", details={"kind": "MANAGED", MOVED_FROM: place})
        if inside
        else one
    )


@pytest.mark.parametrize(
    ("facts", "more", "clauses"),
    [
        ({"properties": {}}, {}, ""),
        ({"comment": "", "properties": {}}, {"location": "/it's"}, r" LOCATION '/it\'s'"),
        (
            {"comment": 'it\'s \\ "x"', "properties": {"k'": "v'"}},
            {},
            r""" COMMENT 'it\'s \\ "x"' WITH DBPROPERTIES ('k\'' = 'v\'')""",
        ),
        (
            {"properties": {"owner": "root", "timeTravel.drop": "old", "a": "b"}},
            {"restored_from": "new"},
            " WITH DBPROPERTIES ('a' = 'b', 'timeTravel.drop' = 'new')",
        ),
    ],
)
def test_a_schema_is_made_again_with_its_facts(facts, more, clauses):
    """Texts are literals, Spark's own property and the old mark are left out."""
    assert schema_clauses(facts, **more) == clauses


@pytest.mark.parametrize("text", ["", "-1", "x", "²", "1.5"])
def test_a_schema_without_a_time_of_creation_has_none(text):
    """Another session has made it, or somebody has written the property by hand."""
    assert created_on({"properties": {"timeTravel.createdOn": text}}) is None
    assert created_on({}) is None


def test_views_are_made_after_the_views_that_they_read():
    """What Spark refuses is tried again; what reads itself, or a missing object, is given back."""
    from pyspark.errors import AnalysisException

    reads = {"c": {"b"}, "b": {"a"}, "a": set(), "x": {"y"}, "y": {"x"}, "z": {"missing"}}
    made = []

    def make(view):
        if not reads[view] <= set(made):
            raise AnalysisException("TABLE_OR_VIEW_NOT_FOUND")
        made.append(view)

    assert make_all(list(reads), make) == ["x", "y", "z"]
    assert made == ["a", "b", "c"]


def test_another_error_than_sparks_analysis_ends_the_making_of_views():
    """A broken disk is no missing view."""
    with pytest.raises(OSError, match="full"):
        make_all(["v"], lambda _view: (_ for _ in ()).throw(OSError("full")))


@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.text(max_size=5)), max_size=6))
def test_spans_are_replaced_where_they_stand(text, cuts):
    """Against a text that is put together piece by piece from its beginning."""
    places = sorted({min(place, len(text)) for place, _ in cuts})
    spans = list(zip(places[::2], places[1::2], strict=False))
    edits = [(first, stop, new) for (first, stop), (_, new) in zip(spans, cuts, strict=False)]
    expected, at = "", 0
    for first, stop, new in edits:
        expected += text[at:first] + new
        at = stop
    for order in (edits, reversed(edits)):
        assert replace_spans(text, order) == expected + text[at:]


def test_properties_are_literals_of_sql():
    """Whatever is in a name or a value."""
    assert literal_properties({"a": "b", "k'": "it's \\"}) == r"'a' = 'b', 'k\'' = 'it\'s \\'"
    assert literal_properties({}) == ""
