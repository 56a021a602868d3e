"""Who may change the governance, without Spark: the privileges that a statement needs, and no more."""

from __future__ import annotations

import pytest

from audit.policies.errors import AccessDeniedError, BadPolicyError

from .told_governance import Governance, table

T, V = table("t", "a STRING", "b STRING"), table("v", "a STRING", is_view=True)
BEFORE = (
    "CREATE MASKING POLICY m AS (v STRING) RETURNS STRING -> 'x'",
    "CREATE MASKING POLICY spare AS (v STRING) RETURNS STRING -> 'x'",
    "CREATE ROW ACCESS POLICY r AS (v STRING) RETURNS BOOLEAN -> true",
    "CREATE TAG g",
    "CREATE TAG gone",
    "DROP TAG gone",
    "ALTER TABLE t ALTER COLUMN b SET MASKING POLICY m",
    "ALTER VIEW v ADD ROW ACCESS POLICY r ON (a)",
    "ALTER TABLE t ALTER COLUMN b SET TAG g = 'x'",
    "CREATE ROLE a",
    "GRANT ROLE a TO USER bob",
)
MASK = "MASKING POLICY q AS (v STRING) RETURNS STRING -> 'x'"

# A statement, and sets of privileges each of which is enough; none of them is without any of its own.
ENOUGH = {
    f"CREATE {MASK}": [
        "CREATE MASKING POLICY ON SCHEMA s", "CREATE MASKING POLICY ON ACCOUNT", "OWNERSHIP ON SCHEMA s"],
    f"CREATE {MASK.replace(' q ', ' c.o.q ')}": ["CREATE MASKING POLICY ON SCHEMA o"],
    f"CREATE OR REPLACE {MASK.replace(' q ', ' spare ')}": [
        "OWNERSHIP ON MASKING POLICY spare, CREATE MASKING POLICY ON SCHEMA s"],
    "CREATE ROW ACCESS POLICY q AS (v INT) RETURNS BOOLEAN -> true": ["CREATE ROW ACCESS POLICY ON SCHEMA s"],
    "ALTER ROW ACCESS POLICY r SET BODY -> false": ["OWNERSHIP ON ROW ACCESS POLICY r"],
    "ALTER MASKING POLICY m UNSET COMMENT": ["OWNERSHIP ON MASKING POLICY m"],
    "ALTER MASKING POLICY m RENAME TO c.o.m": [
        "OWNERSHIP ON MASKING POLICY m, CREATE MASKING POLICY ON SCHEMA o"],
    "ALTER TAG g RENAME TO c.o.g": ["OWNERSHIP ON TAG g, CREATE TAG ON SCHEMA o"],
    "CREATE OR REPLACE TAG g": ["OWNERSHIP ON TAG g, CREATE TAG ON SCHEMA s"],
    "ALTER TAG g ADD ALLOWED_VALUES 'x'": ["OWNERSHIP ON TAG g"],
    "ALTER TAG g SET MASKING POLICY m": ["OWNERSHIP ON TAG g, APPLY MASKING POLICY ON ACCOUNT"],
    "ALTER TABLE t ALTER COLUMN a SET MASKING POLICY m": [
        "APPLY MASKING POLICY ON ACCOUNT", "OWNERSHIP ON TABLE t, APPLY ON MASKING POLICY m",
        "OWNERSHIP ON TABLE t, OWNERSHIP ON MASKING POLICY m"],
    "ALTER TABLE t ALTER COLUMN b UNSET MASKING POLICY": [
        "APPLY MASKING POLICY ON ACCOUNT", "OWNERSHIP ON TABLE t, APPLY ON MASKING POLICY m"],
    "ALTER VIEW v DROP ROW ACCESS POLICY r": [
        "APPLY ROW ACCESS POLICY ON ACCOUNT", "OWNERSHIP ON VIEW v, APPLY ON ROW ACCESS POLICY r"],
    "ALTER TABLE t SET TAG g = 'x'": ["APPLY TAG ON ACCOUNT", "OWNERSHIP ON TABLE t, APPLY ON TAG g"],
    "ALTER TABLE t ALTER COLUMN b UNSET TAG g": [
        "APPLY TAG ON ACCOUNT", "OWNERSHIP ON TABLE t, APPLY ON TAG g"],
    "ALTER SCHEMA s SET TAG g = 'x'": ["APPLY TAG ON ACCOUNT", "OWNERSHIP ON SCHEMA s, APPLY ON TAG g"],
    "CREATE ROW ACCESS POLICY q ON t FILTER USING (a = 'x')": [
        "APPLY ROW ACCESS POLICY ON ACCOUNT", "OWNERSHIP ON TABLE t"],
}  # fmt: skip
CASES = [(text, privileges) for text, sets in ENOUGH.items() for privileges in sets]


def governance(*privileges, to="ROLE a", before=()):
    """The objects of ann's, and what somebody was granted."""
    of = Governance(*BEFORE, *before, tables=(T, V))
    return of.run(
        *(f"GRANT {one} TO {to} {'COPY CURRENT GRANTS' * one.startswith('OWN')}" for one in privileges)
    )


