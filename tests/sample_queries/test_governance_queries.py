"""The sample queries that a governance analyst asks, each by what the workload has done."""

import pytest

PEOPLE = "spark_catalog.sq.people"
ADULTS = "spark_catalog.sq.adults"
AGES = "spark_catalog.sq.ages"
REPORT = "spark_catalog.sq.report"
PII = "spark_catalog.sq.pii"

pytestmark = pytest.mark.spark


def told(rows, *columns):
    """Some columns of each row."""
    return [tuple(row[column] for column in columns) for row in rows]


def test_first_reads(ask):
    """Each user and object once; neither was read before."""
    found = {
        (row["user_name"], row["object_name"]): (row["how"], row["days_since_previous_read"])
        for row in ask("first_reads")
    }
    assert found["bob", PEOPLE] == ("through a view", None)
    assert found["bob", REPORT] == ("by name", None)
    assert len([user for user, _ in found if user == "bob"]) == 4


def test_top_readers(ask):
    """The people are read most, twice by each of the two; :top bounds the list."""
    found = ask("top_readers", top=2)
    assert told(found, "user_name", "object_name", "statements", "rows_produced", "days") == [
        ("bob", PEOPLE, 2, 4, 1), ("ann", PEOPLE, 2, 3, 1),
    ]  # fmt: skip


def test_reads_of_user(ask):
    """With the columns; the table below the view as well."""
    found = ask("reads_of_user", user_name="bob")
    assert told(found, "object_name", "queries", "columns")[:2] == [
        (PEOPLE, 2, "name, ssn"), (ADULTS, 1, "name"),
    ]  # fmt: skip
    assert len(found) == 4


def test_readers_of_tagged_data(ask):
    """By the tag of a column and by that of a view; nobody stated a purpose."""
    found = ask("readers_of_tagged_data", tag_name=PII)
    columns = ("user_name", "object_name", "column_name", "tag_value", "queries", "without_purpose")
    assert told(found, *columns) == [
        ("ann", ADULTS, "name", "low", 1, 1), ("ann", ADULTS, "of_age", "low", 1, 1),
        ("ann", PEOPLE, "ssn", "high", 1, 1), ("bob", ADULTS, "name", "low", 1, 1),
        ("bob", PEOPLE, "ssn", "high", 1, 1),
    ]  # fmt: skip


def test_reads_at_night(ask):
    """All hours are a night from 0 to 0; none is from 24 to 0, unless it is a weekend."""
    every = ask("reads_at_night", from_hour=0, to_hour=0)
    assert ("bob", PEOPLE, 2) in told(every, "user_name", "object_name", "queries")
    weekend = ask("reads_at_night", from_hour=24, to_hour=0)
    assert all(row["queries"] == row["at_weekends"] for row in weekend)
    assert len(weekend) in (0, len(every))


def test_exports_of_data(ask):
    """The file that ann wrote, with what it holds."""
    (row,) = ask("exports_of_data")
    assert told([row], "user_name", "query_type", "sources", "columns", "rows_produced") == [
        ("ann", "UNLOAD", PEOPLE, "name, ssn, born", 1)
    ]
    assert row["location"].endswith("people.parquet")


def test_spread_of_tag(ask):
    """From the tagged view to a table and a view, from the tagged column to a file; no copy is tagged."""
    found = ask("spread_of_tag", tag_name=PII)
    pairs = told(found, "source_object_name", "source_column_name", "target_column_name", "target_is_tagged")
    assert pairs == [
        (ADULTS, "name", "who", False), (ADULTS, "name", "name", False), (ADULTS, "of_age", "of_age", False),
        (PEOPLE, "ssn", "ssn", False),
    ]  # fmt: skip
    assert {row["transformation"] for row in found} == {"IDENTITY"}


def test_downstream_of_column(ask):
    """Over views and tables; :max_hops bounds the way."""
    found = ask("downstream_of_column", object_name=PEOPLE, column_name="name")
    assert [hop for (hop,) in told(found, "hop")] == [1, 1, 2, 2, 3]
    assert told(found, "object_name", "column_name", "transformation")[-1] == (
        REPORT,
        "who",
        "TRANSFORMATION",
    )
    assert len(ask("downstream_of_column", object_name=PEOPLE, column_name="name", max_hops=1)) == 2


