"""Tags, row access policies of a table, and what is shown, without Spark: limits, odd names, odd values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.policies.errors import BadPolicyError, PolicyExistsError, UnknownPolicyError
from audit.policies.model.events import GovernanceEvent, event_of, row_of
from audit.policies.statements.propagate_tags import propagation_events
from audit.policies.statements.show_policies import ShowContext, show_rows
from lineage.model import Domain
from lineage.sql.commands.command import CURRENT_SCHEMA, Shows

from .told_governance import HERE, Governance, Row, relation, table

T, V = table("t", "a STRING", "n INT"), table("v", "a STRING", is_view=True)
MASK = "CREATE MASKING POLICY m AS (v STRING) RETURNS STRING -> '*'"
ANN = ShowContext(HERE, frozenset({"PUBLIC"}), "PUBLIC")


def governance(*statements):
    """Tags, a mask and two objects."""
    return Governance("CREATE TAG g", MASK, tables=(T, V)).run(*statements)


# -- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["", "x" * 256, "用" * 256, "it''s", "''''", "a\\\\b", " high ", "NULL"])
def test_a_value_is_kept_as_it_is_written(value):
    """Values have up to 256 characters of any kind; a doubled quote is one (Spark 4.2)."""
    of = governance(f"ALTER TABLE t SET TAG g = '{value}'")
    (kept,) = of.state.objects[T.key].tags.values()
    assert kept == value.replace("''", "'").replace("\\\\", "\\")


@pytest.mark.parametrize("on", ["TABLE t", "TABLE t ALTER COLUMN n", "VIEW v", "SCHEMA s"])
def test_a_value_is_one_that_the_tag_takes(on):
    """Letters count as they are; 257 characters are too many; the object is named, and nothing is set."""
    of = governance("CREATE TAG few ALLOWED_VALUES 'high', 'low', 'high'")
    assert of.state.find_tag("c.s.few")[1].allowed == ("high", "low")
    with pytest.raises(BadPolicyError, match="not take the value 'High'; it takes 'high', 'low'; ALTER TAG"):
        of.run(f"ALTER {on} SET TAG few = 'High'")
    with pytest.raises(
        BadPolicyError, match=r"value of tag c\.s\.g for .* has 257 characters; it may have 256"
    ):
        of.run(f"ALTER {on} SET TAG g = '{'x' * 257}'")
    assert of.state.objects == {}


def test_a_value_stays_when_the_tag_takes_it_no_longer():
    """What is tagged keeps its value; only a new value must be allowed."""
    of = governance("ALTER TABLE t SET TAG g = 'old'", "ALTER TAG g ADD ALLOWED_VALUES 'new', 'newer'")
    assert list(of.state.objects[T.key].tags.values()) == ["old"]
    with pytest.raises(BadPolicyError, match="does not take the value 'old'"):
        of.run("ALTER TABLE t SET TAG g = 'old'")
    of.run("ALTER TAG g DROP ALLOWED_VALUES 'new'", "ALTER TABLE t SET TAG g = 'newer'")
    assert list(of.state.objects[T.key].tags.values()) == ["newer"]


@pytest.mark.parametrize(
    ("name", "renamed"),
    [("`a.b`", "renamed"), ("`a``b`", "renamed"), ("größe", "renamed"), ("o.g", "o.renamed"),
     ("x.y.z", "x.y.renamed")],
)  # fmt: skip
def test_tags_have_any_name_in_any_schema(name, renamed):
    """A tag is found by its name in any letters, whatever stands in it; a new name stays in its schema."""
    of = governance(f"CREATE TAG {name}", f"ALTER TABLE t SET TAG {name.upper()} = 'x'")
    of.run(f"ALTER TAG {name} RENAME TO renamed", f"DROP TAG {renamed}")
    assert [tag.dropped for tag in of.state.tags.values()] == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TAG IF EXISTS nope SET COMMENT = 'x'",
        "ALTER TAG IF EXISTS nope RENAME TO x",
        "DROP TAG IF EXISTS nope",
        "CREATE TAG IF NOT EXISTS g ALLOWED_VALUES 'x'",
        "DROP MASKING POLICY IF EXISTS nope",
        "ALTER MASKING POLICY IF EXISTS nope SET BODY -> v",
        "ALTER MASKING POLICY IF EXISTS nope RENAME TO x",
        MASK.replace("POLICY", "POLICY IF NOT EXISTS"),
        "DROP ROW ACCESS POLICY IF EXISTS nope ON t",
    ],
)
def test_an_if_that_does_not_hold_does_nothing(text):
    """IF EXISTS and IF NOT EXISTS run without an event."""
    assert governance().run(text).log == governance().log


# -- propagation -------------------------------------------------------------------------------


def test_each_tag_is_set_or_told_why_not():
    """A tag that cannot be set is an error of its own; all others are set, none twice."""
    of = governance("CREATE TAG h", "ALTER TAG h SET MASKING POLICY m")
    of.run("ALTER TABLE t ALTER COLUMN n SET TAG g = 'x'")
    g, h = of.state.tag_names["c.s.g"], of.state.tag_names["c.s.h"]
    wanted = {"a": {g: "1", h: "2"}, "n": {g: "3"}, "gone": {g: "4"}}
    events, problems = propagation_events(wanted, T, lambda _policy: {T.key}, of.actor(), of.state)
    assert [(event.event, event.of_id, event.details["value"]) for event in events] == [("SET_TAG", g, "1")]
    assert [one.problem for one in problems] == [
        "policy c.s.m of tag c.s.h reads c.s.t, which it is to protect",
        "c.s.t has no column gone",
    ]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (replace(T, key=None), "c.s.t cannot have tags: it is temporary"),
        (replace(T, key="name:c.s.t"), "c.s.t carries no tags: it is no Delta table"),
    ],
)
def test_what_cannot_have_tags_is_told_once(found, said):
    """A target that keeps no tags has one error, however many tags it was to get."""
    of = governance("CREATE TAG h")
    wanted = {"a": dict.fromkeys(of.state.tags, "x"), "n": dict.fromkeys(of.state.tags, "x")}
    events, [problem] = propagation_events(wanted, found, lambda _policy: set(), of.actor(), of.state)
    assert events == []
    assert problem.problem.startswith(said)


# -- row access policies of a table ------------------------------------------------------------


def created(name, grantees, body="n = 1"):
    """CREATE ROW ACCESS POLICY in BigQuery's words."""
    to = f" GRANT TO ({', '.join(map(repr, grantees))})" if grantees else ""
    return f"CREATE ROW ACCESS POLICY {name} ON t{to} FILTER USING ({body})"


