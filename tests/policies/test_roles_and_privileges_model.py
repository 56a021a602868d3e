"""Roles, privileges and owners under random statements: what holds is what a small model of sets says."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.policies.errors import PolicyError
from audit.policies.model.privileges import Holder
from audit.policies.model.shown_grants import rows_of, rows_on
from lineage import parse

from .told_governance import Governance, table

ADMINS = ("ROLE", "ACCOUNTADMIN")
USERS, ROLES = ("bob", "eve", "zoe"), ("A", "B", "C")
ABOVE = {"TABLE t": ("SCHEMA s", "ACCOUNT"), "TABLE u": ("SCHEMA s", "ACCOUNT"), "SCHEMA s": ("ACCOUNT",)}
ON = ("TABLE t", "TABLE u", "SCHEMA s", "ACCOUNT")
PRIVILEGES = ("SELECT", "INSERT", "MANAGE GRANTS")
TABLES = (table("t", "a INT"), table("u", "a INT"))


class Refused(Exception):
    """The model's answer to a statement that must not run."""


class Model:
    """Roles, grants and owners as plain sets and dicts; a holder is a pair such as ("ROLE", "A")."""

    def __init__(self):
        self.roles, self.under, self.owners = set(), {}, {}
        self.given = {}  # by object, holder and privilege: grantor, with grant option

    def roles_of(self, user):
        """All roles that a user holds, in any number of steps."""
        found = set(self.under.get(("USER", user), ()))
        while more := {low for role in found for low in self.under.get(("ROLE", role), ())} - found:
            found |= more
        return found | {"PUBLIC"}

    def holders(self, user):
        """Those whose privileges a user has."""
        return {("USER", user), *(("ROLE", role) for role in self.roles_of(user))}

    def acts_as_owner(self, user, on):
        """The owner, administrators, and who has MANAGE GRANTS on the account."""
        manages = {("ACCOUNT", holder, "MANAGE GRANTS") for holder in self.holders(user)} & {*self.given}
        return user == "ann" or self.owners.get(on, ADMINS) in self.holders(user) or bool(manages)

    def found(self, user, privilege, on):
        """The holders through which a user has a privilege, and whether each may grant it on."""
        places = (on, *ABOVE.get(on, ()))
        keys = [(place, holder, privilege) for place in places for holder in self.holders(user)]
        return [(key[1], self.given[key][1]) for key in keys if key in self.given]

    def holds(self, user, privilege, on):
        """Whether a user may do what a privilege stands for."""
        owns = user == "ann" or self.owners.get(on, ADMINS) in self.holders(user)
        return owns or bool(self.found(user, privilege, on))

    # -- statements ----------------------------------------------------------------------------

    def create_role(self, _user, role, *, replace=False):
        """CREATE [OR REPLACE] ROLE."""
        require(role not in self.roles or replace)
        if role in self.roles:
            self.drop_role(_user, role)
        self.roles.add(role)

    def drop_role(self, _user, role):
        """DROP ROLE: what it was granted is gone, what it owned or granted is the administrators'."""
        require(role in self.roles)
        gone = ("ROLE", role)
        self.roles.remove(role)
        self.under.pop(gone, None)
        self.under = {holder: roles - {role} for holder, roles in self.under.items()}
        self.owners = {on: ADMINS if owner == gone else owner for on, owner in self.owners.items()}
        self.given = {
            key: (ADMINS if grantor == gone else grantor, option)
            for key, (grantor, option) in self.given.items() if key[1] != gone
        }  # fmt: skip

    def grant_role(self, _user, role, holder):
        """GRANT ROLE: roles never hold each other."""
        require(role in self.roles and (holder[0] == "USER" or holder[1] in self.roles))
        if holder[0] == "ROLE":
            self.under["USER", "?"] = {role}
            below = self.roles_of("?")
            del self.under["USER", "?"]
            require(holder[1] not in below)
        self.under[holder] = self.under.get(holder, set()) | {role}

    def revoke_role(self, _user, role, holder):
        """REVOKE ROLE."""
        require(role in self.roles and role in self.under.get(holder, ()))
        self.under[holder] = self.under[holder] - {role}

    def grant(self, user, privilege, on, holder, *, option, grantor):
        """GRANT; `grantor` is who was taken for one: the owner, or a holder with grant option."""
        require(self.exists(holder) and (privilege != "MANAGE GRANTS" or on == "ACCOUNT"))
        if self.acts_as_owner(user, on):
            allowed = {self.owners.get(on, ADMINS)}
        else:
            allowed = {one for one, may_grant in self.found(user, privilege, on) if may_grant}
        require(allowed)
        known = self.given.get((on, holder, privilege))
        if known is None or (option and not known[1]):
            assert grantor in allowed
            self.given[on, holder, privilege] = (grantor, option)

    def revoke(self, user, privilege, on, holder, *, option_alone, cascade):
        """REVOKE: what was granted on goes too, or stands in the way."""
        key = (on, holder, privilege)
        require(self.exists(holder) and key in self.given)
        require(self.acts_as_owner(user, on) or self.given[key][0] in self.holders(user))
        gone = {holder}
        while more := {
            who for (what, who, of), (grantor, _) in self.given.items()
            if what == on and of == privilege and grantor in gone
        } - gone:  # fmt: skip
            gone |= more
        require(cascade or gone == {holder})
        kept = {key: (self.given[key][0], False)} if option_alone else {}
        self.given = {
            one: grant for one, grant in self.given.items()
            if one[0] != on or one[2] != privilege or one[1] not in gone
        } | kept  # fmt: skip

    def grant_ownership(self, user, on, holder, current):
        """GRANT OWNERSHIP: grants stand in the way unless the statement says what becomes of them."""
        require(self.exists(holder) and on != "ACCOUNT" and self.acts_as_owner(user, on))
        old = self.owners.get(on, ADMINS)
        if self.owners.get(on) == holder:
            return
        there = [key for key in self.given if key[0] == on]
        require(current or not there)
        self.owners[on] = holder
        for key in there:
            grantor, option = self.given.pop(key)
            if current == "COPY":
                self.given[key] = (holder if grantor == old else grantor, option)

    def exists(self, holder):
        """Users are not created; a role must be."""
        return holder[0] == "USER" or holder[1] in self.roles | {"PUBLIC"}