def test_how_columns_were_made(ask):
    """One was computed, one copied."""
    found = ask("how_columns_were_made", object_name=REPORT)
    assert told(found, "target_column_name", "transformation", "sources", "users") == [
        ("of_age", "IDENTITY", f"{AGES}.of_age", "ann"), ("who", "TRANSFORMATION", f"{AGES}.who", "ann"),
    ]  # fmt: skip


def test_overwritten_objects(ask):
    """Each that was made, the latest first; an UPDATE leaves what was there."""
    found = ask("overwritten_objects")
    assert [name.rpartition(".")[2] for (name,) in told(found, "target_object_name")] == [
        "short", "elders", "report", "ages", "adults",
    ]  # fmt: skip
    assert told(found, "sources")[2:4] == [(AGES,), (f"{ADULTS}, {PEOPLE}",)]


def test_tagged_columns_without_policy(ask):
    """The number of the people, which both have read."""
    found = ask("tagged_columns_without_policy")
    assert told(found, "object_name", "column_name", "tag_value", "queries", "readers") == [
        (PEOPLE, "ssn", "high", 2, "ann, bob")
    ]


def test_changes_of_protection(ask):
    """What a tag said before, and what was granted before it was revoked; the latest first."""
    found = {row["query_text"]: row["query_text_before"] for row in ask("changes_of_protection")}
    tag, grant = "ALTER TABLE sq.people ALTER COLUMN ssn SET TAG sq.pii = ", "SELECT ON TABLE sq.people"
    assert found[f"{tag}'high'"] == f"{tag}'low'"
    assert found[f"{tag}'low'"] is None
    assert found[f"REVOKE GRANT OPTION FOR {grant} FROM ROLE readers"] == (
        f"GRANT {grant} TO ROLE readers WITH GRANT OPTION"
    )
    assert found["DROP MASKING POLICY sq.old"].startswith("CREATE MASKING POLICY")
    assert not any(text.startswith("CREATE TABLE") for text in found)
    assert len(ask("changes_of_protection", object_name="GUESTS")) == 3


def test_policies_on_nothing(ask):
    """One was taken off its table; those in force and dropped ones are left out."""
    found = ask("policies_on_nothing")
    assert told(found, "policy_kind", "policy_name") == [("ROW_ACCESS_POLICY", "spark_catalog.sq.grown")]
    assert found[0]["last_in_force"] is not None


def test_privileges_on_object(ask):
    """On the table, and on its schema."""
    found = ask("privileges_on_object", object_name=PEOPLE)
    assert told(found, "privilege", "granted_on", "granted_to", "grantee_name") == [
        ("USAGE", "SCHEMA", "ROLE", "PUBLIC"), ("INSERT", "TABLE", "USER", "bob"),
        ("SELECT", "TABLE", "ROLE", "READERS"),
    ]  # fmt: skip
    assert ask("privileges_on_object", object_name=PEOPLE, days_ago=1) == []


def test_members_of_role(ask):
    """Bob by a role that has it."""
    found = ask("members_of_role", role_name="READERS")
    assert told(found, "user_name", "through") == [("bob", "READERS < STAFF")]
    assert ask("members_of_role", role_name="GUESTS") == []


def test_grants_that_ended(ask):
    """With the dropped role all that it had, and the grant option that was revoked."""
    found = ask("grants_that_ended")
    assert told(found, "privilege", "object_name", "grantee_name", "days_held") == [
        ("SELECT", PEOPLE, "READERS", 0), ("USAGE", "GUESTS", "bob", 0), ("SELECT", AGES, "GUESTS", 0),
    ]  # fmt: skip


def test_roles_without_members(ask):
    """Nobody was granted the role of the administrators: the configuration gives it."""
    assert told(ask("roles_without_members"), "role_name", "privileges") == [("ACCOUNTADMIN", 0)]


def test_administrators_at_work(ask):
    """Ann by the configuration, carol by her role; bob is none."""
    found = set(told(ask("administrators_at_work"), "user_name", "how", "query_type"))
    assert ("carol", "role in use", "SELECT") in found
    assert ("ann", "configured", "GRANT_ROLE") in found
    assert {user for user, _, _ in found} == {"ann", "carol"}