@pytest.mark.parametrize(
    ("grantees", "condition"),
    [
        ((), "false"),
        (["user:bob@x.y"], "current_user() = 'bob@x.y'"),
        (["serviceAccount:job"], "current_user() = 'job'"),
        (["group:HR"], "is_role_in_session('HR')"),
        (["domain:x.y"], "endswith(current_user(), concat('@', 'x.y'))"),
        (["user:a", "group:B"], "current_user() = 'a' OR is_role_in_session('B')"),
        (["user:a", "allAuthenticatedUsers"], "true"),
    ],
)
def test_a_grantee_is_a_condition_on_the_user(grantees, condition):
    """Users, groups and domains are asked at each read, so a role that is granted later counts."""
    of = governance(created("p", grantees))
    [attached] = of.state.attachments(relation(T))
    assert (attached.policy.body, attached.columns) == (f"({condition}) AND (n = 1)", ("n",))


@pytest.mark.parametrize("grantee", ["bob", "user:", "specialGroup:x", "allUsers", ":", "USER:bob"])
def test_a_grantee_that_is_nobody_is_refused(grantee):
    """A word that BigQuery does not have is no silent grant to nobody."""
    with pytest.raises(BadPolicyError, match=r"policy c\.s\.t\.p is granted to .*, which stands for nobody"):
        governance(created("p", [grantee]))


