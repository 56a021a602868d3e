"""Policies and tags under random statements: what protects which column is what a model of dicts says."""

from __future__ import annotations

from itertools import count, product

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.policies.errors import PolicyError
from audit.policies.model.policy_references import references_of
from audit.policies.statements.copy_policies import Former, copy_policies
from lineage.model import Domain

from .told_governance import Governance, relation, table

COLUMNS = {"x": "STRING", "y": "STRING", "n": "INT"}
TABLES = {
    name: table(name, *(f"{column} {kind}" for column, kind in COLUMNS.items()), is_view=name == "v")
    for name in ("t", "k", "b", "v")
}
TAGS, VALUES = ("f", "g", "h"), ("a", "b", "z")
MASKS = {"ms": "STRING", "mt": "STRING", "mi": "INT"}
FILTERS = ("r", "q")


class Refused(Exception):
    """The model's answer to a statement that must not run."""


class Model:
    """Policies and tags by number, and what is set where; a place is (object, column) or (object, None).

    What a name means is in `names`. Dicts keep the order in which tags were set.
    """

    def __init__(self):
        self.numbers, self.names, self.dropped = count(1), {}, []
        self.bodies, self.allowed, self.of_tag = {}, {}, {}
        self.tags, self.masks, self.rows, self.had_rows = {}, {}, {}, set()
        self.backed_up = {}, {}, ()

    def known(self, kind, name):
        """What a name means."""
        require((kind, name) in self.names)
        return self.names[kind, name]

    # -- policies ------------------------------------------------------------------------------

    def create_policy(self, kind, name, replace):
        """CREATE [OR REPLACE] of a policy: one that is set on something stays."""
        if (kind, name) in self.names:
            require(replace)
            self.drop_policy(kind, name)
        self.names[kind, name] = number = next(self.numbers)
        self.bodies[number] = (MASKS.get(name, "BOOLEAN"), "first", 1)

    def drop_policy(self, kind, name):
        """DROP of a policy."""
        number = self.known(kind, name)
        used = {*self.masks.values(), *self.rows.values()}
        require(number not in used and all(number not in kinds.values() for kinds in self.of_tag.values()))
        del self.names[kind, name]

    def set_body(self, kind, name):
        """ALTER … SET BODY: the same policy, one version on."""
        number = self.known(kind, name)
        of_type, _, version = self.bodies[number]
        self.bodies[number] = (of_type, "second", version + 1)

    def rename_policy(self, kind, name, new_name):
        """ALTER … RENAME TO: it stays where it is set."""
        require((kind, name) in self.names and (kind, new_name) not in self.names)
        self.names[kind, new_name] = self.names.pop((kind, name))

    def set_mask(self, on, column, name, force):
        """SET MASKING POLICY: of the column's type, one a column."""
        number = self.known("MASKING", name)
        require(self.bodies[number][0] == COLUMNS[column] and (force or (on, column) not in self.masks))
        self.masks[on, column] = number

    def unset_mask(self, on, column):
        """UNSET MASKING POLICY."""
        require((on, column) in self.masks)
        del self.masks[on, column]

    def add_rows(self, on, name):
        """ADD ROW ACCESS POLICY: one a table."""
        number = self.known("ROW ACCESS", name)
        require(on not in self.rows)
        self.rows[on] = number
        self.had_rows.add(on)

    def drop_rows(self, on, name):
        """DROP ROW ACCESS POLICY."""
        number = self.known("ROW ACCESS", name)
        require(self.rows.get(on) == number)
        del self.rows[on]

    def clone(self):
        """CREATE OR REPLACE TABLE k CLONE t: k gets all that is on t, unless it has something else."""
        source, target = self.on("t"), self.on("k")
        require(not any(target) or target == source)
        if any(source) or "t" in self.had_rows:
            self.rows |= {"k": self.rows["t"]} if "t" in self.rows else {}
            self.had_rows |= {"k"} if "t" in self.had_rows else set()
            for places in (self.masks, self.tags):
                places |= {
                    ("k", column): dict(set_there) if isinstance(set_there, dict) else set_there
                    for (of, column), set_there in places.items() if of == "t"
                }  # fmt: skip

    def backup(self):
        """A backup of t: what is on it now."""
        self.backed_up = self.on("t")

    def restore(self, target):
        """CREATE OR REPLACE TABLE … FROM BACKUP SET: what is on t, and of what was that which is there."""
        known = set(self.names.values())
        (masks, tags, rows), (old_masks, old_tags, old_rows) = self.on("t"), self.backed_up
        masks |= {
            column: one for column, one in old_masks.items() if column not in masks and one in known
        }  # fmt: skip
        for column, old in old_tags.items():
            now = tags.get(column, {})
            lost = {one: said for one, said in old.items() if one not in now and one in known}
            tags |= {column: now | lost} if lost else {}
        rows = rows or (old_rows if old_rows in known else ())
        there = self.on(target)
        require(target == "t" or not any(there) or there == (masks, tags, rows))
        if there != (masks, tags, rows):  # the tags of a first run keep their order
            self.masks |= {(target, column): one for column, one in masks.items()}
            self.tags |= {(target, column): one for column, one in tags.items()}
            self.rows |= {target: rows} if rows else {}
        self.had_rows |= {target} if rows or "t" in self.had_rows else set()

    def on(self, name):
        """All that is set on a table."""
        masks = {column: mask for (of, column), mask in self.masks.items() if of == name}
        tags = {column: dict(tags) for (of, column), tags in self.tags.items() if of == name and tags}
        return masks, tags, self.rows.get(name, ())

    # -- tags ----------------------------------------------------------------------------------

    def create_tag(self, name, allowed, replace):
        """CREATE [OR REPLACE] TAG: the new one is set nowhere."""
        if ("TAG", name) in self.names:
            require(replace)
            self.drop_tag(name)
        self.names["TAG", name] = number = next(self.numbers)
        self.allowed[number], self.of_tag[number] = tuple(dict.fromkeys(allowed)), {}

    def drop_tag(self, name):
        """DROP TAG: not while it has a masking policy."""
        number = self.known("TAG", name)
        require(not self.of_tag[number])
        del self.names["TAG", name]
        self.dropped.append((name, number))

    def undrop_tag(self, name):
        """UNDROP TAG: the one of that name that was dropped last."""
        found = [number for called, number in self.dropped if called == name]
        require(found and ("TAG", name) not in self.names)
        self.dropped.remove((name, found[-1]))
        self.names["TAG", name] = found[-1]

    def rename_tag(self, name, new_name):
        """ALTER TAG … RENAME TO."""
        number = self.known("TAG", name)
        require(self.names.get(("TAG", new_name), number) == number)
        del self.names["TAG", name]
        self.names["TAG", new_name] = number

    def allow(self, name, value):
        """ALTER TAG … ADD ALLOWED_VALUES: without any, it took all."""
        number = self.known("TAG", name)
        self.allowed[number] = tuple(dict.fromkeys((*self.allowed[number], value)))

    def disallow(self, name, value):
        """ALTER TAG … DROP ALLOWED_VALUES: one stays."""
        number = self.known("TAG", name)
        require(value in self.allowed[number] and len(self.allowed[number]) > 1)
        self.allowed[number] = tuple(one for one in self.allowed[number] if one != value)

    def mask_tag(self, name, policy, force):
        """ALTER TAG … SET MASKING POLICY: one a type."""
        number, mask = self.known("TAG", name), self.known("MASKING", policy)
        require(force or self.bodies[mask][0] not in self.of_tag[number])
        self.of_tag[number][self.bodies[mask][0]] = mask

    def unmask_tag(self, name, policy):
        """ALTER TAG … UNSET MASKING POLICY."""
        number, mask = self.known("TAG", name), self.known("MASKING", policy)
        require(mask in self.of_tag[number].values())
        del self.of_tag[number][self.bodies[mask][0]]

    def set_tag(self, on, column, name, value):
        """SET TAG: a value that it takes."""
        number = self.known("TAG", name)
        require(not self.allowed[number] or value in self.allowed[number])
        self.tags.setdefault((on, column), {})[number] = value

    def unset_tag(self, on, column, name):
        """UNSET TAG."""
        number = self.known("TAG", name)
        require(number in self.tags.get((on, column), {}))
        del self.tags[on, column][number]

    # -- answers -------------------------------------------------------------------------------

    def name_of(self, number):
        """How a policy or a tag is called now."""
        return next(name for (_, name), one in self.names.items() if one == number)

    def mask_of(self, on, column):
        """The mask in force: the column's own, then one of its tags, of the table's, of the schema's."""
        if (on, column) in self.masks:
            return self.masks[on, column]
        levels = [self.tags.get(place, {}) for place in ((on, column), (on, None), ("s", None))]
        found = (self.of_tag[tag].get(COLUMNS.get(column, "STRING")) for level in levels for tag in level)
        return next((mask for mask in found if mask is not None), None)

    def references(self):
        """Which policy is on what, through which tag: (object, column, policy, tag)."""
        found = {(on, None, self.name_of(policy), None) for on, policy in self.rows.items()}
        found |= {(on, column, self.name_of(mask), None) for (on, column), mask in self.masks.items()}
        for (on, column), tags in self.tags.items():
            if column is None:
                found |= {
                    (on, None, self.name_of(mask), self.name_of(tag))
                    for tag in tags for mask in self.of_tag[tag].values()
                }  # fmt: skip
            elif (on, column) not in self.masks:
                masks = [(self.of_tag[tag].get(COLUMNS[column]), tag) for tag in tags]
                first = next(((mask, tag) for mask, tag in masks if mask is not None), None)
                found |= {(on, column, *map(self.name_of, first))} if first else set()
        return found


