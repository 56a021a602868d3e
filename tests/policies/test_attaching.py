"""Policies set on tables, views and columns, without Spark: what a clause does, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit.policies.errors import BadPolicyError, PolicyExistsError, PolicyInUseError, UnknownPolicyError
from audit.policies.model.policy_references import references_of
from audit.policies.statements.copy_policies import Former, copy_policies, dropped_since
from audit.policies.statements.policy_functions import (
    policies_calling,
    replaced_function_events,
    require_same,
    require_unused,
)
from audit.policies.statements.protected_create import removal_events, require_free
from lineage.model import Column

from .told_governance import Governance, relation, table

COLUMNS = ("ssn STRING", "Region STRING", "pay DECIMAL(10,2)", "id INT", "day DATE")
T = table("t", *COLUMNS, partitions=frozenset({"day"}), generated={"Region": "upper(ssn || 'id')"})
P, V = table("p", *COLUMNS), table("v", *COLUMNS, is_view=True)
FILES = table("files", "a STRING", key="name:c.s.files")
TEMPORARY = replace(table("tmp", "a STRING"), key=None)
MADE = (
    "CREATE MASKING POLICY m AS (v STRING) RETURNS STRING -> '*'",
    "CREATE MASKING POLICY n AS (v INT) RETURNS INT -> 0",
    "CREATE MASKING POLICY wide AS (v STRING, r STRING) RETURNS STRING -> v",
    "CREATE MASKING POLICY pays AS (v NUMBER(12,2)) RETURNS NUMBER(12,2) -> 0",
    "CREATE MASKING POLICY days AS (v DATE) RETURNS DATE -> NULL",
    "CREATE ROW ACCESS POLICY r AS (a STRING) RETURNS BOOLEAN -> true",
    "CREATE ROW ACCESS POLICY q AS (a STRING, b INT) RETURNS BOOLEAN -> true",
    "CREATE TAG g",
)


def governance(*statements):
    """Masks, filters, a tag, and the objects that they are set on."""
    return Governance(*MADE, tables=(T, P, V, FILES, TEMPORARY)).run(*statements)


def arguments(of, found):
    """The policies in force with their argument columns."""
    return {one.policy.name[4:]: one.columns for one in of.state.attachments(relation(found))}


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("ALTER COLUMN ssn SET MASKING POLICY m", {"m": ("ssn",)}),
        ("ALTER COLUMN SSN SET MASKING POLICY c.s.M", {"m": ("ssn",)}),
        ("ALTER COLUMN ssn SET MASKING POLICY wide USING (ssn, region)", {"wide": ("ssn", "Region")}),
        ("ALTER COLUMN ssn SET MASKING POLICY wide USING (`SSN`, `Region`)", {"wide": ("ssn", "Region")}),
        ("ALTER COLUMN pay SET MASKING POLICY pays", {"pays": ("pay",)}),
        ("ADD ROW ACCESS POLICY q ON (REGION, id)", {"q": ("Region", "id")}),
        ("ALTER COLUMN ssn SET MASKING POLICY m, COLUMN id SET MASKING POLICY n",
         {"m": ("ssn",), "n": ("id",)}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("of", ["TABLE p", "VIEW v"])
def test_a_clause_sets_a_policy_on_columns(of, clause, expected):
    """Names are those of the object whatever their case; USING names the masked column first."""
    found = governance(f"ALTER {of} {clause}")
    assert arguments(found, P if of == "TABLE p" else V) == expected


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY nope", UnknownPolicyError, "policy c.s.nope"),
        ("ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY r", UnknownPolicyError, "no masking policy"),
        ("ALTER TABLE p ADD ROW ACCESS POLICY m ON (ssn)", UnknownPolicyError, "no row access policy"),
        ("ALTER TABLE p ALTER COLUMN x SET MASKING POLICY m", UnknownPolicyError, "no column x; it has ssn"),
        ("ALTER TABLE p ADD ROW ACCESS POLICY r ON (x)", UnknownPolicyError, "has no column x"),
        ("ALTER TABLE p ALTER COLUMN id SET MASKING POLICY m", BadPolicyError, "id of c.s.p is int"),
        ("ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY wide", BadPolicyError, "takes 2 columns, 1 are"),
        ("ALTER TABLE p ADD ROW ACCESS POLICY q ON (id, ssn)", BadPolicyError, "parameter a of policy c.s.q"),
        ("ALTER TABLE t ALTER COLUMN day SET MASKING POLICY days", BadPolicyError, "partitioned by day"),
        ("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m", BadPolicyError, "generated from ssn"),
        ("ALTER TABLE p ALTER COLUMN ssn UNSET MASKING POLICY", UnknownPolicyError, "has no masking policy"),
        ("ALTER TABLE p ALTER COLUMN x UNSET MASKING POLICY", UnknownPolicyError, "has no column x"),
        ("ALTER TABLE p DROP ROW ACCESS POLICY r", UnknownPolicyError, "c.s.r does not protect c.s.p"),
        ("ALTER TABLE p DROP ROW FILTER", UnknownPolicyError, "c.s.p has no row filter"),
        ("ALTER TABLE files ALTER COLUMN a SET MASKING POLICY m", BadPolicyError, "CONVERT TO DELTA"),
        ("ALTER TABLE files SET TAG g = 'x'", BadPolicyError, "c.s.files is no Delta table"),
        ("ALTER TABLE tmp ALTER COLUMN a SET MASKING POLICY m", BadPolicyError, "cannot be protected"),
    ],
)  # fmt: skip
def test_a_mistake_names_the_object_and_sets_nothing(text, error, said):
    """A clause that cannot be has an error, and nothing has happened."""
    of = governance()
    size = len(of.log)
    with pytest.raises(error, match=said):
        of.run(text)
    assert len(of.log) == size


def test_a_statement_of_several_clauses_does_all_or_nothing():
    """The first clause could be done; the second cannot, so neither is."""
    of = governance()
    with pytest.raises(BadPolicyError, match="column id"):
        of.run("ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY m, COLUMN id SET MASKING POLICY m")
    assert of.masks(P) == {}


def test_a_source_of_a_generated_column_is_masked_after_it():
    """A generated column has the value, too, so it is masked first; a string in its text is no column."""
    of = governance("ALTER TABLE t ALTER COLUMN id SET MASKING POLICY n")
    of.run("ALTER TABLE t ALTER COLUMN region SET MASKING POLICY m, COLUMN ssn SET MASKING POLICY m")
    assert of.masks(T) == {"id": "n", "Region": "m", "ssn": "m"}


def test_a_column_has_one_mask_and_a_table_one_filter():
    """A second one is refused, of the same statement too; FORCE puts a mask in another's place."""
    of = governance("ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY m")
    of.run("ALTER TABLE p ADD ROW ACCESS POLICY r ON (ssn)")
    second = "ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY wide USING (ssn, region)"
    with pytest.raises(
        PolicyExistsError, match=r"column ssn of c\.s\.p is masked by c\.s\.m already; add FORCE"
    ):
        of.run(second)
    with pytest.raises(PolicyExistsError, match=r"c\.s\.p has row access policy c\.s\.r already"):
        of.run("ALTER TABLE p ADD ROW ACCESS POLICY q ON (ssn, id)")
    with pytest.raises(PolicyExistsError, match="is masked by"):
        of.run("ALTER TABLE v ALTER COLUMN ssn SET MASKING POLICY m, COLUMN ssn SET MASKING POLICY m")
    of.run(f"{second} FORCE", "ALTER TABLE p DROP ROW ACCESS POLICY r, ADD ROW ACCESS POLICY q ON (ssn, id)")
    assert arguments(of, P) == {"wide": ("ssn", "Region"), "q": ("ssn", "id")}


