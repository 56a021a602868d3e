"""Tags: what they are set on, and the masks that come with them."""

from __future__ import annotations

import itertools
import json

import pytest

import audit
import lineage
from audit.core.actor import Actor
from audit.policies.enforcement.enforcer import CatalogObject
from audit.policies.enforcement.sent_facts import protection_facts
from audit.policies.errors import (
    AccessDeniedError,
    BadPolicyError,
    PolicyExistsError,
    PolicyInUseError,
    UnknownPolicyError,
)
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.statements.set_tag import set_schema_tag_events, set_tag_events
from audit.policies.statements.tag_ddl import (
    alter_tag,
    create_tag,
    drop_tag,
    rename_tag,
    undrop_tag,
)
from lineage.catalog.object_ids import column_id, object_id
from lineage.model import Column, Domain, Relation

HERE = ("c", "s")
_RUNS = {
    "CREATE_TAG": create_tag, "ALTER_TAG": alter_tag, "RENAME_TAG": rename_tag, "DROP_TAG": drop_tag,
    "UNDROP_TAG": undrop_tag,
}  # fmt: skip
_NUMBERS = itertools.count()
TABLE = object_id("TABLE", "u-1")
COLUMNS = (("ssn", "STRING"), ("mail", "STRING"), ("pay", "DECIMAL(10,2)"))


def _policy(name, kind="STRING"):
    details = {
        "domain": Domain.MASKING_POLICY.value, "body": "NULL", "parameters": [["val", kind]], "returns": kind,
    }  # fmt: skip
    return GovernanceEvent(1, "CREATE_POLICY", name, name=f"c.s.{name}", details=details)


def _found(key="delta:u-1", columns=COLUMNS):
    known = {name: (name, name, column_id(TABLE, name), kind) for name, kind in columns}
    return CatalogObject(key, is_view=False, name=("c", "s", "t"), object_id=TABLE, columns=known)


def _run(state, text, found=None, reads=lambda _policy: frozenset()):
    """The state after a statement."""
    command = lineage.parse(text).command
    actor = Actor(5, "ann", None, lambda: f"e{next(_NUMBERS)}")
    if command.kind in _RUNS:
        return state_after(_RUNS[command.kind](command, HERE, reads, actor, state), state)
    if command.domain is Domain.SCHEMA:
        return state_after(set_schema_tag_events(command, HERE, actor, state), state)
    for change in command.changes:
        state = state_after(set_tag_events(change, found or _found(), HERE, reads, actor, state), state)
    return state


def _after(*statements):
    state = state_after([_policy("m"), _policy("other"), _policy("pays", "DECIMAL(38,0)")])
    for text in statements:
        state = _run(state, text)
    return state


def _relation(*more):
    columns = tuple(Column(name, kind.lower(), column_id(TABLE, name)) for name, kind in (*COLUMNS, *more))
    return Relation("c.s.t", Domain.TABLE, TABLE, columns)


def _masks(state, *more):
    return {one.columns[0]: one.policy.name for one in state.attachments(_relation(*more))}


MADE = ("CREATE TAG pii", "ALTER TAG pii SET MASKING POLICY m, MASKING POLICY pays")


def test_a_tag_masks_columns_of_the_policys_type():
    """One policy a type; decimals fit whatever their precision."""
    state = _after(*MADE, "ALTER TABLE t ALTER COLUMN ssn SET TAG pii = 'x', COLUMN pay SET TAG pii = 'y'")
    assert _masks(state) == {"ssn": "c.s.m", "pay": "c.s.pays"}
    assert _masks(_run(state, "ALTER TABLE t ALTER COLUMN ssn UNSET TAG pii")) == {"pay": "c.s.pays"}
    assert _masks(_run(state, "ALTER TAG pii UNSET MASKING POLICY m")) == {"pay": "c.s.pays"}


def test_tags_come_down_and_the_nearest_wins():
    """Schema, table, column; a mask set by name before them all. Columns that come later are masked, too."""
    state = _after(*MADE, "ALTER SCHEMA s SET TAG pii = 'x'")
    assert _masks(state) == {"ssn": "c.s.m", "mail": "c.s.m", "pay": "c.s.pays"}
    state = _run(_run(state, "CREATE TAG low"), "ALTER TAG low SET MASKING POLICY other")
    on_column = _run(state, "ALTER TABLE t ALTER COLUMN ssn SET TAG low = 'x'")
    assert _masks(on_column) == {"ssn": "c.s.other", "mail": "c.s.m", "pay": "c.s.pays"}
    on_table = _run(state, "ALTER TABLE t SET TAG low = 'x'")
    assert _masks(on_table, ("new", "STRING")) == {
        "ssn": "c.s.other", "mail": "c.s.other", "new": "c.s.other", "pay": "c.s.pays",
    }  # fmt: skip
    by_name = GovernanceEvent(6, "SET_MASKING_POLICY", "d", "m", "delta:u-1", "c.s.t", details={
        "object_domain": "Table", "object_id": TABLE, "columns": [["ssn", "ssn", column_id(TABLE, "ssn")]],
    })  # fmt: skip
    assert _masks(state_after([by_name], on_column))["ssn"] == "c.s.m"
    assert _masks(_run(state, "ALTER SCHEMA s UNSET TAG pii")) == {}


