import re

import pytest

from views.query_file import QueryParameterError, sample, sample_names

PEOPLE = "spark_catalog.sq.people"
REPORT = "spark_catalog.sq.report"

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", sample_names())
def test_every_query_states_its_question_what_it_reads_and_its_parameters(name):
    """The first comment ends its question with ?, names each table read, and explains each parameter."""
    query = sample(name)
    comment = "\n".join(line for line in query.sql.splitlines() if line.startswith("-- "))
    body = query.sql.removeprefix(comment)
    assert query.question.endswith("?")
    for table in re.findall(r"account_usage\.(\w+)", body):
        assert table in comment
    assert {p.name for p in query.parameters} == set(re.findall(r"(?<![:\w]):([a-z_]+)", body))
    assert all(p.meaning for p in query.parameters)


def test_who_read_object(ask):
    """Who read the people: ann and bob, bob once by name and once through the view."""
    found = {row["user_name"]: row for row in ask("who_read_object", object_name=PEOPLE)}
    assert found.keys() == {"ann", "bob"}
    assert (found["bob"]["queries"], found["bob"]["through_views"]) == (2, 1)
    assert found["bob"]["columns"] == "name, ssn"


def test_who_read_column(ask):
    """Who read people.name in the last seven days, and by what way."""
    found = ask("who_read_column", object_name=PEOPLE, column_name="name")
    assert ("bob", "through a view", "SELECT name FROM sq.adults") in {
        (row["user_name"], row["how"], row["query_text"]) for row in found
    }
    assert "DataFrameWriter.parquet" in found[0]["query_text"] or found[0]["user_name"] == "bob"


def test_sensitive_reads(ask):
    """A list of sensitive columns, one by name and all of a table by a star."""
    found = ask("sensitive_reads", columns=f"{PEOPLE}.ssn, {REPORT}.*")
    assert ("bob", "ssn", 1) in {(row["user_name"], row["column_name"], row["queries"]) for row in found}
    assert {row["column_name"] for row in found if row["object_name"] == REPORT} == {"who", "of_age"}


def test_modified_from(ask):
    """The table's columns came directly from the view, and at base from the table under it."""
    found = {row["column_name"]: row for row in ask("modified_from", object_name="spark_catalog.sq.ages")}
    assert found["of_age"]["direct_sources"] == "spark_catalog.sq.adults.of_age"
    assert found["of_age"]["base_sources"] == f"{PEOPLE}.born"


def test_upstream_of_column(ask):
    """Two hops, from the report over the ages to the people."""
    found = ask("upstream_of_column", object_name=REPORT, column_name="who")
    assert [(row["hop"], row["source_object_name"], row["source_column_name"]) for row in found] == [
        (1, "spark_catalog.sq.ages", "who"),
        (2, PEOPLE, "name"),
    ]


def test_upstream_stops(ask):
    """max_hops bounds the way up."""
    assert len(ask("upstream_of_column", object_name=REPORT, column_name="who", max_hops=1)) == 1


def test_downstream_of_table(ask):
    """What hangs on the people: the ages, then the report, and a file."""
    found = {
        short: row["hop"]
        for row in ask("downstream_of_table", object_name=PEOPLE)
        for short in [row["object_name"].rsplit("/", 1)[-1]]
    }
    assert found == {"spark_catalog.sq.ages": 1, "people.parquet": 1, REPORT: 2}


def test_policies_in_force(ask):
    """The mask showed ann what it hid from bob."""
    found = ask("policies_in_force", object_name="spark_catalog.sq.salaries")
    assert [
        (row["user_name"], row["column_name"], row["queries"], row["queries_shown_all"]) for row in found
    ] == [
        ("ann", "pay", 1, 1),
        ("bob", "pay", 1, 0),
    ]


def test_ddl_history(ask):
    """The latest DDL first, with the columns that it touched."""
    found = ask("ddl_history", object_name="spark_catalog.sq.%")
    assert (found[0]["operation_type"], found[0]["object_name"], found[0]["columns"]) == (
        "ALTER",
        "spark_catalog.sq.forgotten",
        "b",
    )
    view = [row["operation_type"] for row in found if row["object_name"] == "spark_catalog.sq.short"]
    assert view == ["DROP", "CREATE"]


def test_unused_tables(ask):
    """The forgotten table shows as never read; the people, read by bob, do not."""
    found = {row["object_name"]: row for row in ask("unused_tables")}
    assert found["spark_catalog.sq.forgotten"]["last_read"] is None
    assert PEOPLE not in found
    assert REPORT not in found
    # Dropped views are gone; what is no Delta table is there.
    assert "spark_catalog.sq.short" not in found
    assert "spark_catalog.sq.plain" in found


def test_grants_of_user(ask):
    """By name, through a role of a role, and what everybody has; not what a dropped role had."""
    found = {
        (row["privilege"], row["object_name"], row["through"], row["grant_option"])
        for row in ask("grants_of_user", user_name="bob")
    }
    assert found == {
        ("SELECT", PEOPLE, "STAFF > READERS", False),
        ("INSERT", PEOPLE, "by name", False),
        ("OWNERSHIP", REPORT, "STAFF", True),
        ("USAGE", "spark_catalog.sq", "PUBLIC", False),
    }
    assert ask("grants_of_user", user_name="bob", days_ago=1) == []


