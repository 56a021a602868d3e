"""The enforcement rule of one JVM: sends it policies, grants and identities, and turns refusals into errors.

In: states, identities, sessions. Out: calls of `audit.spark.enforcement_rule`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from audit.policies.enforcement.sent_facts import (
    granted_privileges,
    owner_text,
    policy_facts,
    protection_facts,
)
from audit.policies.enforcement.who_asks import SessionMarks, ThreadIdentity
from audit.policies.errors import AccessDeniedError, BadPolicyError, UnknownPolicyError
from audit.policies.model.state import GovernanceState
from audit.spark.catalog.functions import expression_function
from audit.spark.enforcement_rule import EnforcementRule
from audit.spark.java_errors import JVM_ERRORS, is_refusal, java_class_name, java_message, refusal_message
from lineage.catalog.object_ids import column_id, object_id
from lineage.model import Domain, Function, Policy
from lineage.names import quote_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.policies.model.privileges import Holder

_KEPT = 10_000
"""Answers of `could_change` that are cached."""
_DOMAINS = {
    "table": Domain.TABLE, "view": Domain.VIEW, "schema": Domain.SCHEMA, "function": Domain.FUNCTION,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CatalogObject:
    """An object of the catalog, as the enforcement rule describes it.

    Attributes:
        key: `delta:<table id>` or `name:<name in lower case>`; None for what nothing can protect.
        is_view: a view.
        name: its parts, in full.
        object_id: the objectId of records.
        columns: by name in lower case: name, key that a rename keeps, columnId, type.
        partitions: names of the partition columns, in lower case.
        generated: generation expressions, by the name of their column.
        in_catalog: it is an entry of the session catalog, and not temporary, by path or of another catalog.
    """

    key: str | None
    is_view: bool
    name: tuple[str, ...]
    object_id: int
    columns: dict[str, tuple[str, str, int, str]]
    partitions: frozenset[str] = frozenset()
    generated: Mapping[str, str] = field(default_factory=dict)
    in_catalog: bool = True


@dataclass(frozen=True, slots=True)
class CreatedObject:
    """An object that a statement has created.

    Attributes:
        domain: a table, a view, a function or a schema.
        name: fully qualified.
        key: as of `policies.privileges.Securable`.
        replaced: whether something was there before.
    """

    domain: Domain
    name: str
    key: str
    replaced: bool


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """A view that a CREATE VIEW defines, and what the statement does with one that is there."""

    view: CatalogObject
    if_not_exists: bool
    replaces: bool


class Enforcer:
    """Enforces the policies and privileges of one root in one JVM.

    Args:
        session: a session of the system's own, in which the bodies of policies are resolved.
        account: what current_account() says.
        audit_folders: folders that only the system writes to.
        backups: the folder of all backups.

    Attributes:
        thread: who runs what the calling thread runs.
        marks: which session is attached.
    """

    def __init__(
        self, session: SparkSession, account: str, audit_folders: Iterable[str], backups: str
    ) -> None:
        self._rule = EnforcementRule(session, audit_folders, backups)
        self._session = session
        self._account = account
        self._tokens: dict[tuple[str, str | None, frozenset[str]], str] = {}
        self._could_change = lru_cache(maxsize=_KEPT)(self._ask_could_change)
        self.thread, self.marks = ThreadIdentity(self._rule), SessionMarks(self._rule)
        self.enforces = self.notes_creations = False

    def install(self, spark: SparkSession) -> None:
        """Install the enforcement rule in a session and the sessions derived from it."""
        self._rule.install(spark)

    def set_default_identity(self, session_id: str, token: str) -> None:
        """Set the identity of a session's own user."""
        self._rule.set_default_identity(session_id, token)

    def unplanned(self, dataset: Any) -> Any:
        """The same query as a new Dataset, without the plan that Spark caches in the old one."""
        return self._rule.unplanned(dataset)

    @property
    def seconds(self) -> float:
        """The time that plans have spent in the enforcement rule so far."""
        return self._rule.seconds

    def exempt(self, spark: SparkSession) -> None:
        """Exempt a session of the system's own, and its clones, from all policies."""
        self._rule.exempt(spark)

    def require_stream(self, spark: SparkSession, frame: Any) -> None:
        """Refuse to start a stream over what policies hide from whoever starts it.

        Raises:
            AccessDeniedError: they do.
        """
        with refusals():
            self._rule.check_stream(spark, frame)

    def require_history(self, spark: SparkSession, location: str) -> bool:
        """Refuse the history of a Delta table to who may not see it.

        Returns:
            Whether they may see the conditions of its changes, which hold values that masks hide.

        Raises:
            AccessDeniedError: it has, or had, a row access policy, and this is no administrator.
        """
        with refusals():
            return self._rule.check_history(spark, location)

    def require_retention(self, spark: SparkSession, table_id: str) -> None:
        """Refuse to change how long a Delta table, by Delta's id, is kept.

        Raises:
            AccessDeniedError: policies hide some of it from this user, who is no administrator, and no
                privileges are enforced.
        """
        with refusals():
            self._rule.check_retention(spark, table_id)

    def require_past(self, table_id: str) -> None:
        """Refuse former versions of a Delta table (by Delta's id) to the user of this thread.

        Raises:
            AccessDeniedError: it has, or had, a row access policy, and this is no administrator.
        """
        with refusals():
            self._rule.check_past(table_id)

    def schema_of(self, table_id: str) -> str:
        """The key of the schema whose tags protect a Delta table, by Delta's id; "" for none."""
        return self._rule.schema_of(table_id)

    def require_sink(self, spark: SparkSession, writer: Any, path: str | None, table: str | None) -> None:
        """Refuse a stream into a table of the audit's own.

        Raises:
            AccessDeniedError: the sink is such a table.
        """
        with refusals():
            self._rule.check_sink(spark, writer, path, table)

    def require_no_files(self, spark: SparkSession, place: str) -> None:
        """Refuse a path that holds files of a protected table: Spark may read them for the schema alone.

        Raises:
            AccessDeniedError: it does.
        """
        with refusals():
            self._rule.check_files(spark, place)

    def require_schema_drop(self, spark: SparkSession, name: str) -> None:
        """Refuse to drop a schema with tables that policies read.

        Raises:
            AccessDeniedError: it has some, and this is no administrator.
        """
        with refusals():
            self._rule.check_schema_drop(spark, name)

    def require_folder(self, place: str) -> None:
        """Refuse a folder for a new Delta table over what is protected.

        Raises:
            AccessDeniedError: it lies in the folder of what is protected, or holds one.
        """
        with refusals():
            self._rule.check_folder(self._session, place)

    def require_no_backup(self, spark: SparkSession, place: str) -> None:
        """Refuse the files of a backup to a statement that Spark's plans do not show: it would write there.

        Raises:
            AccessDeniedError: the place belongs to a backup.
        """
        with refusals():
            self._rule.check_no_backup(spark, place)

    def require_all_shown(self, spark: SparkSession, frame: Any, what: str) -> None:
        """Refuse facts about whole tables, such as their files, where policies hide rows or columns.

        Raises:
            AccessDeniedError: they do.
        """
        with refusals():
            self._rule.check_all_shown(spark, frame, what)

    def require_explainable(self, spark: SparkSession, frame: Any, *, is_cost: bool) -> None:
        """Refuse to show how Spark would run a frame: estimates and joins tell of what policies hide.

        Raises:
            AccessDeniedError: they do.
        """
        with refusals():
            self._rule.check_explainable(spark, frame, is_cost=is_cost)

    def end(self) -> None:
        """Disable enforcement in this JVM."""
        self._rule.end()

    def token(self, user: str, role: str | None, roles: frozenset[str]) -> str:
        """The random token of a user and their roles."""
        key = (user, role, roles)
        found = self._tokens.get(key)
        if found is None:
            # Random: a user can set local properties of Spark, and must not be able to set another user's
            # identity.
            found = self._tokens[key] = secrets.token_hex(16)
            facts = {
                "user": user,
                "role": role,
                "roles": sorted(roles),
                # The text of `Holder`: the JVM compares it with the holders of grants and owners.
                "holders": [f"USER {user}", *(f"ROLE {one}" for one in sorted(roles))],
                "account": self._account,
            }
            self._rule.register_identity(found, facts)
        return found

    def enforce_privileges(self) -> None:
        """Check the privileges of every statement from now on."""
        self._rule.enforce_privileges()
        self.enforces = self.notes_creations = True

    def note_creations(self) -> None:
        """Note the creators of objects from now on: bodies of policies may ask who owns an object."""
        self._rule.note_creations()
        self.notes_creations = True

    def update_grants(
        self,
        state: GovernanceState,
        objects: Iterable[str],
        members: Mapping[Holder, Sequence[Holder]] | None,
    ) -> None:
        """Send changed privileges: objects by key; members of all roles, None for no change."""
        keys = list(objects)
        known = (
            None
            if members is None
            else {one.text: [each.text for each in roles] for one, roles in members.items()}
        )
        facts = {
            "grants": {key: granted_privileges(state, key) for key in keys},
            "owners": {key: owner_text(state, key) for key in keys},
            "members": known,
        }
        self._rule.update_grants(facts)

    def allow_new_table(self, table_id: str) -> None:
        """Let this thread write to a Delta table that it creates; the id is Delta's."""
        with refusals():
            self._rule.allow_new_table(table_id)

    def allow_new_schema(self, name: str) -> None:
        """Let this thread write to a schema that it creates, and to all objects in it."""
        self._rule.allow_new_schema(name)

    def created_objects(self, spark: SparkSession) -> list[CreatedObject]:
        """The objects that the last statement of this thread has created."""
        return [CreatedObject(_DOMAINS[noun], *rest) for noun, *rest in self._rule.created(spark)]

    def update_protection(
        self, state: GovernanceState, policies: Iterable[str], objects: Iterable[str]
    ) -> None:
        """Send changed policies, by id, and the changed protection of objects, by key."""
        defined = {identity: state.policies.get(identity) for identity in policies}
        protected = {key: state.objects.get(key) for key in objects}
        facts = {
            # None takes away what the JVM knows of a dropped policy.
            "policies": {key: one and policy_facts(one.policy) for key, one in defined.items()},
            "tables": {key: one and protection_facts(one, state) for key, one in protected.items()},
        }
        self._rule.update_protection(facts)

    def check_policy(self, policy: Policy) -> None:
        """Resolve the body of a policy that is about to be created or changed.

        Raises:
            BadPolicyError: Spark cannot resolve it.
        """
        with _policy_body_errors():
            self._rule.check_policy(policy_facts(policy))

    def could_change(self, token: str, identity: str, policy: Policy) -> bool | None:
        """Whether a policy could change what a user sees: False if it shows every value or row as it is.

        Args:
            token: of who asks.
            identity: the policy's id.
            policy: its definition when the statement ran, which may have changed since.

        Returns:
            None if Spark can no longer resolve the body.
        """
        # lru_cache keeps no exceptions: a body that cannot be resolved now is resolved again next time.
        with suppress(BadPolicyError):
            return self._could_change(token, identity, policy)
        return None

    def _ask_could_change(self, token: str, identity: str, policy: Policy) -> bool | None:
        is_mask = policy.domain is Domain.MASKING_POLICY
        with _policy_body_errors():
            return self._rule.could_change(token, identity, policy_facts(policy), is_mask=is_mask)

    def reads(self, policy: Policy) -> frozenset[str]:
        """The keys of the tables and views that the body of a policy reads.

        `subquery:` stands for a subquery, `function:<name>` for a SQL function that the body calls.
        """
        return self._rule.reads(policy_facts(policy))

    def function(self, parts: Sequence[str]) -> Function:
        """A SQL function of Spark's catalog, by its full name.

        Raises:
            UnknownPolicyError: there is none.
            BadPolicyError: it is no expression in SQL.
        """
        found = expression_function(self._session, parts)
        if found is None:
            name = quote_name(parts)
            raise UnknownPolicyError(f"there is no function {name}", "create it first: CREATE FUNCTION")
        if found.body is None:
            raise BadPolicyError(
                f"function {found.name} is no expression in SQL",
                "CREATE FUNCTION … RETURNS type RETURN expression",
            )
        return found

    def view_definition(self, spark: SparkSession, text: str) -> ViewDefinition | None:
        """The view that a CREATE VIEW defines; None for a temporary view.

        Raises:
            AccessDeniedError: its column list has another length than its query.
        """
        with refusals():
            facts = self._rule.view_definition(spark, text)
        return (
            None
            if facts is None
            else ViewDefinition(_catalog_object(facts), facts["ifNotExists"], facts["replaces"])
        )

    def catalog_entry(self, spark: SparkSession, name: Sequence[str]) -> str:
        """The catalog's metadata of a table or view as text; "" for none."""
        return self._rule.catalog_entry(spark, name)

    def describe(self, spark: SparkSession, parts: Sequence[str]) -> CatalogObject:
        """The table or view that a name stands for; raises Spark's own error where there is none."""
        return _catalog_object(self._rule.describe(spark, parts))