def test_what_the_jvm_learns():
    """Masks by column, and by type for columns that are not known yet; nothing of tags without policies."""
    state = _after("CREATE TAG pii", "ALTER TABLE t SET TAG pii = 'x'", "ALTER SCHEMA s SET TAG pii = 'x'")
    assert [protection_facts(one, state) for one in state.objects.values()] == [None, None]
    state = _run(state, MADE[1])
    kinds = {"string": "m", "decimal": "pays"}
    assert protection_facts(state.objects["delta:u-1"], state) == {
        "name": "c.s.t", "isView": False, "hadRows": False, "sealed": False, "rows": [], "tagged": kinds,
        "names": {"ssn": "ssn", "mail": "mail", "pay": "pay"},
        "masks": {"ssn": ["m", ("ssn",)], "mail": ["m", ("mail",)], "pay": ["pays", ("pay",)]},
    }  # fmt: skip
    assert protection_facts(state.objects["schema:c.s"], state) == {
        "name": "c.s", "isView": False, "hadRows": False, "sealed": False, "names": {}, "rows": [],
        "masks": {}, "tagged": kinds,
    }  # fmt: skip
    (pii,) = state.tags
    assert set(state.carriers[pii]) == {"delta:u-1", "schema:c.s"}


def test_names_and_values():
    """A new name keeps what is tagged; UNDROP brings it back; a value is one of those allowed."""
    state = _after("CREATE TAG t1 ALLOWED_VALUES 'a', 'b'", "ALTER TABLE t SET TAG t1 = 'a'")
    state = _run(state, "ALTER TAG t1 RENAME TO t2")
    relation = _relation()
    assert state.tagged(relation, None, "c.s.t2")
    assert not state.tagged(relation, "ssn", "c.s.t2")
    dropped = _run(state, "DROP TAG t2")
    assert not dropped.tagged(relation, None, "c.s.t2")
    again = _run(_run(_run(dropped, "CREATE TAG t2"), "DROP TAG t2"), "CREATE OR REPLACE TAG t2")
    assert not again.tagged(relation, None, "c.s.t2")
    assert _run(dropped, "UNDROP TAG t2").tagged(relation, None, "c.s.t2")
    with pytest.raises(BadPolicyError, match="does not take the value 'c'"):
        _run(state, "ALTER TABLE t SET TAG t2 = 'c'")
    state = _run(state, "ALTER TAG t2 ADD ALLOWED_VALUES 'c'")
    state = _run(state, "ALTER TAG t2 DROP ALLOWED_VALUES 'a'")
    assert state.find_tag("c.s.t2")[1].allowed == ("b", "c")
    _run(_run(state, "ALTER TAG t2 UNSET ALLOWED_VALUES"), "ALTER TABLE t SET TAG t2 = 'any'")


WRONG = [
    ("CREATE TAG pii", PolicyExistsError, "is there already"),
    ("ALTER TAG nope SET COMMENT = 'x'", UnknownPolicyError, "no tag c.s.nope"),
    ("DROP TAG nope", UnknownPolicyError, "no tag"),
    ("UNDROP TAG nope", UnknownPolicyError, "was dropped"),
    ("UNDROP TAG pii", PolicyExistsError, "is there already"),
    ("DROP TAG pii", PolicyInUseError, "comes with masking policy c.s.m"),
    ("CREATE OR REPLACE TAG pii", PolicyInUseError, "UNSET MASKING POLICY"),
    ("ALTER TAG free SET MASKING POLICY m, MASKING POLICY other", BadPolicyError, "two masking policies"),
    ("ALTER TAG pii SET MASKING POLICY other", PolicyExistsError, "FORCE"),
    ("ALTER TAG free SET MASKING POLICY nope", UnknownPolicyError, "no masking policy"),
    ("ALTER TAG free UNSET MASKING POLICY m", UnknownPolicyError, "does not come with"),
    ("ALTER TAG free DROP ALLOWED_VALUES 'x'", UnknownPolicyError, "no allowed value 'x'"),
    ("ALTER TAG one DROP ALLOWED_VALUES 'x'", BadPolicyError, "no value at all"),
    ("ALTER TAG free RENAME TO pii", PolicyExistsError, "is there already"),
    ("ALTER TABLE t SET TAG nope = 'x'", UnknownPolicyError, "no tag"),
    ("ALTER TABLE t SET TAG free", BadPolicyError, "has no value"),
    ("ALTER TABLE t ALTER COLUMN nope SET TAG pii = 'x'", UnknownPolicyError, "has no column nope"),
    ("ALTER TABLE t ALTER COLUMN ssn UNSET TAG pii", UnknownPolicyError, "is not set on column ssn"),
    ("ALTER SCHEMA s UNSET TAG pii", UnknownPolicyError, "is not set on schema c.s"),
]