def test_roles_of_user(ask):
    """Those that were granted, and those below them, with the way."""
    found = [
        (row["role"], row["through"], row["granted_by"]) for row in ask("roles_of_user", user_name="bob")
    ]
    assert found == [
        ("READERS", "STAFF > READERS", "ACCOUNTADMIN"),
        ("STAFF", "STAFF", "ACCOUNTADMIN"),
    ]


def test_policies_on_object(ask):
    """What stands on the column, and what it says; a policy that was taken off shows no longer."""
    (row,) = ask("policies_on_object", object_name="spark_catalog.sq.salaries")
    assert (row["column_name"], row["policy_name"], row["arguments"], row["through_tag"]) == (
        "pay", "spark_catalog.sq.m", "pay", "",
    )  # fmt: skip
    assert row["policy_body"].startswith("CASE WHEN current_user() = 'ann'")
    assert ask("policies_on_object", object_name="spark_catalog.sq.ages") == []


def test_tagged_columns(ask):
    """The value that the column has now; nothing masks it."""
    (row,) = ask("tagged_columns")
    assert (row["object_name"], row["column_name"], row["tag_value"], row["masked_by"]) == (
        PEOPLE, "ssn", "high", "",
    )  # fmt: skip


def test_columns_of_tag(ask):
    """A tag on a column, on a view, and on the schema, which reaches all that is in it."""
    found = {
        (row["object_name"].rpartition(".")[2], row["column_name"]): (row["tagged_by"], row["tag_value"])
        for row in ask("columns_of_tag", tag_name="spark_catalog.sq.pii")
    }
    assert found == {
        ("people", "ssn"): ("the column", "high"),
        ("adults", "name"): ("the table", "low"),
        ("adults", "of_age"): ("the table", "low"),
    }
    by_schema = ask("columns_of_tag", tag_name="spark_catalog.sq.cost_center")
    assert {"people", "plain", "elders"} <= {row["object_name"].rpartition(".")[2] for row in by_schema}
    assert {(row["tagged_by"], row["tag_value"]) for row in by_schema} == {("the schema", "7")}


def test_dormant_privileges(ask):
    """Nobody has inserted; what was used today is not dormant. A privilege of today is not asked for."""
    found = [
        (row["grantee_name"], row["privilege"], row["users"], row["last_used"], row["days_unused"])
        for row in ask("dormant_privileges", days=0)
    ]
    assert found == [("bob", "INSERT", 1, None, 0)]
    assert ask("dormant_privileges", days=1) == []


def test_objects_without_owner(ask):
    """The one that was made while nothing was recorded."""
    found = [row["object_name"] for row in ask("objects_without_owner")]
    assert [name for name in found if name.startswith("spark_catalog.sq.")] == ["spark_catalog.sq.stray"]


def test_object_dependencies_of(ask):
    """A view, and a view over it."""
    found = [(row["hop"], row["object_name"]) for row in ask("object_dependencies_of", object_name=PEOPLE)]
    assert found == [(1, "spark_catalog.sq.adults"), (2, "spark_catalog.sq.elders")]


def test_failed_and_denied(ask):
    """Both of bob's mishaps, with what he tried to touch."""
    found = {row["execution_status"]: row for row in ask("failed_and_denied")}
    assert found["DENIED"]["error_code"] == "AUDIT_STATEMENT_DENIED"
    assert found["FAIL"]["objects_tried"] == PEOPLE
    assert {row["user_name"] for row in found.values()} == {"bob"}


def test_changes_of_table(ask):
    """Each change of the report with the Delta version that came of it."""
    found = ask("changes_of_table", object_name=REPORT)
    assert [(row["query_type"], row["version"]) for row in found] == [
        ("DELETE", 2),
        ("UPDATE", 1),
        ("CREATE_TABLE_AS_SELECT", 0),
    ]


def test_activity_by_day(ask):
    """Statements of a day by user, failures counted."""
    found = {row["user_name"]: row for row in ask("activity_by_day")}
    assert found["bob"]["statements"] == 6
    assert (found["bob"]["reads"], found["bob"]["not_successful"]) == (4, 2)
    assert found["ann"]["writes"] >= 6


def test_most_used_objects(ask):
    """The people are read most; :top bounds the list."""
    found = ask("most_used_objects", top=1)
    assert [row["object_name"] for row in found] == [PEOPLE]


def test_partly_analysed(audited, ask):
    """A statement that could not be analysed in full shows with its reason."""
    audited.sql("DESCRIBE HISTORY sq.people").collect()
    assert all(row["analysis_reason"] for row in ask("partly_analysed"))


def test_unknown_parameter(ask):
    """A parameter that a query does not have is refused by name."""
    with pytest.raises(QueryParameterError, match="objekt"):
        ask("who_read_object", objekt="x")