def require(holds):
    """Refuses a statement."""
    if not holds:
        raise Refused


def _one(names):
    return st.sampled_from(sorted(names))


def _with(name, *words):
    return st.tuples(st.just(name), *words)


yes, tag, value, mask = st.booleans(), _one(TAGS), _one(VALUES), _one(MASKS)
kind_and_name = st.one_of(
    st.tuples(st.just("MASKING"), mask), st.tuples(st.just("ROW ACCESS"), _one(FILTERS))
)  # fmt: skip
column = st.tuples(_one(TABLES), _one(COLUMNS))
place = st.one_of(column, st.tuples(_one(TABLES), st.none()), st.just(("s", None)))
STATEMENTS = st.one_of(
    _with("create_policy", kind_and_name, yes),
    _with("drop_policy", kind_and_name),
    _with("set_body", kind_and_name),
    _with("rename_policy", st.tuples(st.just("MASKING"), mask), mask),
    _with("set_mask", column, mask, yes),
    _with("unset_mask", column),
    _with("add_rows", _one(TABLES), _one(FILTERS)),
    _with("drop_rows", _one(TABLES), _one(FILTERS)),
    _with("create_tag", tag, st.lists(value, max_size=3), yes),
    _with("drop_tag", tag),
    _with("undrop_tag", tag),
    _with("rename_tag", tag, tag),
    _with("allow", tag, value),
    _with("disallow", tag, value),
    _with("mask_tag", tag, mask, yes),
    _with("unmask_tag", tag, mask),
    _with("set_tag", place, tag, value),
    _with("set_tag", place, tag, value),
    _with("unset_tag", place, tag),
    _with("clone"),
    _with("clone"),
)
of_t = st.tuples(st.just("t"), _one(COLUMNS))
on_t = st.one_of(of_t, st.just(("t", None)))
CHANGES = st.lists(
    st.one_of(
        *3 * [_with("set_mask", of_t, mask, st.just(value=True))],
        _with("unset_mask", of_t),
        _with("drop_policy", kind_and_name),
        _with("add_rows", st.just("t"), _one(FILTERS)),
        _with("drop_rows", st.just("t"), _one(FILTERS)),
        _with("set_tag", on_t, tag, value),
        _with("unset_tag", on_t, tag),
        _with("unmask_tag", tag, mask),
        _with("drop_tag", tag),
        _with("undrop_tag", tag),
        _with("unset_tag", st.just(("s", None)), tag),
    ),
    min_size=2,
    max_size=10,
)
"""Of what is on t, and of what can be."""


