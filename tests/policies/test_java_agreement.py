"""The JVM answers as Python does: who holds which privilege, and which types are of one kind.

Python answers the questions of `agreement.json`; JUnit reads the same file (`GrantsTest.java`) and asks the
Java. `PYTHONPATH=. python tests/policies/test_java_agreement.py` writes it anew.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from audit.policies.enforcement.sent_facts import granted_privileges, owner_text
from audit.policies.model.grants import ACCOUNT, Grant, Grants, Ownership
from audit.policies.model.privileges import ADMIN, OWNERSHIP, PRIVILEGES, PUBLIC, Holder, Principal, Securable
from audit.policies.model.state import GovernanceState
from audit.policies.model.types import kind_of
from lineage.model import Domain

FILE = Path(__file__).parents[2] / "java" / "src" / "test" / "resources" / "agreement.json"
SEEDS = range(60)
QUESTIONS = 30
SCHEMA = Securable("schema:spark_catalog.s", Domain.SCHEMA, "spark_catalog.s", (ACCOUNT,))
OBJECTS = {
    "account": ACCOUNT,
    "schema": SCHEMA,
    "table": Securable("delta:1", Domain.TABLE, "spark_catalog.s.t", (SCHEMA, ACCOUNT)),
    "view": Securable("delta:1", Domain.VIEW, "spark_catalog.s.t", (SCHEMA, ACCOUNT)),
    "function": Securable(
        "function:spark_catalog.s.f", Domain.FUNCTION, "spark_catalog.s.f", (SCHEMA, ACCOUNT)
    ),
    "backup set": Securable("backup_set:1", Domain.BACKUP_SET, "spark_catalog.s.b", (SCHEMA, ACCOUNT)),
}
HOLDERS = [Holder("USER", "ann"), *(Holder("ROLE", name) for name in ("A", "B", "C", PUBLIC))]
TYPES = (
    "STRING", "VARCHAR(10)", "CHAR(3)", "INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "BOOLEAN",
    "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "BINARY", "DECIMAL(10,2)", "DECIMAL(38,0)", "ARRAY<INT>",
    "MAP<STRING, INT>", "STRUCT<a: INT, b: STRING>", "ARRAY<STRUCT<a: DECIMAL(5,1)>>", "VARIANT",
    "INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH",
)  # fmt: skip


def grants_case(seed: int) -> dict[str, Any]:
    """Random grants and owners, and what Python says of random questions."""
    chance = random.Random(seed)  # noqa: S311
    keys = sorted({one.key for one in OBJECTS.values()})
    privileges = sorted({one for there in PRIVILEGES.values() for one in there})
    grants = Grants()
    for key in keys:
        held = {(chance.choice(HOLDERS), chance.choice(privileges)) for _ in range(chance.randrange(4))}
        grants.given[key] = {one: Grant(0, HOLDERS[0]) for one in sorted(held, key=repr)}
        if chance.random() < 0.3 and key != ACCOUNT.key:
            grants.owners[key] = Ownership(0, chance.choice(HOLDERS))
    state = GovernanceState(grants=grants)
    return {
        "seed": seed,
        "state": {
            "grants": {key: granted_privileges(state, key) for key in keys},
            "owners": {key: owner_text(state, key) for key in keys},
            "members": None,
        },
        "questions": [question(grants, chance, privileges) for _ in range(QUESTIONS)],
    }


def question(grants: Grants, chance: random.Random, privileges: list[str]) -> dict[str, Any]:
    """Whether somebody with some roles holds a privilege, or OWNERSHIP, on something."""
    roles = frozenset({PUBLIC, *chance.sample(["A", "B", "C", ADMIN], chance.choice((0, 0, 1, 2)))})
    who, noun = Principal("ann", roles), chance.choice(sorted(OBJECTS))
    privilege = chance.choice([OWNERSHIP, *privileges])
    # The granted ones are asked for as well: among all privileges few are.
    given = [one for _, one in grants.on_object(OBJECTS[noun])]
    if given and chance.random() < 0.5:
        privilege = chance.choice(given)
    # Of a backup set the JVM knows no schema: it asks who owns the set, and nothing else.
    if noun == "backup set":
        privilege = OWNERSHIP
    return {
        "holders": [holder.text for holder in who.holders],
        "on": noun,
        "privilege": privilege,
        "holds": grants.holds(who, privilege, OBJECTS[noun]),
    }


def agreement() -> dict[str, Any]:
    """All cases, as Python answers them now."""
    return {
        "grants": [grants_case(seed) for seed in SEEDS],
        "kinds": {text: kind_of(text) for text in TYPES},
    }


def test_python_answers_as_the_file_says():
    """A change of the rules in Python changes the file, and then JUnit asks the Java for the same change."""
    assert json.loads(FILE.read_text("utf-8")) == agreement()


def test_the_questions_are_worth_asking():
    """Both answers are given, of every kind of object, and some by ownership alone."""
    asked = [question for case in agreement()["grants"] for question in case["questions"]]
    for noun in OBJECTS:
        assert {one["holds"] for one in asked if one["on"] == noun} == {True, False}
    held = [one for one in asked if one["holds"] and f"ROLE {ADMIN}" not in one["holders"]]
    assert len(held) > 100
    assert any(one["privilege"] == OWNERSHIP for one in held)


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(agreement(), indent=1) + "\n", encoding="utf-8")
