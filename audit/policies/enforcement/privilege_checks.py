"""GRANT, REVOKE, SHOW GRANTS, and the checks of UNDROP and CLONE.

In: a session, a statement, who runs it. Out: events in the log, rows, or a refusal. Spark resolves names. The
audit's records tell who created an object; they are not read for an administrator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.policies.enforcement.backup_privileges import (
    BACKUPS,
    BackupLookup,
    BackupPrivileges,
    backup_securable,
)
from audit.policies.enforcement.governance_permits import (
    Permits,
    policy_securable,
    schema_securable,
    tag_securable,
)
from audit.policies.errors import BadPolicyError, UnknownPolicyError
from audit.policies.model.grants import ACCOUNT
from audit.policies.model.privileges import (
    ADMIN,
    PUBLIC,
    Holder,
    ObjectCreation,
    Principal,
    Securable,
    noun_of,
)
from audit.policies.model.shown_grants import COLUMNS, Row, rows_of, rows_on, rows_to
from audit.policies.statements import grant_ddl
from audit.spark.catalog.existence import function_exists, relation_exists, schema_exists
from audit.spark.sessions import current_schema
from lineage.catalog.object_ids import object_id
from lineage.model import Domain
from lineage.names import qualify, quote_name, split_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import CatalogObject, Enforcer
    from audit.policies.model.event_log import EventLog
    from audit.policies.model.events import GovernanceEvent
    from audit.policies.model.state import GovernanceState
    from lineage.sql.commands.command import Command


@dataclass(frozen=True, slots=True)
class RecordedCreation:
    """The user and role that created an object, and when (UTC microseconds)."""

    time: int
    user: str
    role: str | None


CreationLookup = Callable[[Domain, str, "int | None"], "RecordedCreation | None"]
"""Looks up who created an object, by domain, qualified name and, if a rename keeps it, objectId."""
_DOMAINS = {
    "TABLE": Domain.TABLE, "VIEW": Domain.VIEW, "SCHEMA": Domain.SCHEMA, "FUNCTION": Domain.FUNCTION,
}  # fmt: skip
_CHANGES: Mapping[
    str, Callable[[Command, Securable, Principal, Actor, GovernanceState], Sequence[GovernanceEvent]]
] = {
    "GRANT": grant_ddl.grant_events,
    "REVOKE": grant_ddl.revoke_events,
    "GRANT_OWNERSHIP": grant_ddl.ownership_events,
}


class Privileges:
    """The privileges of one root.

    Args:
        enforcer: resolves names.
        event_log: of all changes.
        roles_of: the roles of a user in a state, of those that the session was given.
        creations: looks up who created an object.
        backups: looks up a backup policy or a backup set.
    """

    def __init__(
        self,
        enforcer: Enforcer,
        event_log: EventLog,
        roles_of: Callable[[GovernanceState, str, Sequence[str]], frozenset[str]],
        creations: CreationLookup,
        backups: BackupLookup,
    ) -> None:
        self._enforcer = enforcer
        self._event_log = event_log
        self._roles_of = roles_of
        self._creations = creations
        self._backups = backups

    def change(self, command: Command, spark: SparkSession, actor: Actor) -> None:
        """GRANT, REVOKE and GRANT OWNERSHIP.

        Raises:
            AccessDeniedError: this user may not grant or revoke them.
            UnknownPolicyError: there is no such privilege, object or role.
        """
        who = self._who(actor)
        on = self.of_object(command.domain or Domain.TABLE, command.target, spark)
        # An administrator may grant anything, so the creator need not be looked up in the records.
        on = on if who.is_admin else self._with_maker(on)
        self._event_log.change(partial(_CHANGES[command.kind], command, on, who, actor))

    def show(self, command: Command, spark: SparkSession, actor: Actor) -> Any:
        """SHOW GRANTS, as a DataFrame."""
        return spark.createDataFrame(self._rows(dict(command.properties), command, spark, actor), COLUMNS)

    def require_undrop(self, kind: str, name: Sequence[str], table_id: str | None, actor: Actor) -> None:
        """Refuse an UNDROP without OWNERSHIP of the dropped object, or without CREATE in its schema.

        Args:
            kind: TABLE, VIEW, FUNCTION or SCHEMA.
            name: of what was dropped, in full.
            table_id: Delta's own id of a table, None for anything else.
            actor: who asks.

        Raises:
            AccessDeniedError: OWNERSHIP or CREATE is missing.
        """
        who = self._who(actor)
        if who.is_admin:
            return
        schema = _schema(name[:2])
        on = schema if kind == "SCHEMA" else _relation(_DOMAINS[kind], name, table_id, (schema, ACCOUNT))
        on = self._with_maker(on)
        grant_ddl.require_ownership(on, who, self._event_log.state())
        into, privilege = ACCOUNT, f"CREATE {kind}"
        # CREATE on the account holds for every schema.
        if kind != "SCHEMA" and not self._event_log.state().holds(who, privilege, ACCOUNT):
            into = self._with_maker(schema)
        grant_ddl.require_create(on, into, privilege, who, self._event_log.state())

    def require_clone(self, command: Command, spark: SparkSession, actor: Actor) -> None:
        """Refuse a CLONE without SELECT on the source, or without CREATE at the target.

        SELECT on the source, of a schema for all that is in it; CREATE TABLE, or CREATE SCHEMA; OWNERSHIP of
        what is replaced (Snowflake, CREATE <object> … CLONE: access control requirements).

        Raises:
            AccessDeniedError: a privilege is missing.
        """
        who = self._who(actor)
        if who.is_admin:
            return
        state, domain = self._event_log.state(), command.domain or Domain.TABLE
        source = self.of_object(domain, command.source, spark)
        grant_ddl.require("SELECT", source, who, state, f"clone {source}")
        if domain is Domain.SCHEMA:
            # No database lies above a schema of Spark, so CREATE SCHEMA is a privilege on the account.
            grant_ddl.require("CREATE SCHEMA", ACCOUNT, who, state, f"clone {source}")
            return
        name = qualify(command.target, current_schema(spark))
        grant_ddl.require("CREATE TABLE", _schema(name[:-1]), who, state, f"clone {source}")
        if command.replace and relation_exists(spark, name):
            target = self.of_object(domain, name, spark)
            grant_ddl.require("OWNERSHIP", target, who, state, f"replace {target}")

    def require_restore(self, domain: Domain, name: Sequence[str], spark: SparkSession, actor: Actor) -> None:
        """Refuse CREATE … FROM BACKUP SET without CREATE at the target.

        CREATE TABLE, or CREATE SCHEMA on the account; OWNERSHIP of a table that is replaced. Whose the
        backups are is asked of the backup set.

        Args:
            domain: TABLE or SCHEMA.
            name: of what is created.
            spark: the session.
            actor: who asks.

        Raises:
            AccessDeniedError: a privilege is missing.
        """
        who, state = self._who(actor), self._event_log.state()
        if who.is_admin:
            return
        full = qualify(name, current_schema(spark)) if domain is Domain.TABLE else tuple(name)
        restore = f"restore {domain.value.lower()} {quote_name(full)}"
        if domain is Domain.SCHEMA:
            grant_ddl.require("CREATE SCHEMA", ACCOUNT, who, state, restore)
            return
        grant_ddl.require("CREATE TABLE", _schema(full[:-1]), who, state, restore)
        if relation_exists(spark, full):
            target = self.of_object(domain, full, spark)
            grant_ddl.require("OWNERSHIP", target, who, state, f"replace {target}")

    def grants_on(
        self, domain: Domain, name: Sequence[str], table_id: str | None
    ) -> Iterator[tuple[str, str, str, bool]]:
        """The grants on a table, view or function: privilege, USER or ROLE, grantee, WITH GRANT OPTION.

        Args:
            domain: of the object.
            name: in full.
            table_id: Delta's own id of a Delta table.
        """
        known = self._event_log.state().grants.on_object(_relation(domain, name, table_id, ()))
        for (holder, privilege), grant in known.items():
            yield privilege, holder.kind, holder.name, grant.option

    def _who(self, actor: Actor) -> Principal:
        return Principal(actor.user, self._roles_of(self._event_log.state(), actor.user, actor.roles))

    def _rows(
        self, properties: Mapping[str, str | None], command: Command, spark: SparkSession, actor: Actor
    ) -> list[Row]:
        if properties["grants"] == "ON":
            on = self._with_maker(self.of_object(Domain(properties["on"]), command.target, spark))
            return rows_on(self._event_log.state(), on)
        state = self._event_log.state()
        # SHOW GRANTS alone shows the privileges of the current user (Snowflake, SHOW GRANTS).
        if not properties["grants"]:
            return rows_to(state, Holder("USER", actor.user))
        holder = Holder(properties["to"] or "", properties["grantee"] or "")
        if holder.kind == "ROLE" and holder.name not in (*state.roles, ADMIN, PUBLIC):
            raise UnknownPolicyError(f"there is no role {holder.name}", "look at its spelling: CREATE ROLE")
        return rows_of(state, holder.name) if properties["grants"] == "OF" else rows_to(state, holder)

    # -- objects -------------------------------------------------------------------------------

    def of_object(self, domain: Domain, parts: Sequence[str], spark: SparkSession) -> Securable:
        """The object of the catalog that a name stands for, as the holder of privileges.

        Raises:
            UnknownPolicyError: there is no such object; for a table or view Spark raises its own error.
        """
        current = current_schema(spark)
        if domain is Domain.ACCOUNT:
            return ACCOUNT
        if domain is Domain.SCHEMA:
            name = (current[0], *parts) if len(parts) == 1 else tuple(parts)
            is_there = schema_exists(spark, name)
            return _required(_schema(name), is_there=is_there)
        if domain in (Domain.TABLE, Domain.VIEW):
            return self._described(domain, parts, spark)
        name = qualify(parts, current)
        if domain is Domain.FUNCTION:
            above = (_schema(name[:-1]), ACCOUNT)
            is_there = function_exists(spark, name)
            return _required(_relation(domain, name, None, above), is_there=is_there)
        full = quote_name(name)
        return self._backup(domain, full) if domain in BACKUPS else self._policy(domain, full)

    def _backup(self, domain: Domain, name: str) -> Securable:
        found = self._backups(domain, name)
        if found is None:
            noun = noun_of(domain)
            raise UnknownPolicyError(f"there is no {noun} {name}", f"create it first: CREATE {noun.upper()}")
        return backup_securable(found)

    def _described(self, domain: Domain, parts: Sequence[str], spark: SparkSession) -> Securable:
        found = self._enforcer.describe(spark, parts)
        name = quote_name(found.name)
        if found.key is None:
            raise BadPolicyError(
                f"nothing can be granted on {name}: it is temporary, or no table or view of the catalog",
                "make it a table or a view of the catalog",
            )
        if found.is_view != (domain is Domain.VIEW):
            noun = "VIEW" if found.is_view else "TABLE"
            raise UnknownPolicyError(f"there is no {noun_of(domain)} {name}", f"write ON {noun} {name}")
        return self.of(found)

    def _policy(self, domain: Domain, name: str) -> Securable:
        if domain is Domain.TAG:
            tag = self._event_log.state().find_tag(name)
            if tag is not None:
                return tag_securable(*tag)
        policy = self._event_log.state().find(domain, name)
        if policy is None:
            raise UnknownPolicyError(f"there is no {noun_of(domain)} {name}", "create it first")
        return policy_securable(*policy)

    def permits(self, actor: Actor, state: GovernanceState, target: Callable[[], Securable]) -> Permits:
        """The privileges of an actor on the governance; `target` is what policies or tags are set on."""
        who = Principal(actor.user, self._roles_of(state, actor.user, actor.roles))
        return Permits(who, state, lambda: self._with_maker(target()), self._enforcer.reads)

    def of_backups(self, spark: SparkSession, actor: Actor) -> BackupPrivileges:
        """The privileges of an actor on backups; the names of tables are those of a session."""
        return BackupPrivileges(
            self._who(actor),
            self._event_log.state(),
            lambda on: self._with_maker(self.of_object(on.domain, split_name(on.name), spark)),
        )

    def of(self, found: CatalogObject) -> Securable:
        """A table or view, as the holder of privileges."""
        name, domain = quote_name(found.name), Domain.VIEW if found.is_view else Domain.TABLE
        above = (_schema(found.name[:-1]), ACCOUNT) if found.in_catalog else (ACCOUNT,)
        return Securable(found.key or "", domain, name, above)

    def _with_maker(self, on: Securable) -> Securable:
        """The object with its creator: the role that created it, as in Snowflake, else the user.

        Reading the records takes a while, so they are read only where the owner is unknown. Where privileges
        are enforced the event log alone counts: it has every creation since then.
        """
        # Policies, tags and roles have their creator in the event log.
        if self._enforcer.enforces or on.creation is not None or on.domain not in _DOMAINS.values():
            return on
        kind, _, rest = on.key.partition(":")
        if kind == "delta" and on.key in self._event_log.state().grants.owners:
            return on
        found = self._creations(on.domain, on.name, object_id("TABLE", rest) if kind == "delta" else None)
        if found is None:
            return on
        # Everybody has PUBLIC: owned by it, an object would be everybody's.
        in_role = found.role is not None and found.role.upper() != PUBLIC
        owner = Holder("ROLE", (found.role or "").upper()) if in_role else Holder("USER", found.user)
        return replace(on, creation=ObjectCreation(found.time, owner))


def _schema(name: Sequence[str]) -> Securable:
    return schema_securable(quote_name(name))


def _relation(
    domain: Domain, name: Sequence[str], table_id: str | None, above: tuple[Securable, ...]
) -> Securable:
    full = quote_name(name)
    if domain is Domain.FUNCTION:
        return Securable(f"function:{full.casefold()}", domain, full, above)
    # Only a Delta table has an id that a rename keeps; the grants of any other object belong to its name.
    key = f"name:{full.casefold()}" if table_id is None else f"delta:{table_id}"
    return Securable(key, domain, full, above)


def _required(on: Securable, *, is_there: bool) -> Securable:
    if not is_there:
        raise UnknownPolicyError(f"there is no {on}", "look at its schema and spelling")
    return on