def test_a_policy_does_not_read_what_it_protects():
    """Its body would read the table behind itself, without end."""
    of = governance()
    of.resolver.read = frozenset({P.key})
    for clause in ("ALTER COLUMN ssn SET MASKING POLICY m", "ADD ROW ACCESS POLICY r ON (ssn)"):
        with pytest.raises(BadPolicyError, match=r"reads c\.s\.p, which it is to protect; move the rows"):
            of.run(f"ALTER TABLE p {clause}")
        of.run(f"ALTER TABLE t {clause.replace('ssn', 'Region')}")


def test_a_policy_that_protects_is_named_with_what_it_protects():
    """DROP and OR REPLACE name three of the objects, and how many more there are."""
    tables = [table(f"t{number}", "a STRING") for number in range(5)]
    of = Governance(*MADE, tables=tables).run("ALTER TAG g SET MASKING POLICY m")
    of.run(*(f"ALTER TABLE {one.name[-1]} ALTER COLUMN a SET MASKING POLICY m" for one in tables))
    for text in ("DROP MASKING POLICY m", MADE[0].replace("CREATE", "CREATE OR REPLACE")):
        with pytest.raises(
            PolicyInUseError, match=r"m protects c\.s\.t0, c\.s\.t1, c\.s\.t2 and 3 more; take"
        ):
            of.run(text)
    of.run(*(f"ALTER TABLE {one.name[-1]} ALTER COLUMN a UNSET MASKING POLICY" for one in tables))
    with pytest.raises(PolicyInUseError, match=r"protects what carries tag c\.s\.g"):
        of.run("DROP MASKING POLICY m")


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("CREATE MASKING POLICY x AS () RETURNS STRING -> 'a'", BadPolicyError, "no parameter"),
        ("CREATE MASKING POLICY x AS (v INT, V INT) RETURNS INT -> v", BadPolicyError, "two parameters"),
        ("CREATE MASKING POLICY x AS (v NUMBER(12,2)) RETURNS NUMBER(10,2) -> v", None, ""),
        ("CREATE MASKING POLICY x AS (v INT) RETURNS BIGINT -> v", BadPolicyError, "INT and returns BIGINT"),
        ("CREATE MASKING POLICY x AS (v TEXT) RETURNS VARCHAR(5) -> v", None, ""),
        ("CREATE ROW ACCESS POLICY x AS (v INT) RETURNS BOOL -> true", None, ""),
        ("CREATE ROW ACCESS POLICY x AS (v INT) RETURNS STRING -> 'a'", BadPolicyError, "returns STRING"),
        ("CREATE MASKING POLICY m AS (v INT) RETURNS INT -> v", PolicyExistsError, "c.s.m is there"),
        ("CREATE ROW ACCESS POLICY m AS (v INT) RETURNS BOOLEAN -> true", None, ""),
        ("ALTER MASKING POLICY m RENAME TO wide", PolicyExistsError, "c.s.wide is there already"),
        ("ALTER MASKING POLICY m RENAME TO M", PolicyExistsError, "is there already"),
        ("ALTER ROW ACCESS POLICY r RENAME TO m", None, ""),
        ("ALTER MASKING POLICY nope RENAME TO x", UnknownPolicyError, "no masking policy c.s.nope"),
    ],
)  # fmt: skip
def test_a_definition_is_sound_before_it_is_kept(text, error, said):
    """Parameters, types and names are checked; masks and filters have names of their own."""
    of = governance()
    if error is None:
        of.run(text)
        return
    with pytest.raises(error, match=said):
        of.run(text)