@contextmanager
def _policy_body_errors() -> Iterator[None]:
    """Turn Spark's errors about the body of a policy into a BadPolicyError."""
    way_out = "try the expression in a SELECT over columns of those names and types"
    try:
        yield
    except JVM_ERRORS as error:
        if java_class_name(error) and not is_refusal(error):
            raise
        problem = java_message(error) if is_refusal(error) else str(error).strip().split("\n")[0]
        raise BadPolicyError(problem, way_out) from error


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a refusal of the enforcement rule into an AccessDeniedError."""
    try:
        yield
    except Exception as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        raise refusal from error


def refusal_of(error: BaseException) -> AccessDeniedError | None:
    """The refusal of the enforcement rule that an error carries; None for any other error."""
    message = refusal_message(error)
    if message is None:
        return None
    # A SecurityException has one text, so the JVM puts "; " between the problem and the way out.
    problem, _, way_out = message.partition("; ")
    return AccessDeniedError(problem, way_out or "ask whoever owns the policy")


def _catalog_object(facts: Mapping[str, Any]) -> CatalogObject:
    key, name = facts["key"], tuple(facts["name"])
    kind, _, rest = (key or "name:").partition(":")
    # A Delta table's id comes from Delta's own, which a rename keeps; any other object's from its name.
    identity = object_id("TABLE" if kind == "delta" or not facts["isView"] else "VIEW", rest)
    columns = {
        # `mapped` is the id of Delta's column mapping (4.4), which a rename keeps; without mapping there is
        # none.
        column.lower(): (column, key_of, column_id(identity, mapped or column), type_text)
        for column, key_of, mapped, type_text in facts["columns"]
    }
    parted, generated = frozenset(facts["partitions"]), facts["generated"]
    in_catalog = facts.get("in_catalog", True)  # a view that is only being defined will be
    return CatalogObject(key, facts["isView"], name, identity, columns, parted, generated, in_catalog)