BEFORE = [
    *(("create_policy", ("MASKING", name), False) for name in MASKS),
    *(("create_policy", ("ROW ACCESS", name), False) for name in FILTERS),
    *(("create_tag", name, [], False) for name in TAGS),
    ("mask_tag", "g", "ms", False),
    ("mask_tag", "h", "mt", False),
    ("set_tag", ("t", None), "g", "a"),
    ("set_tag", ("t", "x"), "h", "b"),
    ("set_tag", ("s", None), "h", "a"),
    ("set_mask", ("t", "n"), "mi", False),
    ("set_mask", ("v", "y"), "ms", False),
    ("set_mask", ("v", "x"), "mt", False),
    ("add_rows", "t", "r"),
    ("set_tag", ("t", "y"), "f", "a"),
    ("drop_tag", "f"),
    ("create_tag", "f", [], False),
    ("drop_tag", "f"),
    ("backup",),
]
"""Masks, a filter and tags on columns, tables and the schema; random statements go on from here."""


def _altered(on, of_column=None):
    noun = {"v": "VIEW", "s": "SCHEMA"}.get(on, "TABLE")
    return f"ALTER {noun} {on}" + (f" ALTER COLUMN {of_column}" if of_column else "")


def text_of(name, *words):
    """The statement in SQL."""
    if name in ("create_policy", "drop_policy", "set_body", "rename_policy"):
        (kind, called), *rest = words
        what = f"{kind} POLICY {called}"
        of_type = MASKS.get(called, "STRING")
        returns = "BOOLEAN" if kind == "ROW ACCESS" else of_type
        signature = f"AS (v {of_type}) RETURNS {returns} -> first"
        return {
            "create_policy": f"CREATE {'OR REPLACE ' * (rest == [True])}{what} {signature}",
            "drop_policy": f"DROP {what}",
            "set_body": f"ALTER {what} SET BODY -> second",
            "rename_policy": f"ALTER {what} RENAME TO {rest and rest[0]}",
        }[name]
    first, *rest = words
    if name == "create_tag":
        allowed = f" ALLOWED_VALUES {', '.join(map(repr, rest[0]))}" if rest[0] else ""
        return f"CREATE {'OR REPLACE ' * rest[1]}TAG {first}{allowed}"
    return {
        "set_mask": lambda: f"{_altered(*first)} SET MASKING POLICY {rest[0]}{' FORCE' * rest[1]}",
        "unset_mask": lambda: f"{_altered(*first)} UNSET MASKING POLICY",
        "add_rows": lambda: f"{_altered(first)} ADD ROW ACCESS POLICY {rest[0]} ON (x)",
        "drop_rows": lambda: f"{_altered(first)} DROP ROW ACCESS POLICY {rest[0]}",
        "drop_tag": lambda: f"DROP TAG {first}",
        "undrop_tag": lambda: f"UNDROP TAG {first}",
        "rename_tag": lambda: f"ALTER TAG {first} RENAME TO {rest[0]}",
        "allow": lambda: f"ALTER TAG {first} ADD ALLOWED_VALUES '{rest[0]}'",
        "disallow": lambda: f"ALTER TAG {first} DROP ALLOWED_VALUES '{rest[0]}'",
        "mask_tag": lambda: f"ALTER TAG {first} SET MASKING POLICY {rest[0]}{' FORCE' * rest[1]}",
        "unmask_tag": lambda: f"ALTER TAG {first} UNSET MASKING POLICY {rest[0]}",
        "set_tag": lambda: f"{_altered(*first)} SET TAG {rest[0]} = '{rest[1]}'",
        "unset_tag": lambda: f"{_altered(*first)} UNSET TAG {rest[0]}",
    }[name]()