# -- functions as masks and filters ------------------------------------------------------------


def test_a_function_is_a_mask_and_the_next_one_takes_its_place():
    """SET MASK and SET ROW FILTER put a function in the place of a function, and of no policy."""
    of = governance("ALTER TABLE t ALTER COLUMN Region SET MASKING POLICY m")
    for name, returns in (("f", "STRING"), ("g", "STRING"), ("keep", "BOOLEAN"), ("drop", "BOOLEAN")):
        of.define(name, "body", "v STRING", returns=returns)
    of.run("ALTER TABLE p ALTER COLUMN ssn SET MASK f", "ALTER TABLE p ALTER COLUMN ssn SET MASK g")
    of.run("ALTER TABLE p SET ROW FILTER keep ON (ssn)", "ALTER TABLE p SET ROW FILTER drop ON (region)")
    assert arguments(of, P) == {"g": ("ssn",), "drop": ("Region",)}
    with pytest.raises(PolicyExistsError, match=r"masked by c\.s\.m already"):
        of.run("ALTER TABLE t ALTER COLUMN region SET MASK f")
    of.run("ALTER TABLE p ALTER COLUMN ssn DROP MASK", "ALTER TABLE p DROP ROW FILTER")
    assert arguments(of, P) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ALTER TABLE p SET ROW FILTER f ON (ssn)", "f returns STRING; let it"),
        ("ALTER TABLE p ALTER COLUMN ssn SET MASK keep", "returns boolean, and column ssn"),
        ("ALTER TABLE p ALTER COLUMN id SET MASK f", "column id of c.s.p is int"),
        ("ALTER TABLE p ALTER COLUMN ssn SET MASK f USING COLUMNS (id)", "takes 1 columns"),
    ],
)
def test_a_function_fits_what_it_masks(text, said):
    """Its parameters and its result are of the columns' types; a refusal leaves no policy of the function."""
    of = governance()
    of.define("f", "'x'", "v STRING")
    of.define("keep", "true", "v STRING", returns="BOOLEAN")
    with pytest.raises(BadPolicyError, match=said):
        of.run(text)
    assert of.state.functions == {}