@pytest.mark.parametrize(("text", "error", "said"), WRONG)
def test_wrong(text, error, said):
    """Each mistake has an error that names the object."""
    state = _after(*MADE, "CREATE TAG free", "CREATE TAG one ALLOWED_VALUES 'x'")
    with pytest.raises(error, match=said):
        _run(state, text)


def test_a_policy_that_reads_what_it_would_protect():
    """Neither through a new tag on the table, nor through a new policy of its tag."""
    state = _after(*MADE, "CREATE TAG free", "ALTER TABLE t SET TAG free = 'x'")

    def reads(_policy):
        return frozenset({"delta:u-1"})

    for text in ("ALTER TABLE t SET TAG pii = 'x'", "ALTER TAG free SET MASKING POLICY m"):
        with pytest.raises(BadPolicyError, match="reads c"):
            _run(state, text, reads=reads)


def test_a_state_before_keeps_its_carriers():
    """What a statement met stays what it was."""
    before = _after(*MADE, "ALTER SCHEMA s SET TAG pii = 'x'")
    (pii,) = before.tags
    after = _run(before, "ALTER TABLE t SET TAG pii = 'x'")
    assert (len(before.carriers[pii]), len(after.carriers[pii])) == (1, 2)


# -- in a session ------------------------------------------------------------------------------


@pytest.fixture
def table(session, schema):
    """A table, and a tag that comes with a mask for text."""
    session.sql("CREATE TABLE t (id INT, ssn STRING, mail STRING)")
    session.sql("INSERT INTO t VALUES (1, '111', 'a@x')")
    session.sql("CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> concat('*', right(val, 1))")
    session.sql("CREATE TAG pii ALLOWED_VALUES 'high', 'low' COMMENT = 'personal'")
    session.sql("ALTER TAG pii SET MASKING POLICY m")
    return f"{schema}.t"


def _seen(session, name="t"):
    return tuple(session.sql(f"SELECT * FROM {name}").first())


def test_columns(session, table, schema):
    """A tagged column is masked while its tag has a policy; the mask set on it by name comes first."""
    session.sql("ALTER TABLE t MODIFY COLUMN ssn SET TAG pii = 'high'")
    assert _seen(session) == (1, "*1", "a@x")
    session.sql("CREATE MASKING POLICY own AS (val STRING) RETURNS STRING -> 'own'")
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY own")
    assert _seen(session) == (1, "own", "a@x")
    session.sql("ALTER TABLE t ALTER COLUMN ssn UNSET MASKING POLICY")
    assert _seen(session) == (1, "*1", "a@x")
    with pytest.raises(PolicyInUseError, match="carries tag"):
        session.sql("DROP MASKING POLICY m")
    session.sql("CREATE TABLE copy SHALLOW CLONE t")
    assert _seen(session, "copy") == (1, "*1", "a@x")
    session.sql("ALTER TAG pii SET MASKING POLICY own FORCE")
    assert [_seen(session)[1], _seen(session, "copy")[1]] == ["own", "own"]
    session.sql("ALTER TAG pii UNSET MASKING POLICY own")
    assert [_seen(session)[1], _seen(session, "copy")[1]] == ["111", "111"]
    session.sql("DROP TAG pii")
    session.sql("UNDROP TAG pii")
    row = session.sql("SHOW TAGS LIKE 'PII' IN SCHEMA").first()
    assert (row.schema_name, row.comment, row.allowed_values) == (schema, "personal", ["high", "low"])


