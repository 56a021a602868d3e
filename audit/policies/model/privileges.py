"""Privileges, their holders and the securable objects. Pure values.

In: words of a statement. Out: `Holder`, `Principal`, `Securable`, and the privileges that a statement names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from audit.policies.errors import UnknownPrivilegeError
from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS

PUBLIC = "PUBLIC"
"""The role that everybody has."""
ADMIN = "ACCOUNTADMIN"
"""The role of the users in the configuration `admins`; it can be granted as well."""
OWNERSHIP = "OWNERSHIP"
MANAGE_GRANTS = "MANAGE GRANTS"
ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Holder:
    """A role or a user that holds privileges or owns an object.

    >>> print(Holder("ROLE", "HR"))
    role HR
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.name}"

    @property
    def text(self) -> str:
        """As a statement names it: ROLE HR."""
        return f"{self.kind} {self.name}"


ADMINISTRATORS = Holder("ROLE", ADMIN)


@dataclass(frozen=True, slots=True)
class Principal:
    """A user with all active roles, in upper case."""

    user: str
    roles: frozenset[str]

    @property
    def is_admin(self) -> bool:
        """Whether everything is allowed."""
        return ADMIN in self.roles

    @property
    def holders(self) -> tuple[Holder, ...]:
        """The holders whose privileges the user has: themselves and their roles."""
        return Holder("USER", self.user), *(Holder("ROLE", role) for role in sorted(self.roles))


@dataclass(frozen=True, slots=True)
class ObjectCreation:
    """When an object was created, UTC microseconds, and who owns it by that."""

    time: int
    owner: Holder


@dataclass(frozen=True, slots=True)
class Securable:
    """An object that privileges are granted on.

    Attributes:
        key: `delta:<table id>`, which a rename keeps, `name:`, `function:` or `schema:` with a name in lower
            case, `policy:`, `tag:`, `backup_policy:` or `backup_set:` with the event that created it,
            `account:`.
        domain: table, view, schema ….
        name: fully qualified, as it is now.
        above: its schema and account; privileges on them hold here.
        creation: who created it; None if unknown.
    """

    key: str
    domain: Domain
    name: str
    above: tuple[Securable, ...] = ()
    creation: ObjectCreation | None = None

    def __str__(self) -> str:
        return noun_of(self.domain) + (f" {self.name}" if self.name else "")


_TABLE = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES")
_VIEW = ("SELECT", "REFERENCES")
_SCHEMA = (
    "USAGE", "MODIFY", "MONITOR", "CREATE TABLE", "CREATE VIEW", "CREATE FUNCTION", "CREATE MASKING POLICY",
    # A privilege on a schema holds for everything in it, one on the account for everything.
    "CREATE ROW ACCESS POLICY", "CREATE TAG", "CREATE BACKUP POLICY", "CREATE BACKUP SET", *_TABLE,
)  # fmt: skip
_ACCOUNT = (
    "CREATE SCHEMA", "APPLY MASKING POLICY", "APPLY ROW ACCESS POLICY", "APPLY TAG", "APPLY BACKUP POLICY",
    "APPLY BACKUP RETENTION LOCK", "APPLY LEGAL HOLD", MANAGE_GRANTS, *_SCHEMA,
)  # fmt: skip
PRIVILEGES: dict[Domain, tuple[str, ...]] = {
    Domain.TABLE: _TABLE,
    Domain.VIEW: _VIEW,
    Domain.FUNCTION: ("USAGE",),
    Domain.SCHEMA: _SCHEMA,
    Domain.ACCOUNT: _ACCOUNT,
    Domain.MASKING_POLICY: ("APPLY",),
    Domain.ROW_ACCESS_POLICY: ("APPLY",),
    Domain.TAG: ("APPLY",),
    Domain.BACKUP_POLICY: ("APPLY",),
    # Who owns a backup set does all with it that its locks and holds allow, and nobody else anything.
    Domain.BACKUP_SET: (),
}
"""Privileges by what they are granted on; OWNERSHIP is on everything but the account."""
# SCHEMA, DATABASE and NAMESPACE are the same in the SQL of Spark (4.2).
_SAME = {f"CREATE {noun}": "CREATE SCHEMA" for noun in SCHEMA_NOUNS[1:]}


def noun_of(domain: Domain) -> str:
    """For a sentence.

    >>> noun_of(Domain.ROW_ACCESS_POLICY), noun_of(Domain.TABLE)
    ('row access policy', 'table')
    """
    return domain.value.lower()


def privileges_named(text: str, domain: Domain) -> tuple[str, ...]:
    """The privileges that a statement names, between commas; ALL stands for each but OWNERSHIP.

    >>> privileges_named("ALL", Domain.VIEW), privileges_named("CREATE DATABASE", Domain.ACCOUNT)
    (('SELECT', 'REFERENCES'), ('CREATE SCHEMA',))

    Raises:
        UnknownPrivilegeError: there is no such privilege on that; ALL of none is none, too.
    """
    there = PRIVILEGES[domain]
    found: dict[str, None] = {}
    for one in text.split(", "):
        privilege = _SAME.get(one, one)
        if privilege not in there and not (privilege == ALL and there):
            raise UnknownPrivilegeError(
                f"there is no privilege {one} on a {noun_of(domain)}", _way_out(privilege, domain)
            )
        found |= dict.fromkeys(there if privilege == ALL else (privilege,))
    return tuple(found)


def _way_out(privilege: str, domain: Domain) -> str:
    if privilege == OWNERSHIP:
        return "ownership goes to another by a statement of its own: GRANT OWNERSHIP ON … TO ROLE …"
    others = [noun_of(other).upper() for other, there in PRIVILEGES.items() if privilege in there]
    if others:
        return f"{privilege} is granted ON {joined_by_and(others, 'or')}"
    if not PRIVILEGES[domain]:
        return f"a {noun_of(domain)} has no privilege but OWNERSHIP: GRANT OWNERSHIP ON … TO ROLE …"
    return f"grant {', '.join(PRIVILEGES[domain])}, or ALL"


def joined_by_and(words: Iterable[str], last: str = "and") -> str:
    """For a sentence.

    >>> joined_by_and(["a", "b", "c"]), joined_by_and(["a"])
    ('a, b and c', 'a')
    """
    *most, end = words
    return f"{', '.join(most)} {last} {end}" if most else end