def require(holds):
    """Refuses a statement."""
    if not holds:
        raise Refused


role, on = st.sampled_from(ROLES), st.sampled_from(ON)
member = st.one_of(st.tuples(st.just("USER"), st.sampled_from(USERS)), st.tuples(st.just("ROLE"), role))
holder = st.one_of(member, st.just(("ROLE", "PUBLIC")))
STATEMENTS = st.one_of(
    st.tuples(st.just("create_role"), role, st.booleans()),
    st.tuples(st.just("drop_role"), role),
    st.tuples(st.just("grant_role"), role, member),
    st.tuples(st.just("revoke_role"), role, member),
    st.tuples(st.just("grant"), st.sampled_from(PRIVILEGES), on, holder, st.booleans()),
    st.tuples(st.just("grant"), st.just("SELECT"), st.just("TABLE t"), holder, st.just(value=True)),
    st.tuples(st.just("revoke"), st.sampled_from(PRIVILEGES), on, holder, st.booleans(), st.booleans()),
    st.tuples(st.just("grant_ownership"), on, holder, st.sampled_from(["", "COPY", "REVOKE"])),
)


BEFORE = [
    *(("ann", ("create_role", role, False)) for role in ROLES),
    ("ann", ("grant_role", "A", ("USER", "bob"))),
    ("ann", ("grant_role", "B", ("USER", "eve"))),
    ("ann", ("grant_role", "A", ("ROLE", "C"))),
    ("ann", ("grant_ownership", "TABLE t", ("ROLE", "A"), "")),
    ("bob", ("grant", "SELECT", "TABLE t", ("USER", "zoe"), True)),
    ("zoe", ("grant", "SELECT", "TABLE t", ("ROLE", "B"), True)),
    ("eve", ("grant", "SELECT", "TABLE t", ("ROLE", "C"), True)),
    ("ann", ("grant", "INSERT", "SCHEMA s", ("ROLE", "B"), True)),
]
"""A role that owns a table, and privileges that were granted on; random statements go on from here."""