def test_dropped_objects(ask):
    """The view can be brought back."""
    found = ask("dropped_objects")
    assert ("VIEW", "spark_catalog.sq.short", True) in told(
        found, "object_domain", "object_name", "can_come_back"
    )
    assert {row["object_domain"] for row in found} >= {"VIEW", "ROLE", "MASKING POLICY"}


def test_writes_by_user(ask):
    """Each kind of statement by itself."""
    found = told(ask("writes_by_user"), "user_name", "object_name", "query_type", "rows_produced")
    assert ("ann", PEOPLE, "INSERT", 2) in found
    assert {kind for _, name, kind, _ in found if name == REPORT} == {
        "CREATE_TABLE_AS_SELECT", "DELETE", "UPDATE",
    }  # fmt: skip


def test_largest_tables(ask):
    """The largest first; who reads them is told."""
    found = {row["object_name"]: row for row in ask("largest_tables", top=100)}
    assert (found[PEOPLE]["readers"], found["spark_catalog.sq.forgotten"]["last_read"]) == (2, None)
    assert len(ask("largest_tables", top=1)) == 1


def test_columns_nobody_reads(ask):
    """Of the tables that nobody reads all of them."""
    found = dict(told(ask("columns_nobody_reads", schema_name="spark_catalog.sq"), "object_name", "columns"))
    assert found["spark_catalog.sq.forgotten"] == "a, b"
    assert found["spark_catalog.sq.plain"] == "code, price"
    assert PEOPLE not in found


def test_costly_statements(ask):
    """The longest first."""
    found = ask("costly_statements", top=5)
    times = [row["milliseconds"] for row in found]
    assert (len(found), times) == (5, sorted(times, reverse=True))


def test_repeated_denials(ask):
    """Both of bob's mishaps; one that happened once is not asked for."""
    found = told(ask("repeated_denials"), "user_name", "object_name", "execution_status", "attempts")
    assert found == [("bob", None, "DENIED", 1), ("bob", PEOPLE, "FAIL", 1)]
    assert ask("repeated_denials", at_least=2) == []


def test_holes_in_the_record(ask):
    """Pauses, with their length."""
    (row,) = [one for one in ask("holes_in_the_record") if one["event_type"] == "AUDIT_RESUME"]
    assert (row["user_name"], row["events"] > 0, row["milliseconds"] >= 0) == ("ann", True, True)


def test_work_by_origin(ask):
    """Everybody worked in one session, from this machine."""
    found = ask("work_by_origin")
    assert told(found, "user_name", "sessions") == [("ann", 1), ("bob", 1), ("carol", 1)]
    assert len({row["client_address"] for row in found}) == 1


def test_work_by_purpose(ask):
    """Nobody said what for."""
    assert told(ask("work_by_purpose"), "purpose", "query_tag", "users") == [("none", "none", 3)]


def test_sessions_of_user(ask):
    """Bob worked in ann's session."""
    (row,) = ask("sessions_of_user", user_name="bob")
    assert (row["attached_by"], row["users"], row["statements"]) == ("ann", 3, 6)
    assert row["created_on"] <= row["first_statement"] <= row["last_statement"]
    assert ask("sessions_of_user", user_name="nobody") == []


def test_busiest_hours(ask):
    """All that was asked, in an hour or two; one statement failed, one was denied."""
    found = ask("busiest_hours")
    assert sum(row["statements"] for row in found) == sum(row["statements"] for row in ask("work_by_origin"))
    assert (sum(row["failed"] for row in found), sum(row["denied"] for row in found)) == (2, 1)
    assert all(row["interval_start_time"].minute == 0 for row in found)


def test_accesses_that_repeat(ask):
    """Bob's read of the people's numbers happened once."""
    found = ask("accesses_that_repeat", at_least=1)
    assert ("bob", 1, PEOPLE, "") in told(found, "user_name", "calls", "base_objects", "objects_modified")
    assert all(row["calls"] > 1 for row in ask("accesses_that_repeat"))