def test_policies_of_a_table_are_told_apart_by_name():
    """One is replaced or dropped without the others, the last by DROP ALL; a filter for all stands alone."""
    of = governance(created("p", ["user:a"]), created("Q", [], "a = 'n' AND `n` = 2"))
    of.run(created("strings", [], "a = 'n'"))
    assert of.rows(T) == [("t.p", ("n",)), ("t.Q", ("a", "n")), ("t.strings", ("a",))]
    with pytest.raises(PolicyExistsError, match=r"row access policy P is on c\.s\.t already; use CREATE OR"):
        of.run(created("P", []))
    of.run(created("P", []).replace("CREATE", "CREATE OR REPLACE"), "DROP ROW ACCESS POLICY q ON t")
    of.run("DROP ROW ACCESS POLICY strings ON t")
    assert of.rows(T) == [("t.P", ("n",))]
    with pytest.raises(BadPolicyError, match=r"is the last of c\.s\.t: .*; say so by DROP ALL"):
        of.run("DROP ROW ACCESS POLICY p ON t")
    with pytest.raises(UnknownPolicyError, match="has no row access policy nope"):
        of.run("DROP ROW ACCESS POLICY nope ON t")
    of.run("DROP ALL ROW ACCESS POLICIES ON t")
    of.run("CREATE ROW ACCESS POLICY r AS (v INT) RETURNS BOOLEAN -> true")
    of.run("ALTER TABLE t ADD ROW ACCESS POLICY r ON (n)")
    assert of.state.find(Domain.ROW_ACCESS_POLICY, "c.s.t.p") is None
    with pytest.raises(PolicyExistsError, match="DROP ALL ROW ACCESS POLICIES first"):
        of.run(created("p", []))


def test_one_policy_that_shows_all_makes_the_others_void():
    """Policies of a table are alternatives: where one shows a user all rows, the others change nothing."""
    of = governance(created("p", ["user:a"]), created("q", ["user:b"]))
    first, second = of.state.objects[T.key].grants.values()
    for answers, expected in (
        ({first.policy: False, second.policy: True}, [False, False]),
        ({first.policy: True, second.policy: True}, [True, True]),
        ({first.policy: None, second.policy: True}, [None, True]),
    ):
        assert [one.changes for one in of.state.attachments(relation(T), answers.get)] == expected


# -- what is shown, and what is kept -----------------------------------------------------------


@pytest.mark.parametrize(
    ("like", "names"),
    [
        ("", ["Big", "g", "g_1", "gx1"]),
        ("G%", ["g", "g_1", "gx1"]),
        ("g_1", ["g_1", "gx1"]),
        ("*i*", ["Big"]),
        ("g.", []),
        ("[a-z]", []),
    ],
)
def test_show_tags_lists_those_whose_name_fits(like, names):
    """SHOW TAGS has living tags of the schema alone, by name; LIKE knows % and _ and * whatever the case."""
    of = governance(
        "CREATE TAG g_1", "CREATE TAG gx1", "CREATE TAG big ALLOWED_VALUES 'b', 'a' COMMENT = 'x'"
    )
    of.run("ALTER TAG big RENAME TO Big", "CREATE TAG gone", "DROP TAG gone", "CREATE TAG other.g")
    rows = {row[1]: row[2:] for row in show_rows(Shows(Domain.TAG, like, CURRENT_SCHEMA), of.state, ANN)}
    assert list(rows) == names
    assert rows.get("Big", ("c", "s", "ann", "x", ["b", "a"])) == ("c", "s", "ann", "x", ["b", "a"])


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
# A day from the ends of what a datetime can be, as each row is read in the zone of the process.
FIRST, LAST = -62_135_510_400_000_000, 253_402_214_399_999_999


@given(
    st.integers(FIRST, LAST),
    st.lists(TEXTS, min_size=3, max_size=3),
    st.lists(st.none() | TEXTS, min_size=5, max_size=5),
    st.dictionaries(TEXTS, VALUES, max_size=4),
)
def test_an_event_is_the_same_after_its_row(time, words, others, details):
    """Any text, any details, from the first year to the last: what is read is what was written."""
    of_id, key, user, role, query_id = others
    event, event_id, name = words
    made = GovernanceEvent(time, event, event_id, of_id, key, name, user, role, query_id, details)
    assert event_of(Row(*row_of(7, made))) == made