def text_of(kind, *words):
    """The statement in SQL."""
    if kind == "create_role":
        return f"CREATE {'OR REPLACE ' * words[1]}ROLE {words[0]}"
    if kind == "drop_role":
        return f"DROP ROLE {words[0]}"
    if kind in ("grant_role", "revoke_role"):
        verb, to = ("GRANT", "TO") if kind == "grant_role" else ("REVOKE", "FROM")
        return f"{verb} ROLE {words[0]} {to} {' '.join(words[1])}"
    if kind == "grant":
        privilege, what, to, option = words
        return f"GRANT {privilege} ON {what} TO {' '.join(to)}{' WITH GRANT OPTION' * option}"
    if kind == "revoke":
        privilege, what, to, option, cascade = words
        only = "GRANT OPTION FOR " * option
        return f"REVOKE {only}{privilege} ON {what} FROM {' '.join(to)}{' CASCADE' * cascade}"
    what, to, current = words
    return f"GRANT OWNERSHIP ON {what} TO {' '.join(to)} {f'{current} CURRENT GRANTS' if current else ''}"


def told(model, governance, user, kind, *words):
    """The model after a statement that the governance has run."""
    if kind == "create_role":
        model.create_role(user, words[0], replace=words[1])
    elif kind == "grant":
        privilege, what, to, option = words
        found = grant_of(governance, what, to, privilege)
        grantor = found and (found.grantor.kind, found.grantor.name)
        model.grant(user, privilege, what, to, option=option, grantor=grantor)
    elif kind == "revoke":
        model.revoke(user, *words[:3], option_alone=words[3], cascade=words[4])
    else:
        getattr(model, kind)(user, *words)


def securable(governance, what):
    """The object of a text such as TABLE t."""
    command = parse(f"GRANT SELECT ON {what} TO ROLE A").command
    return governance.securable(command.domain, command.target)


def grant_of(governance, what, to, privilege):
    """What somebody was granted on an object itself."""
    return governance.state.grants.on_object(securable(governance, what)).get((Holder(*to), privilege))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["ann", *USERS]), STATEMENTS), min_size=20, max_size=60))
def test_who_may_what_is_what_the_model_says(statements):
    """Each statement runs or is refused as in the model, and then the same users hold the same privileges."""
    governance, model = Governance(tables=TABLES), Model()
    for user, (kind, *words) in (*BEFORE, *statements):
        # Roles are for administrators, which the session checks before.
        who = "ann" if kind.endswith("_role") else user
        try:
            governance.run(text_of(kind, *words), user=who)
        except PolicyError:
            refused = True
        else:
            refused = False
        try:
            told(model, governance, who, kind, *words)
        except Refused:
            assert refused, text_of(kind, *words)
        else:
            assert not refused, text_of(kind, *words)
    for user in (*USERS, "max"):
        assert governance.state.roles_of(user, ()) == model.roles_of(user)
        for privilege, what in product(PRIVILEGES, ON):
            held = governance.state.holds(governance.who(user), privilege, securable(governance, what))
            assert held == model.holds(user, privilege, what), (user, privilege, what)
    for role in ROLES:
        holders = {one for one, roles in model.under.items() if role in roles}
        assert {row[4:6] for row in rows_of(governance.state, role)} == holders
    for what in ON:
        shown = rows_on(governance.state, securable(governance, what))
        owner = model.owners.get(what, ADMINS)
        told_of = {
            (privilege, *to, str(option).lower(), grantor[1])
            for (place, to, privilege), (grantor, option) in model.given.items() if place == what
        }  # fmt: skip
        assert shown[0][4:6] == owner
        assert {(row[1], *row[4:]) for row in shown[1:]} == told_of
    governance.require_replay()
    governance.require_changes_told()