def test_tables_and_views(session, table):
    """What a table or view is tagged with masks all its columns of the type."""
    session.sql("ALTER TABLE t SET TAG pii = 'low'")
    assert _seen(session) == (1, "*1", "*x")
    session.sql("CREATE VIEW v AS SELECT id, upper(mail) mail FROM t")
    session.sql("ALTER TABLE t UNSET TAG pii")
    session.sql("ALTER VIEW v SET TAG pii = 'low'")
    assert [_seen(session), _seen(session, "v")] == [(1, "111", "a@x"), (1, "*X")]
    session.sql("ALTER VIEW v UNSET TAG pii")
    assert _seen(session, "v") == (1, "A@X")


def test_schemas_and_columns_to_come(session, table, schema):
    """A schema's tag masks what is read in it by name, a table's the columns that it gets later."""
    session.sql(f"ALTER SCHEMA {schema} SET TAG pii = 'low'")
    assert _seen(session) == (1, "*1", "*x")
    session.sql("ALTER TABLE t ADD COLUMN more STRING")
    session.sql("UPDATE t SET more = 'm2'")
    assert _seen(session) == (1, "*1", "*x", "*2")
    place = session.sql("DESCRIBE DETAIL t").first().location
    assert tuple(session.read.format("delta").load(place).first())[1:3] == ("*1", "*x")
    session.sql("CREATE SCHEMA IF NOT EXISTS elsewhere")
    session.sql(f"CREATE TABLE elsewhere.alias USING delta LOCATION '{place}'")
    session.sql("CREATE TABLE elsewhere.copy CLONE t")
    for name in ("elsewhere.alias", "elsewhere.copy"):
        assert _seen(session, name)[1:3] == ("*1", "*x"), name
    for text in (f"SELECT * FROM parquet.`{place}`", "ALTER TABLE t ADD CONSTRAINT c CHECK (ssn <> '1')"):
        with pytest.raises(AccessDeniedError):
            session.sql(text).collect()
    session.sql("DROP SCHEMA elsewhere CASCADE")
    session.sql(f"ALTER SCHEMA {schema} UNSET TAG pii")
    assert _seen(session) == (1, "111", "a@x", "m2")
    session.sql("ALTER TABLE t SET TAG pii = 'low'")
    session.sql("ALTER TABLE t ADD COLUMN other STRING")
    session.sql("UPDATE t SET other = 'o3'")
    assert _seen(session) == (1, "*1", "*x", "*2", "*3")
    assert session.read.format("delta").load(place).first().other == "*3"


def test_nothing_half_done(session, table):
    """A statement of several clauses does all of them, or none."""
    with pytest.raises(BadPolicyError, match="does not take"):
        session.sql("ALTER TABLE t ALTER COLUMN ssn SET TAG pii = 'high', COLUMN mail SET TAG pii = 'no'")
    assert _seen(session) == (1, "111", "a@x")
    with pytest.raises(UnknownPolicyError, match="no schema"):
        session.sql("ALTER SCHEMA nowhere SET TAG pii = 'high'")


def test_on_record(session, table, schema):
    """policies_referenced has the policy and no tag; setting a tag again is a change of it."""
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET TAG pii = 'high'")
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET TAG pii = 'low'")
    session.sql("ALTER TABLE t SET TAG pii = 'low'")
    session.sql("SELECT ssn, mail FROM t").collect()
    session.table("t").select("ssn", "mail").collect()
    audit.flush(session)
    found = {
        row.query_text: row
        for row in session.sql(
            "SELECT query_text, to_json(policies_referenced) p, to_json(object_modified_by_ddl) d,"
            " analysis FROM account_usage.access_history JOIN account_usage.query_history USING (query_id)"
            f" WHERE schema_name = '{schema}'"
        ).collect()
    }
    asked = json.loads(found["SELECT ssn, mail FROM t"].p)
    assert {
        one["columnName"]: one["policies"][0]["policyName"] for one in asked[0]["columns"]
    } == dict.fromkeys(("ssn", "mail"), f"spark_catalog.{schema}.m")
    assert "TAG" not in json.dumps(asked)
    frame = next(row for text, row in found.items() if text.startswith("DataFrame.collect"))
    assert json.loads(frame.p) == asked

    def operation(text):
        column = json.loads(json.loads(found[text].d)["properties"])["columns"]["ssn"]
        return column["tags"][f"spark_catalog.{schema}.pii"]["subOperationType"]

    assert operation("ALTER TABLE t ALTER COLUMN ssn SET TAG pii = 'high'") == "ADD"
    assert operation("ALTER TABLE t ALTER COLUMN ssn SET TAG pii = 'low'") == "ALTER"
    assert {row.analysis for row in found.values()} == {"full"}