def test_a_function_in_use_changes_by_the_audit_alone():
    """A new body counts for all tables at once; another type, another way and DROP are refused."""
    of = governance()
    old = of.define("f", "'old'", "v STRING")
    of.run("ALTER TABLE p ALTER COLUMN ssn SET MASK f")
    assert policies_calling("c.s.F", of.state) == ["c.s.p"]
    of.define("f", "'past'", "v STRING")
    with pytest.raises(PolicyInUseError, match=r"c\.s\.f was changed past the audit"):
        of.run("ALTER TABLE t ALTER COLUMN region SET MASK f")
    with pytest.raises(PolicyInUseError, match=r"c\.s\.f protects c\.s\.p; take it off first"):
        require_unused("c.s.f", of.state)
    with pytest.raises(BadPolicyError, match="would take or give other types"):
        require_same(replace(old, parameters=(Column("v", "INT"),)), "c.s.f", of.state)
    new = replace(old, body="'new'", parameters=(Column("w", "varchar(9)"),))
    require_same(new, "c.s.f", of.state)
    of.take(replaced_function_events(new, of.actor(), of.state))
    [attached] = of.state.attachments(relation(P))
    assert (attached.policy.body, attached.policy.parameters) == ("'new'", new.parameters)
    of.run("ALTER TABLE p ALTER COLUMN ssn DROP MASK")
    require_unused("c.s.f", of.state)
    of.run("ALTER TABLE t ALTER COLUMN region SET MASK f")
    assert of.state.attachments(relation(T))[0].policy.body == "'past'"


# -- what goes, and what a clone has -----------------------------------------------------------

KINDS = ("masks", "tags", "column_tags", "grants", "rows")
ALL = (
    "ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY wide USING (ssn, region)",
    "ALTER TABLE p SET TAG g = 'x'",
    "ALTER TABLE p ALTER COLUMN id SET TAG g = 'y'",
    "CREATE ROW ACCESS POLICY own ON p GRANT TO ('user:bob') FILTER USING (id = 1)",
)


@pytest.mark.parametrize("kept", range(len(ALL) + 1))
def test_what_a_statement_has_set_is_taken_off_again(kept):
    """The object is then protected as before it; what it had by others stays."""
    of = governance("ALTER TABLE p ALTER COLUMN pay SET TAG g = 'z'", *ALL[:kept])
    was = of.state.objects[P.key]
    of.run(*ALL[kept:])
    now = of.state.objects[P.key]
    put = {
        name: {key: one for key, one in getattr(now, name).items() if key not in getattr(was, name)}
        for name in KINDS
    }
    of.take(removal_events(replace(now, **put), was, of.actor(), of.state))
    after = of.state.objects[P.key]
    assert [getattr(after, name) for name in KINDS] == [getattr(was, name) for name in KINDS]
    of.take(removal_events(after, after, of.actor(), of.state))
    assert not any(getattr(of.state.objects[P.key], name) for name in KINDS)
    of.require_replay()


def test_a_protected_table_is_not_replaced():
    """Its policies would be gone with it; a table without any, and one that is not there, may be."""
    of = governance("ALTER TABLE p SET TAG g = 'x'")
    with pytest.raises(PolicyExistsError, match=r"policies of c\.s\.p would be gone .*; DROP it"):
        require_free(P.key, P.name, of.state)
    require_free(None, P.name, of.state)
    require_free(T.key, T.name, of.state)
    of.run("ALTER TABLE p UNSET TAG g")
    require_free(P.key, P.name, of.state)


def cloned(of, source, clone, home="", former=None):
    """A clone of a table, or what a backup gives back; both by Delta's id."""
    return of.take(copy_policies(source, clone, f"c.s.{clone}", of.actor(), of.state, home, former))