@pytest.mark.parametrize(("text", "privileges"), CASES)
@pytest.mark.parametrize("to", ["ROLE a", "USER bob"])
def test_a_set_of_privileges_is_enough_and_each_of_them_is_needed(text, privileges, to):
    """With all of them the statement runs, by a role or the user; without one of them it is refused."""
    every = privileges.split(", ")
    governance(*every, to=to).run(text, user="bob", permitted=True)
    for missing in every:
        of = governance(*(one for one in every if one != missing), to=to)
        with pytest.raises(AccessDeniedError, match=r"bob may not .* is missing on"):
            of.run(text, user="bob", permitted=True)


@pytest.mark.parametrize("text", [*ENOUGH, "DROP MASKING POLICY spare", "DROP TAG g", "UNDROP TAG gone"])
def test_other_privileges_are_not_enough(text):
    """SELECT and the like on everything, and what is granted on another object, permit no change."""
    others = (
        "SELECT ON ACCOUNT",
        "MODIFY ON ACCOUNT",
        "MANAGE GRANTS ON ACCOUNT",
        "OWNERSHIP ON SCHEMA other",
    )
    of = governance(*others)
    with pytest.raises(AccessDeniedError):
        of.run(text, user="bob", permitted=True)
    of.run(text, permitted=True)


def test_the_way_out_is_a_grant_that_runs():
    """What a refusal says to grant is enough, as it is written."""
    for text, sets in ENOUGH.items():
        of, said = governance(), []
        for _ in range(len(max(sets, key=len)) + 1):
            try:
                of.run(text, user="bob", permitted=True)
                break
            except AccessDeniedError as refused:
                said.append(refused.way_out.partition(", or to a role")[0])
                of.run(said[-1])
        else:
            raise AssertionError((text, said))


def test_what_a_user_has_made_is_theirs_and_no_others():
    """The creator of a policy or tag changes, renames and drops it; another user does none of that."""
    of = governance("CREATE MASKING POLICY, CREATE TAG ON SCHEMA s", to="USER bob")
    of.run(f"CREATE {MASK}", "CREATE TAG mine", user="bob", permitted=True)
    changes = ("ALTER MASKING POLICY q SET BODY -> 'y'", "ALTER TAG mine SET COMMENT = 'x'", "DROP TAG mine",
               "UNDROP TAG mine", "DROP MASKING POLICY q")  # fmt: skip
    for text in changes:
        if text != "UNDROP TAG mine":
            with pytest.raises(AccessDeniedError, match=r"eve may not change .*: OWNERSHIP is missing on"):
                of.run(text, user="eve", permitted=True)
        of.run(text, user="bob", permitted=True)


def test_a_body_that_reads_tables_is_an_administrators():
    """A body reads on behalf of everybody, so no privilege is enough to write one that reads."""
    of = governance("CREATE MASKING POLICY ON ACCOUNT", "OWNERSHIP ON MASKING POLICY spare", to="USER bob")
    of.resolver.read = frozenset({"delta:secret"})
    for text in (f"CREATE {MASK}", "ALTER MASKING POLICY spare SET BODY -> 'y'"):
        with pytest.raises(AccessDeniedError, match=r"it reads tables or calls functions, .* \(role ACC"):
            of.run(text, user="bob", permitted=True)
        of.run(text, permitted=True)


def test_a_function_as_a_mask_is_for_who_applies_policies_anywhere():
    """APPLY cannot be granted on the policy of a function, so owning the table is not enough."""
    of = governance("OWNERSHIP ON TABLE t", to="USER bob")
    of.define("f", "'x'", "v STRING")
    text = "ALTER TABLE t ALTER COLUMN a SET MASK f"
    with pytest.raises(AccessDeniedError, match="APPLY MASKING POLICY is missing on account"):
        of.run(text, user="bob", permitted=True)
    of.run("GRANT APPLY MASKING POLICY ON ACCOUNT TO USER bob").run(text, user="bob", permitted=True)
    assert of.masks(T)["a"] == "f"


@pytest.mark.parametrize("kind", ["MASKING", "ROW ACCESS"])
def test_a_policy_lies_in_a_schema(kind):
    """A name of four parts would be one of BigQuery's, which need no CREATE: it is refused, to anybody."""
    returns = "STRING" if kind == "MASKING" else "BOOLEAN"
    text = f"CREATE {kind} POLICY c.s.t.q AS (v STRING) RETURNS {returns} -> v"
    of = governance()
    for user in ("bob", "ann"):
        with pytest.raises(BadPolicyError, match=r"policy c\.s\.t\.q lies in no schema"):
            of.run(text, user=user, permitted=True)
    with pytest.raises(BadPolicyError, match="name it catalog"):
        of.run("ALTER MASKING POLICY spare RENAME TO c.s.t.spare")