def outcome(model, governance, name, words):
    """Whether a statement ran, of the governance and of the model."""
    try:
        if name == "clone":
            governance.take(copy_policies("t", "k", "c.s.k", governance.actor(), governance.state))
        elif name == "backup":
            governance.backed_up = Former(governance.state, governance.resolver.reads)
        elif name == "restore":
            (to,), former = words, governance.backed_up
            copied = copy_policies("t", to, f"c.s.{to}", governance.actor(), governance.state, former=former)
            governance.take(copied)
        else:
            governance.run(text_of(name, *words))
    except PolicyError:
        ran = False
    else:
        ran = True
    flat = [word for one in words for word in (one if isinstance(one, tuple) else (one,))]
    try:
        getattr(model, name)(*flat)
    except Refused:
        return ran, False
    return ran, True


@settings(max_examples=50, deadline=None)
@given(st.lists(STATEMENTS, min_size=20, max_size=60))
def test_what_protects_what_is_what_the_model_says(statements):
    """Statements run or are refused as in the model, and then the same policies are on the same columns."""
    require_same(statements)


@settings(max_examples=300, deadline=None)
@given(CHANGES, CHANGES, st.lists(CHANGES, max_size=1))
def test_what_a_backup_gives_back_is_what_the_model_says(before, since, later):
    """The same, where a table is backed up, loses some of what is on it, and is restored, perhaps twice."""
    restored = [("restore", "b"), ("restore", "t")]
    again = [one for changes in later for one in (*changes, *restored)]
    require_same([*before, ("backup",), *since, *restored, *again])


