"""The words of privileges: which there are on what, who may have them, what they are had on. Pure values.

In: words of a statement. Out: `Holder`, `Who`, `Securable`; the privileges that a statement means.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lineage.model import Domain
from policies.errors import UnknownPrivilegeError

PUBLIC = "PUBLIC"
"""The role that everybody has."""
ADMIN = "ACCOUNTADMIN"
"""The role of those whom the configuration calls administrators; it may be granted, too."""
OWNERSHIP = "OWNERSHIP"
MANAGE_GRANTS = "MANAGE GRANTS"
ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who is granted something, or owns it: a role or a user.

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
class Who:
    """Somebody who asks: a user with all roles that are in force, upper case."""

    user: str
    roles: frozenset[str]

    @property
    def is_admin(self) -> bool:
        """Whether everything is allowed."""
        return ADMIN in self.roles

    @property
    def holders(self) -> tuple[Holder, ...]:
        """As whom they may hold something."""
        return Holder("USER", self.user), *(Holder("ROLE", role) for role in sorted(self.roles))


@dataclass(frozen=True, slots=True)
class Made:
    """When an object was created, UTC microseconds, and who owns it by that."""

    time: int
    owner: Holder


@dataclass(frozen=True, slots=True)
class Securable:
    """What privileges are had on.

    Attributes:
        key: `delta:<table id>`, which a rename keeps, `name:`, `function:` or `schema:` with a name in lower
            case, `policy:` with the event that created it, `account:`.
        domain: what it is.
        name: fully qualified, as it is now.
        above: what it is in; what is granted there holds here.
        made: who created it, None where nobody is known to have.
    """

    key: str
    domain: Domain
    name: str
    above: tuple[Securable, ...] = ()
    made: Made | None = None

    def __str__(self) -> str:
        return noun_of(self.domain) + (f" {self.name}" if self.name else "")


_TABLE = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES")
_VIEW = ("SELECT", "REFERENCES")
_SCHEMA = (
    "USAGE", "MODIFY", "MONITOR", "CREATE TABLE", "CREATE VIEW", "CREATE FUNCTION", "CREATE MASKING POLICY",
    "CREATE ROW ACCESS POLICY", "CREATE TAG", *_TABLE,
)  # fmt: skip
_ACCOUNT = (
    "CREATE SCHEMA", "APPLY MASKING POLICY", "APPLY ROW ACCESS POLICY", "APPLY TAG", MANAGE_GRANTS, *_SCHEMA,
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
}
"""Privileges by what they are granted on; OWNERSHIP is on everything but the account."""
# A database is Spark's schema.
_SAME = {"CREATE DATABASE": "CREATE SCHEMA"}


def noun_of(domain: Domain) -> str:
    """For a sentence.

    >>> noun_of(Domain.ROW_ACCESS_POLICY), noun_of(Domain.TABLE)
    ('row access policy', 'table')
    """
    return domain.value.lower()


def meant(said: str, domain: Domain) -> tuple[str, ...]:
    """The privileges that a statement names, between commas; ALL stands for each but OWNERSHIP.

    >>> meant("ALL", Domain.VIEW), meant("CREATE DATABASE", Domain.ACCOUNT)
    (('SELECT', 'REFERENCES'), ('CREATE SCHEMA',))

    Raises:
        UnknownPrivilegeError: there is no such privilege on that.
    """
    there = PRIVILEGES[domain]
    found: dict[str, None] = {}
    for one in said.split(", "):
        privilege = _SAME.get(one, one)
        if privilege not in (*there, ALL):
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
        return f"{privilege} is granted ON {listed(others, 'or')}"
    return f"grant {', '.join(PRIVILEGES[domain])}, or ALL"


def listed(words: Iterable[str], last: str = "and") -> str:
    """For a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    *most, end = words
    return f"{', '.join(most)} {last} {end}" if most else end