def test_a_clone_remembers_that_its_source_had_a_filter():
    """Also a clone that had its source's tags before: old versions are an administrator's."""
    of = governance("ALTER TABLE p SET TAG g = 'x'", "ALTER TABLE t SET TAG g = 'x'")
    of.run("ALTER TABLE p ADD ROW ACCESS POLICY r ON (ssn)", "ALTER TABLE p DROP ALL ROW ACCESS POLICIES")
    cloned(of, "p", "t")
    assert of.state.objects["delta:t"].had_rows
    assert cloned(of, "p", "t") == []
    assert cloned(of, "p", "p") == []


def test_a_clone_has_the_masks_of_its_sources_schema():
    """Wherever it lies: tags of the schema that mask are its own, others are not; a plain clone has none."""
    of = governance("CREATE TAG plain", "ALTER TAG g SET MASKING POLICY m")
    of.run("ALTER SCHEMA s SET TAG g = 'x', plain = 'y'")
    cloned(of, "p", "far", "schema:c.s")
    far = replace(relation(table("far", *COLUMNS)), name="c.other.far")
    assert {one.columns[0] for one in of.state.attachments(far)} == {"ssn", "Region"}
    assert not of.state.tagged(far, None, "c.s.plain")
    assert cloned(governance(), "p", "far", "schema:c.s") == []


def test_a_clones_references_have_its_own_name():
    """A policy is listed on the clone, and not twice on its source."""
    of = governance("ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY m")
    cloned(of, "p", "t")
    names = [one.object_name for one in references_of(of.state)]
    assert len(set(names)) == len(names) == 2


def test_a_backup_brings_back_what_was_taken_off():
    """Beside what its source has today, which counts where both exclude each other; in its own place, too."""
    of = governance(
        "ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY m, COLUMN id SET MASKING POLICY n",
        "ALTER TABLE p ADD ROW ACCESS POLICY r ON (ssn)",
    )
    former = Former(of.state, of.resolver.reads)
    of.run(
        "ALTER TABLE p ALTER COLUMN id UNSET MASKING POLICY, COLUMN ssn SET MASKING POLICY wide"
        " USING (ssn, region) FORCE",
        "ALTER TABLE p DROP ALL ROW ACCESS POLICIES",
    )
    expected = {"wide": ("ssn", "Region"), "n": ("id",), "r": ("ssn",)}
    cloned(of, "p", "t", former=former)
    assert arguments(of, T) == expected
    assert arguments(of, P) == {"wide": ("ssn", "Region")}
    # A killed restore is run again.
    assert cloned(of, "p", "t", former=former) == []
    cloned(of, "p", "p", former=former)
    assert arguments(of, P) == expected


def test_what_is_dropped_does_not_come_back():
    """It is told; a policy that reads the table by now is left out, which no restore of it could resolve."""
    of = governance("ALTER TABLE p ALTER COLUMN ssn SET MASKING POLICY m", "ALTER TABLE p SET TAG g = 'x'")
    of.run("ALTER TABLE p ALTER COLUMN id SET MASKING POLICY n")
    former = Former(of.state, lambda policy: {"delta:t"} if policy.name == "c.s.n" else set())
    of.run("ALTER TABLE p ALTER COLUMN ssn UNSET MASKING POLICY, COLUMN id UNSET MASKING POLICY")
    of.run("ALTER TABLE p UNSET TAG g", "DROP TAG g", "DROP MASKING POLICY m")
    assert cloned(of, "p", "t", former=former) == []
    assert dropped_since(["delta:p", "delta:nope"], former.state, of.state) == ("c.s.m",)


def test_a_backup_brings_back_the_tags_of_its_schema():
    """Of then, those with masks; on what is restored, wherever it lies."""
    of = governance("CREATE TAG plain", "ALTER TAG g SET MASKING POLICY m")
    of.run("ALTER SCHEMA s SET TAG g = 'x', plain = 'y'")
    former = Former(of.state, of.resolver.reads)
    of.run("ALTER SCHEMA s UNSET TAG g")
    cloned(of, "p", "far", "schema:c.s", former)
    far = replace(relation(table("far", *COLUMNS)), name="c.other.far")
    assert {one.columns[0] for one in of.state.attachments(far)} == {"ssn", "Region"}
    assert not of.state.tagged(far, None, "c.s.plain")