def require_same(statements):
    """Asserts that the governance does, and holds afterwards, what the model says."""
    governance, model = Governance(tables=TABLES.values()), Model()
    for name, *words in (*BEFORE, *statements):
        ran, expected = outcome(model, governance, name, words)
        assert ran == expected, text_of(name, *words)
    state = governance.state
    for on, found in TABLES.items():
        # A column that has come since then has the masks of what it lies in.
        masks = {column: model.mask_of(on, column) for column in (*COLUMNS, "later")}
        assert governance.masks(found, "later STRING") == {
            column: model.name_of(number) for column, number in masks.items() if number is not None
        }
        rows = [(model.name_of(model.rows[on]), ("x",))] if on in model.rows else []
        assert governance.rows(found) == rows
        known = state.protected(relation(found))
        assert (known is not None and known.had_rows) == (on in model.had_rows)
        for column, name in product((*COLUMNS, None), TAGS):
            number = model.names.get(("TAG", name), 0)
            tagged = number in model.tags.get((on, column), {})
            assert state.tagged(relation(found), column, f"c.s.{name}") == tagged
    for (kind, name), number in model.names.items():
        if kind == "TAG":
            assert (state.find_tag(f"c.s.{name}")[1].allowed or ()) == model.allowed[number]
        else:
            _, stored = state.find(Domain(f"{kind} POLICY"), f"c.s.{name}")
            assert (stored.policy.body, stored.version) == model.bodies[number][1:]
    found = {
        tuple(name and name.removeprefix("c.").removeprefix("s.") for name in
              (one.object_name, one.column, one.policy, one.tag))
        for one in references_of(state)
    }  # fmt: skip
    assert found == model.references()
    governance.require_replay()
    governance.require_changes_told()
