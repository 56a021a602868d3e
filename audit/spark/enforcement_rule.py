"""The enforcement rule of a JVM, `Enforcement.java`, called with PySpark's sessions, frames and writers.

In: Python values and PySpark objects. Out: JSON of `Enforcement.java` as Python values. What the JVM refuses
it throws as a SecurityException (`audit.spark.java_errors.refusal_message`).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from audit.spark import java_classes
from audit.spark.jvm import view
from audit.spark.sessions import SECRET
from lineage.names import sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class EnforcementRule:
    """The rule of one JVM.

    Args:
        session: a session of the system's own, in which the bodies of policies are resolved.
        audit_folders: folders that only the system writes to.
        backups: the folder of all backups, which is one of these; few may read there.
    """

    def __init__(self, session: SparkSession, audit_folders: Iterable[str], backups: str) -> None:
        self._java: Any = java_classes.instance(view(session.sparkContext), "policies.Enforcement")
        self._descriptions: Any = java_classes.instance(
            view(session.sparkContext), "policies.CatalogDescriptions"
        )
        # Each root has a property of its own: threads may run statements of several roots.
        self._property = f"spark.audit.identity.{secrets.token_hex(4)}"
        self._of_session = f"{secrets.token_hex(16)}:"
        self._java.begin(
            session._jsparkSession, SECRET, "\n".join(audit_folders), self._property, self._of_session
        )
        self._governance: Any = self._java.governance()
        self._governance.keepBackups(backups)
        self._identities: Any = self._governance.identities()
        self._context = session.sparkContext

    # -- sessions and identities -----------------------------------------------------------------

    def install(self, spark: SparkSession) -> None:
        """Install the rule in a session and the sessions derived from it."""
        self._java.install(spark._jsparkSession)

    def exempt(self, spark: SparkSession) -> None:
        """Exempt a session of the system's own, and its clones."""
        self._identities.exempt(spark._jsparkSession)

    def end(self) -> None:
        """Disable enforcement in this JVM."""
        self._java.end()

    def set_default_identity(self, session_id: str, token: str) -> None:
        """Set the identity of a session's own user."""
        self._identities.setDefault(session_id, token)

    def mark(self, spark: SparkSession, session_id: str) -> None:
        """Mark a session, and its clones to come, as an attached one; "" takes the mark away."""
        self._identities.mark(spark._jsparkSession, session_id)

    def mark_of(self, spark: SparkSession) -> str:
        """The attached session that a session is, or is a clone of; "" for none."""
        found: str = self._identities.markOf(spark._jsparkSession)
        return found

    def of_session(self, session_id: str) -> str:
        """The identity of a thread that runs what it runs as the user of a session: each as its own."""
        return self._of_session + session_id

    def mark_of_plan(self, query_execution: Any) -> str:
        """The same of the session that a plan belongs to."""
        found: str = self._identities.markOf(query_execution.sparkSession())
        return found

    def thread_identity(self) -> str | None:
        """The identity of what this thread of the JVM runs, None for nobody's."""
        found: str | None = self._context.getLocalProperty(self._property)
        return found

    def set_thread_identity(self, token: str | None) -> None:
        """Set the identity of what this thread of the JVM runs from now on; None for nobody's."""
        self._context.setLocalProperty(self._property, token)  # type: ignore[arg-type]

    def register_identity(self, token: str, identity: dict[str, Any]) -> None:
        """Tell the JVM which user and roles a token stands for."""
        self._identities.register(token, json.dumps(identity))

    @property
    def seconds(self) -> float:
        """The time that plans have spent in the rule so far."""
        nanoseconds: int = self._java.nanoseconds()
        return nanoseconds / 1e9

    # -- what is protected -------------------------------------------------------------------------

    def enforce_privileges(self) -> None:
        """Check the privileges of every statement from now on."""
        self._governance.enforcePrivileges()

    def note_creations(self) -> None:
        """Note from now on which objects a statement creates."""
        self._governance.noteCreations()

    def update_protection(self, changes: dict[str, Any]) -> None:
        """Replace changed policies and the protection of changed objects."""
        self._governance.updateProtection(json.dumps(changes))

    def update_grants(self, changes: dict[str, Any]) -> None:
        """Replace changed grants, owners and role members."""
        self._governance.updateGrants(json.dumps(changes))

    # -- policies ----------------------------------------------------------------------------------

    def check_policy(self, policy: dict[str, Any]) -> None:
        """Resolve the body of a policy; throws what Spark says of a body that cannot be resolved."""
        self._java.checkPolicy(json.dumps(policy))

    def could_change(
        self, token: str, policy_id: str, policy: dict[str, Any], *, is_mask: bool
    ) -> bool | None:
        """Whether a policy could change what somebody sees; None where its body cannot be resolved."""
        found: bool | None = self._java.couldChange(token, policy_id, json.dumps(policy), is_mask)
        return found

    def reads(self, policy: dict[str, Any]) -> frozenset[str]:
        """The keys of what the body of a policy reads."""
        return frozenset(self._java.policyReads(json.dumps(policy)).split("\n")) - {""}

    # -- checks ------------------------------------------------------------------------------------

    def unplanned(self, dataset: Any) -> Any:
        """The same query as another Dataset of the JVM, which nothing has planned yet."""
        return self._java.unplanned(dataset)

    def check_stream(self, spark: SparkSession, frame: Any) -> None:
        """Refuse a stream over what policies hide from whoever starts it."""
        self._java.checkStream(spark._jsparkSession, frame._jdf.queryExecution().analyzed())

    def check_sink(self, spark: SparkSession, writer: Any, path: str | None, table: str | None) -> None:
        """Refuse a stream into a table of the audit's own."""
        self._java.checkSink(spark._jsparkSession, writer._jwrite, path, table)

    def check_history(self, spark: SparkSession, location: str) -> bool:
        """Refuse the history of a Delta table to who may not see it; whether they see its conditions, too."""
        found: bool = self._java.checkHistory(spark._jsparkSession, location)
        return found

    def check_retention(self, spark: SparkSession, table_id: str) -> None:
        """Refuse to change how long a Delta table is kept to who does not see all of it."""
        self._java.checkRetention(spark._jsparkSession, table_id)

    def check_past(self, table_id: str) -> None:
        """Refuse former versions of a Delta table to who may not see them."""
        self._java.checkPast(table_id)

    def check_no_backup(self, spark: SparkSession, place: str) -> None:
        """Refuse the files of a backup."""
        self._java.checkNoBackup(spark._jsparkSession, place)

    def check_files(self, spark: SparkSession, place: str) -> None:
        """Refuse the files of a protected table."""
        self._java.checkFiles(spark._jsparkSession, place)

    def check_schema_drop(self, spark: SparkSession, name: str) -> None:
        """Refuse to drop a schema with what policies read."""
        self._java.checkSchemaDrop(spark._jsparkSession, name)

    def check_folder(self, spark: SparkSession, place: str) -> None:
        """Refuse a folder for a new Delta table over what is protected."""
        self._java.checkFolder(spark._jsparkSession, place)

    def check_all_shown(self, spark: SparkSession, frame: Any, what: str) -> None:
        """Refuse facts about whole tables of backups, and where policies hide something of them."""
        self._java.checkAllShown(spark._jsparkSession, frame._jdf.queryExecution().analyzed(), what)

    def check_explainable(self, spark: SparkSession, frame: Any, *, is_cost: bool) -> None:
        """Refuse to show how Spark would run a frame, where that tells of what policies hide."""
        plan = frame._jdf.queryExecution().analyzed()
        self._governance.requireExplainable(spark._jsparkSession, plan, is_cost)

    # -- objects -----------------------------------------------------------------------------------

    def schema_of(self, table_id: str) -> str:
        """The key of the schema whose tags protect a Delta table; "" for none."""
        found: str = self._governance.schemaOf(table_id)
        return found

    def allow_new_table(self, table_id: str) -> None:
        """Let this thread write to a Delta table that it creates, by Delta's id."""
        self._governance.allowNewTable(table_id)

    def allow_new_schema(self, name: str) -> None:
        """Let this thread write to a schema that it creates, with all that it holds by now."""
        self._governance.allowNewSchema(name)

    def created(self, spark: SparkSession) -> list[list[Any]]:
        """Noun, name, key and replaced or not, of each object that this thread's statement created."""
        found: list[list[Any]] = json.loads(self._governance.created(spark._jsparkSession))
        return found

    def view_definition(self, spark: SparkSession, text: str) -> dict[str, Any] | None:
        """What a CREATE VIEW defines; None where it defines no view of the catalog."""
        facts: str = self._descriptions.viewDefinition(spark._jsparkSession, text)
        found: dict[str, Any] | None = json.loads(facts)
        return found

    def catalog_entry(self, spark: SparkSession, name: Sequence[str]) -> str:
        """All that the catalog holds of a table or view by its full name; "" for none."""
        found: str = self._descriptions.catalogEntry(spark._jsparkSession, name[-2], name[-1])
        return found

    def describe(self, spark: SparkSession, parts: Sequence[str]) -> dict[str, Any]:
        """Key, name and columns of what a name stands for; Spark's own error where it stands for nothing.

        What is no entry of the session catalog (temporary, by its path, of another catalog) has the name that
        was asked for.

        Spark resolves the name, as for `audit.spark.catalog.session_catalog.SessionCatalog.look_up`.
        """
        found: dict[str, Any] = json.loads(self._descriptions.describe(spark._jsparkSession, sql_name(parts)))
        found["in_catalog"] = bool(found["name"])
        found["name"] = found["name"] or list(parts)
        return found
