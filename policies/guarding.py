"""Privileges at work: statements that give and show them, and what asks for them.

In: a session, a statement, who runs it. Out: a changed ledger or rows; a refusal. What a name stands for
Spark says; who created an object the audit's records do, which are not asked on behalf of an administrator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lineage.model import Domain
from lineage.names import qualify, quote_name, sql_name
from lineage.object_ids import object_id
from policies import granting
from policies.errors import BadPolicyError, UnknownPolicyError
from policies.grants import ACCOUNT
from policies.permitting import Permits, policy_securable, schema_securable, tag_securable
from policies.privileges import Holder, Made, Securable, Who, noun_of
from policies.shown_grants import COLUMNS, Row, rows_of, rows_on, rows_to
from policies.state import ADMIN, PUBLIC

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.by import By
    from lineage.statement import Command
    from policies.events import Event
    from policies.governor import Found, Governor
    from policies.ledger import Ledger
    from policies.state import State


@dataclass(frozen=True, slots=True)
class Creation:
    """Who has created an object when (UTC microseconds), in which role."""

    time: int
    user: str
    role: str | None


Creations = Callable[[Domain, str, "int | None"], "Creation | None"]
"""Who has created an object: by its domain, qualified name and, where that survives a rename, objectId."""
_DOMAINS = {
    "TABLE": Domain.TABLE, "VIEW": Domain.VIEW, "SCHEMA": Domain.SCHEMA, "FUNCTION": Domain.FUNCTION,
}  # fmt: skip
_CHANGES: Mapping[str, Callable[[Command, Securable, Who, By, State], Sequence[Event]]] = {
    "GRANT": granting.granted,
    "REVOKE": granting.revoked,
    "GRANT_OWNERSHIP": granting.transferred,
}


class Privileges:
    """The privileges of one root.

    Args:
        governor: says what a name stands for.
        ledger: of all changes.
        held: the roles of a user in a state, of those that the session was given.
        creations: who has created an object.
    """

    def __init__(
        self,
        governor: Governor,
        ledger: Ledger,
        held: Callable[[State, str, Sequence[str]], frozenset[str]],
        creations: Creations,
    ) -> None:
        self._governor = governor
        self._ledger = ledger
        self._held = held
        self._creations = creations

    def change(self, command: Command, spark: SparkSession, by: By) -> None:
        """GRANT, REVOKE and GRANT OWNERSHIP.

        Raises:
            AccessDeniedError: they are not this user's to grant or revoke.
            UnknownPolicyError: there is no such privilege, object or role.
        """
        who = self._who(by)
        on = self._named(command.domain or Domain.TABLE, command.target, spark)
        on = on if who.is_admin else self._with_maker(on)
        self._ledger.change(partial(_CHANGES[command.kind], command, on, who, by))

    def show(self, command: Command, spark: SparkSession, by: By) -> Any:
        """SHOW GRANTS, as a DataFrame."""
        return spark.createDataFrame(self._rows(dict(command.properties), command, spark, by), COLUMNS)

    def require_undrop(self, kind: str, name: Sequence[str], table_id: str | None, by: By) -> None:
        """Refuse to bring back what somebody does not own, or where they may create nothing.

        Args:
            kind: TABLE, VIEW, FUNCTION or SCHEMA.
            name: of what was dropped, in full.
            table_id: Delta's own id of a table, None for anything else.
            by: who asks.

        Raises:
            AccessDeniedError: OWNERSHIP or CREATE is missing.
        """
        who = self._who(by)
        if who.is_admin:
            return
        schema = _schema(name[:2])
        on = schema if kind == "SCHEMA" else _relation(_DOMAINS[kind], name, table_id, (schema, ACCOUNT))
        on = self._with_maker(on)
        granting.require_ownership(on, who, self._ledger.state())
        into, privilege = ACCOUNT, f"CREATE {kind}"
        if kind != "SCHEMA" and not self._ledger.state().holds(who, privilege, ACCOUNT):
            into = self._with_maker(schema)
        granting.require_create(on, into, privilege, who, self._ledger.state())

    def require_clone(self, command: Command, spark: SparkSession, by: By) -> None:
        """Refuse to clone what somebody may not read, or where they may create nothing.

        SELECT on the source, of a schema for all that is in it; CREATE TABLE, or CREATE SCHEMA; OWNERSHIP of
        what is replaced (Snowflake, CREATE <object> … CLONE: access control requirements).

        Raises:
            AccessDeniedError: a privilege is missing.
        """
        who = self._who(by)
        if who.is_admin:
            return
        state, domain = self._ledger.state(), command.domain or Domain.TABLE
        source = self._named(domain, command.source, spark)
        granting.require("SELECT", source, who, state, f"clone {source}")
        if domain is Domain.SCHEMA:
            granting.require("CREATE SCHEMA", ACCOUNT, who, state, f"clone {source}")
            return
        name = qualify(command.target, (spark.catalog.currentCatalog(), spark.catalog.currentDatabase()))
        granting.require("CREATE TABLE", _schema(name[:-1]), who, state, f"clone {source}")
        if command.replace and spark.catalog.tableExists(sql_name(name)):
            target = self._named(domain, name, spark)
            granting.require("OWNERSHIP", target, who, state, f"replace {target}")

    def _who(self, by: By) -> Who:
        return Who(by.user, self._held(self._ledger.state(), by.user, by.roles))

    def _rows(
        self, said: Mapping[str, str | None], command: Command, spark: SparkSession, by: By
    ) -> list[Row]:
        if said["grants"] == "ON":
            on = self._with_maker(self._named(Domain(said["on"]), command.target, spark))
            return rows_on(self._ledger.state(), on)
        state = self._ledger.state()
        if not said["grants"]:
            return rows_to(state, Holder("USER", by.user))
        holder = Holder(said["to"] or "", said["grantee"] or "")
        if holder.kind == "ROLE" and holder.name not in (*state.roles, ADMIN, PUBLIC):
            raise UnknownPolicyError(f"there is no role {holder.name}", "look at its spelling: CREATE ROLE")
        return rows_of(state, holder.name) if said["grants"] == "OF" else rows_to(state, holder)

    # -- objects -------------------------------------------------------------------------------

    def _named(self, domain: Domain, parts: Sequence[str], spark: SparkSession) -> Securable:
        """What a name stands for.

        Raises:
            UnknownPolicyError: there is nothing of that name; of a table or view Spark says it.
        """
        here = (spark.catalog.currentCatalog(), spark.catalog.currentDatabase())
        if domain is Domain.ACCOUNT:
            return ACCOUNT
        if domain is Domain.SCHEMA:
            name = (here[0], *parts) if len(parts) == 1 else tuple(parts)
            is_there = bool(spark._jsparkSession.catalog().databaseExists(sql_name(name)))
            return _required(_schema(name), is_there=is_there)
        if domain in (Domain.TABLE, Domain.VIEW):
            return self._described(domain, parts, spark)
        name = qualify(parts, here)
        if domain is Domain.FUNCTION:
            above = (_schema(name[:-1]), ACCOUNT)
            is_there = bool(spark._jsparkSession.catalog().functionExists(sql_name(name)))
            return _required(_relation(domain, name, None, above), is_there=is_there)
        return self._policy(domain, quote_name(name))

    def _described(self, domain: Domain, parts: Sequence[str], spark: SparkSession) -> Securable:
        found = self._governor.describe(spark, parts)
        name = quote_name(found.name)
        if found.key is None:
            raise BadPolicyError(
                f"nothing can be granted on {name}: it is temporary, or nothing tells it apart",
                "make it a table or a view of the catalog",
            )
        if found.is_view != (domain is Domain.VIEW):
            noun = "VIEW" if found.is_view else "TABLE"
            raise UnknownPolicyError(f"there is no {noun_of(domain)} {name}", f"write ON {noun} {name}")
        return self.of(found)

    def _policy(self, domain: Domain, name: str) -> Securable:
        if domain is Domain.TAG:
            tag = self._ledger.state().find_tag(name)
            if tag is not None:
                return tag_securable(*tag)
        policy = self._ledger.state().find(domain, name)
        if policy is None:
            raise UnknownPolicyError(f"there is no {noun_of(domain)} {name}", "create it first")
        return policy_securable(*policy)

    def permits(self, by: By, state: State, target: Callable[[], Securable]) -> Permits:
        """What somebody may do to the governance; `target` is what policies or tags are put on."""
        who = Who(by.user, self._held(state, by.user, by.roles))
        return Permits(who, state, lambda: self._with_maker(target()), self._governor.reads)

    def of(self, found: Found) -> Securable:
        """A table or view that Spark has described, which something tells apart."""
        name, domain = quote_name(found.name), Domain.VIEW if found.is_view else Domain.TABLE
        above = (_schema(found.name[:-1]), ACCOUNT) if len(found.name) > 1 else (ACCOUNT,)
        return Securable(found.key or "", domain, name, above)

    def _with_maker(self, on: Securable) -> Securable:
        """With who created it: the role that they were in, as in Snowflake; without one the user.

        The records are asked, which takes a while, unless who owns it is known: an id has one object ever.
        Where privileges are enforced only the ledger counts, which has who created what since.
        """
        if self._governor.enforces or on.made is not None or on.domain not in _DOMAINS.values():
            return on
        kind, _, rest = on.key.partition(":")
        if kind == "delta" and on.key in self._ledger.state().grants.owners:
            return on
        found = self._creations(on.domain, on.name, object_id("TABLE", rest) if kind == "delta" else None)
        if found is None:
            return on
        in_role = found.role is not None and found.role.upper() != PUBLIC
        owner = Holder("ROLE", (found.role or "").upper()) if in_role else Holder("USER", found.user)
        return replace(on, made=Made(found.time, owner))


def _schema(name: Sequence[str]) -> Securable:
    return schema_securable(quote_name(name))


def _relation(
    domain: Domain, name: Sequence[str], table_id: str | None, above: tuple[Securable, ...]
) -> Securable:
    full = quote_name(name)
    if domain is Domain.FUNCTION:
        return Securable(f"function:{full.casefold()}", domain, full, above)
    key = f"name:{full.casefold()}" if table_id is None else f"delta:{table_id}"
    return Securable(key, domain, full, above)


def _required(on: Securable, *, is_there: bool) -> Securable:
    if not is_there:
        raise UnknownPolicyError(f"there is no {on}", "look at its schema and spelling")
    return on
