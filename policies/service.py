"""Governance for the sessions of one driver: what the front door asks on the way of a statement.

In: a session, a statement, who runs it. Out: what runs instead of Spark, and what protects a relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from audit import jvm
from lineage.functions import function_named, read_function
from lineage.grant_commands import GRANTS
from lineage.model import Domain
from lineage.names import qualify, quote_name, split_name, sql_name
from lineage.protections import unprotected
from policies import roles
from policies.attaching import changes_of, copied
from policies.creating import Creating
from policies.defining import altered, created, dropped, renamed
from policies.errors import (
    AccessDeniedError,
    BadPolicyError,
    PolicyError,
    PolicyExistsError,
    UnknownPolicyError,
)
from policies.events import Event
from policies.functions import changed, protected_by, require_same, require_unused
from policies.governor import Governor
from policies.granted_rows import rows_granted
from policies.grants import ACCOUNT
from policies.guarding import Creations, Privileges
from policies.leaking import leaks_of
from policies.ledger import NAME, Ledger
from policies.permitting import schema_securable
from policies.privileges import Holder
from policies.propagation import propagated, wanted
from policies.referring import Reference, references_of
from policies.showing import DESCRIBED, SHOWN, Asking, described, schema_of, shown
from policies.state import ADMIN, PUBLIC, State
from policies.tagging import schema_name, schema_tagged
from policies.tags import tag_altered, tag_brought_back, tag_created, tag_dropped, tag_renamed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.by import By
    from lineage.model import Attachment, ModifiedObject, Relation
    from lineage.statement import Change, Command, Shows, Statement
    from policies.leaking import Downstream, Leak
    from policies.ledger import Decide
    from policies.privileges import Securable
    from time_travel.staging import Staged

Run = Callable[["SparkSession", str], Any]
"""Runs a text in a session, as Spark does."""
Way = Callable[["SparkSession", str, "By", Run], Any]
"""Runs a statement instead of Spark."""
_POLICIES = frozenset({Domain.MASKING_POLICY, Domain.ROW_ACCESS_POLICY})
_SET = _POLICIES | {Domain.TAG}
_ROLES: Mapping[str, Callable[[Command, By, State], Sequence[Event]]] = {
    "CREATE_ROLE": roles.created,
    "ALTER_ROLE": roles.altered,
    "DROP_ROLE": roles.dropped,
    "GRANT_ROLE": roles.granted,
    "REVOKE_ROLE": roles.revoked,
}
_CATALOG = "spark_catalog"
_MAKES = ("CREATE_TABLE", "REPLACE_TABLE", "CREATE_VIEW")
_FUNCTIONS = frozenset({"CREATE_FUNCTION", "DROP_FUNCTION"})
_RIGHTS = frozenset({"GRANT_PRIVILEGES", "REVOKE_PRIVILEGES", "GRANT_OWNERSHIP", "CREATE_OBJECT"})
_TAGS = {
    "CREATE_TAG": tag_created,
    "ALTER_TAG": tag_altered,
    "RENAME_TAG": tag_renamed,
    "DROP_TAG": tag_dropped,
    "UNDROP_TAG": tag_brought_back,
}
_DEFINING = {"CREATE": created, "ALTER": altered, "RENAME": renamed, "DROP": dropped}


class Policies:
    """The governance of one root.

    Args:
        own: a session of the system's own, which is not audited; nobody else uses it.
        root: of the audit tables, a Hadoop path.
        account: what current_account() says.
        admins: users who have role ACCOUNTADMIN, whatever is granted to them.
        ours: names of the tables under the root, which only the system writes to.
        creations: who has created an object.
        stage: gives what makes a table where no name leads to; None where IF NOT EXISTS leaves one alone.
        graphs: gives what tells of a column what was made of it, as of now.
        enforces: every statement needs its privileges.
    """

    def __init__(
        self,
        own: SparkSession,
        root: str,
        account: str,
        admins: Sequence[str],
        ours: Sequence[str],
        creations: Creations,
        graphs: Callable[[], Downstream],
        stage: Callable[[SparkSession, str, Run], Staged | None],
        *,
        enforces: bool = False,
    ) -> None:
        self._stage = stage
        self._graphs = graphs
        self._admins = frozenset(admin.strip() for admin in admins)
        self._governor = Governor(own, account, (f"{root.rstrip('/')}/{name}" for name in (NAME, *ours)))
        self._taken: dict[tuple[str, str], str] = {}
        self._kept: tuple[State, dict[tuple[Any, ...], str]] = (State(), {})
        self._sessions: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._ledger = Ledger(own, root, self._learned)
        self._privileges = Privileges(self._governor, self._ledger, self._held, creations)
        self._governor.learn_grants(State(), (), self._members(State()))
        if enforces:
            self._governor.enforce()

    def install(self, spark: SparkSession, session_id: str, user: str, roles: Sequence[str]) -> None:
        """Have a session obey, on behalf of a user where its threads name no other."""
        self._sessions[session_id] = (user, tuple(roles))
        self._governor.install(spark)
        self._belong(session_id, self._ledger.state())

    def _belong(self, session_id: str, state: State) -> None:
        self._governor.belongs(session_id, self._token(state, session_id, *self._sessions[session_id]))

    def exempt(self, spark: SparkSession) -> None:
        """A session of the system's own reads everything as it is."""
        self._governor.exempt(spark)

    def end(self) -> None:
        """Nothing is enforced any longer."""
        self._governor.end()

    def enter(
        self, session_id: str, user: str, roles: Sequence[str], *, looks: bool = True
    ) -> tuple[State, str]:
        """Somebody is about to run a statement on this thread: the governance now, and their token.

        Args:
            session_id: of their session.
            user: who.
            roles: those that they were given by whoever calls, if any.
            looks: False takes the governance as of the last look: nothing is read yet.
        """
        state = self._ledger.state() if looks else self._ledger.known
        token = self._token(state, session_id, user, roles)
        self._governor.enter(token)
        return state, token

    def attachments(self, relation: Relation, state: State, token: str | None) -> tuple[Attachment, ...]:
        """The policies that were in force on a relation in a state, and what each came to for somebody."""
        if token is None:
            return state.attachments(relation)
        return state.attachments(
            relation,
            lambda policy: self._governor.changes(token, policy, state.policies[policy].policy),
        )

    def attachments_now(self, relation: Relation, token: str | None = None) -> tuple[Attachment, ...]:
        """The same as of now."""
        return self.attachments(relation, self._ledger.state(), token)

    def role(self, session_id: str, user: str, roles: Sequence[str]) -> str:
        """The primary role: the one taken on by USE ROLE, else the first that was given."""
        return self.taken(session_id, user) or (roles[0].upper() if roles else PUBLIC)

    def taken(self, session_id: str, user: str) -> str | None:
        """The role that a user has taken on by USE ROLE in a session."""
        return self._taken.get((session_id, user))

    def _token(self, state: State, session_id: str, user: str, roles: Sequence[str]) -> str:
        """Every statement asks twice: what it has come to in a state is kept until there is another."""
        under, kept = self._kept
        if under is not state:
            under, kept = self._kept = state, {}
        key = session_id, user, tuple(roles)
        found = kept.get(key)
        if found is None:
            taken, held = self.role(session_id, user, roles), self._held(state, user, roles)
            found = kept[key] = self._governor.token(user, taken if taken in held else PUBLIC, held)
        return found

    def _held(self, state: State, user: str, roles: Sequence[str]) -> frozenset[str]:
        """All roles of somebody. Who is given roles by whoever calls has these alone."""
        found = state.roles_of(user, roles)
        return found | {ADMIN} if user in self._admins and not roles else found

    def has_tags(self) -> bool:
        """Whether any tag is set, or was, on anything: else there is nothing to propagate."""
        state = self._ledger.state()
        return any(not state.tags[tag].dropped for tag in state.carriers)

    def propagate(self, spark: SparkSession, written: Iterable[ModifiedObject], by: By) -> list[PolicyError]:
        """Have columns that were written carry the tags of those that they were made of.

        Args:
            spark: the session that knows the targets by their names.
            written: with the sources of each column.
            by: whose statement it was.

        Returns:
            What could not be done; all else is.
        """
        targets: dict[str, list[ModifiedObject]] = {}
        for one in written:
            targets.setdefault(one.name.casefold(), []).append(one)
        problems: list[PolicyError] = []
        for ones in targets.values():
            if wanted(ones, self._ledger.state()):
                problems += self._propagate_to(spark, ones, by)
        return problems

    def _propagate_to(self, spark: SparkSession, ones: Sequence[ModifiedObject], by: By) -> list[PolicyError]:
        from pyspark.errors import PySparkException

        target, reads = ones[0], cache(self._governor.reads)
        if target.domain is Domain.STAGE and target.location is None:
            return []  # a sink that keeps nothing: noop, the console
        problems: list[PolicyError] = []

        def decide(state: State) -> Sequence[Event]:
            nonlocal problems
            events, problems = propagated(wanted(ones, state), found, reads, by, state)
            return events

        try:
            if target.domain is Domain.STAGE:
                found = self._governor.describe(spark, ("delta", target.location or ""))
                found = replace(found, name=(target.name,))
            else:
                found = self._governor.describe(spark, split_name(target.name))
            self._ledger.change(decide)
        except PySparkException as error:
            said = str(error).partition("\n")[0]
            return [BadPolicyError(f"{target.name} carries no tags: {said}", "write to a Delta table")]
        except PolicyError as error:
            return [error]
        return problems

    def way_of(self, statement: Statement) -> Way | None:
        """What runs a statement instead of Spark; None where it is not about governance.

        Each is called with the session, the text as Spark would get it, who runs it, and Spark's own way.
        """
        if statement.statement_type in _FUNCTIONS:
            return partial(self._change_function, statement)
        if statement.changes and statement.statement_type.startswith(_MAKES):
            makes_view = statement.statement_type == "CREATE_VIEW"
            return self._create_view if makes_view else self._create_table
        command = statement.command
        if command is None:
            return None
        if self._governor.enforces and command.source:
            return partial(self._clone, command)
        if self._governor.enforces and command.kind == "ALTER_ACCOUNT":
            return partial(self._as_admin, "parameters of the account")
        return self._way_of(command)

    def _way_of(self, command: Command) -> Way | None:
        if command.shows is not None:
            return partial(self._show, command.shows)
        if command.on:
            return partial(self._grant_rows, command)
        if command.domain in _POLICIES and command.kind.partition("_")[0] in _DEFINING:
            return partial(self._define, command)
        is_about = {change.domain for change in command.changes} & _SET
        if is_about and command.domain in (Domain.TABLE, Domain.VIEW):
            return partial(self._attach, command)
        return self._way_of_rights(command)

    def _way_of_rights(self, command: Command) -> Way | None:
        """The same for roles and privileges."""
        if command.kind == "USE_ROLE":
            return partial(self._use_role, command.target[0])
        if command.domain is Domain.ROLE and command.kind in _ROLES:
            return partial(self._change_role, command)
        if command.kind in GRANTS:
            return partial(self._grant, command)
        if command.kind in _TAGS:
            return partial(self._change_tag, command)
        if command.kind == "SHOW" and command.properties:
            return partial(self._show_grants, command)
        is_about = {change.domain for change in command.changes} & _SET
        return partial(self._tag_schema, command) if is_about and command.domain is Domain.SCHEMA else None

    def _clone(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        """Clones are made past any plan."""
        self._privileges.require_clone(command, spark, by)
        if command.domain is not Domain.SCHEMA:
            return run(spark, text)
        self._governor.making_schema(command.target[-1])
        result = run(spark, text)
        self._governor.making_schema(command.target[-1])
        return result

    def _as_admin(self, what: str, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        self._require_admin(by, what)
        return run(spark, text)

    def _show(self, shows: Shows, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        """Anybody may look."""
        del text, run
        state, here = self._ledger.state(), _here(spark)
        if shows.name:
            return spark.createDataFrame(described(shows, state, here), DESCRIBED)
        schema = schema_of(shows, here)
        if schema is not None:
            _require_schema(spark, schema)
        session_id = jvm.session_id(spark)
        asking = Asking(here, self._held(state, by.user, by.roles), self.role(session_id, by.user, by.roles))
        return spark.createDataFrame(shown(shows, state, asking), SHOWN[shows.domain])

    def _define(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        verb = command.kind.partition("_")[0]
        name = _full(spark, command.target)
        new_name = _full(spark, command.new_name or command.target)
        decide = partial(_DEFINING[verb], command, name, new_name, self._governor, by)
        return self._change(spark, by, decide)

    def _change_role(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        self._require_admin(by, "roles")
        self._ledger.change(partial(_ROLES[command.kind], command, by))
        return _done(spark)

    def _grant(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        self._privileges.change(command, spark, by)
        return _done(spark)

    def _show_grants(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        return self._privileges.show(command, spark, by)

    def require_undrop(self, kind: str, name: Sequence[str], table_id: str | None, by: By) -> None:
        """See `Privileges.require_undrop`."""
        self._privileges.require_undrop(kind, name, table_id, by)

    def _change_tag(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        here, reads = _here(spark), self._governor.reads
        return self._change(spark, by, partial(_TAGS[command.kind], command, here, reads, by))

    def _tag_schema(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        here = _here(spark)
        name = schema_name(command.target, here)
        _require_schema(spark, name)
        on = schema_securable(quote_name(name))
        return self._change(spark, by, partial(schema_tagged, command, here, by), on)

    def _change_function(self, statement: Statement, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        """A function that masks or filters is an administrator's to change."""
        parts = function_named(text)
        state = self._ledger.state()
        name = _full(spark, parts) if parts else ""
        if not protected_by(name, state):
            return run(spark, text)
        self._require_admin(by, f"function {name}, which protects data")
        if statement.statement_type == "DROP_FUNCTION":
            require_unused(name, state)
            return run(spark, text)
        require_same(read_function(text), name, state)
        result = run(spark, text)
        self._ledger.change(partial(changed, self._governor.function(split_name(name)), by))
        return result

    def _use_role(self, role: str, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        if role not in self._held(self._ledger.state(), by.user, by.roles):
            raise AccessDeniedError(
                f"role {role} is not granted to {by.user}", f"GRANT ROLE {role} TO USER {by.user}"
            )
        session_id = jvm.session_id(spark)
        self._taken[session_id, by.user] = role
        self._kept = State(), {}
        if session_id in self._sessions:
            self._belong(session_id, self._ledger.state())
        return _done(spark)

    def _attach(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        found = self._governor.describe(spark, command.target)
        here = _here(spark)
        decide = partial(changes_of, command, found, here, self._governor, by)
        return self._change(spark, by, decide, self._privileges.of(found))

    def _creating(self, spark: SparkSession, changes: tuple[Change, ...], by: By) -> Creating:
        return Creating(self._governor, self._ledger, _here(spark), changes, by)

    def _create_table(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        """A CREATE TABLE that sets policies or tags."""
        self._require_admin(by, "policies or roles")
        plain, changes = unprotected(text)
        staged = self._stage(spark, plain, run)
        return jvm.said(spark) if staged is None else self._creating(spark, changes, by).table(staged, spark)

    def _create_view(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        """A CREATE VIEW that sets policies or tags."""
        self._require_admin(by, "policies or roles")
        plain, changes = unprotected(text)
        defines = self._governor.defines(spark, plain)
        view = None if defines is None else defines.view
        if defines is None or view is None or view.name[0] != _CATALOG:
            raise BadPolicyError(
                "policies cannot be set with a view that is temporary, or whose name is not written out",
                f"make it a view of {_CATALOG}",
            )
        _require_schema(spark, view.name[:-1])
        known_as = partial(self._governor.known, spark, view.name)
        if known_as() and defines.if_not_exists:
            return jvm.said(spark)
        if known_as() and not defines.replaces:
            raise PolicyExistsError(f"{quote_name(view.name)} is there already", "CREATE OR REPLACE VIEW")

        def make() -> Any:
            made = run(spark, plain)
            if self._governor.describe(spark, view.name).key != view.key:
                spark.sql(f"DROP VIEW {sql_name(view.name)}")
                raise BadPolicyError(
                    f"view {quote_name(view.name)} is known by another name when it is read",
                    "choose a name of letters and digits",
                )
            return made

        return self._creating(spark, changes, by).view(view, make, known_as)

    def _grant_rows(self, command: Command, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        found = self._governor.describe(spark, command.on)
        decide = partial(rows_granted, command, found, self._governor, by)
        return self._change(spark, by, decide, self._privileges.of(found))

    def _change(self, spark: SparkSession, by: By, decide: Decide, target: Securable | None = None) -> Any:
        """Change the governance, as far as whoever does may; `target` is what policies or tags are put on."""

        def permitted(state: State) -> Sequence[Event]:
            events = decide(state)
            self._privileges.permits(by, state, lambda: target or ACCOUNT).require(events)
            return events

        self._ledger.change(permitted)
        return _done(spark)

    def leaks(self, spark: SparkSession) -> list[Leak]:
        """See `policies.leaks`."""

        def types(name: str) -> Mapping[str, str]:
            if not spark.catalog.tableExists(sql_name(split_name(name))):
                return {}
            return dict(spark.table(sql_name(split_name(name))).dtypes)

        return leaks_of(self._ledger.state(), self._graphs(), types)

    def references(self) -> list[Reference]:
        """See `policies.references`."""
        return references_of(self._ledger.state())

    @property
    def governor(self) -> Governor:
        """What enforces."""
        return self._governor

    def _require_admin(self, by: By, what: str) -> None:
        if ADMIN not in self._held(self._ledger.state(), by.user, by.roles):
            raise AccessDeniedError(
                f"{by.user} may not change {what}",
                f"an administrator may (configuration `admins`), or who is granted role {ADMIN}",
            )

    def require_stream(self, spark: SparkSession, frame: Any) -> None:
        """See `Governor.require_stream`."""
        self._governor.require_stream(spark, frame)

    def copy(self, source_id: str, clone_id: str, by: By, *, is_past: bool) -> None:
        """A Delta table is about to be cloned, and the clone is protected as it is; by Delta's own ids.

        Raises:
            AccessDeniedError: it is cloned as it was, and whoever runs this may not see its past.
            PolicyExistsError: the clone replaces a table that other policies protect.
        """
        self._governor.making(clone_id)
        if is_past:
            self._governor.require_past(source_id)
        home = self._governor.schema_of(source_id)
        self._ledger.change(partial(copied, source_id, clone_id, by, home=home))

    def _learned(self, state: State, events: Sequence[Event]) -> None:
        """Tell the JVM what has changed."""
        about = {event.of_id or event.event_id for event in events}
        gone = {event.of_id or "" for event in events if event.event == "DROP_POLICY"}
        policies = {identity for identity in about if identity in state.policies} | gone
        objects = {event.object_key for event in events if event.object_key in state.objects}
        changed = {event.of_id or "" for event in events if "policies" in event.details}
        objects.update(key for tag in changed for key in state.carriers.get(tag, ()))
        self._governor.learn(state, policies, objects)
        asked = (state.policies[identity].policy.body.lower() for identity in policies - gone)
        if any("invoker_role" in body for body in asked):
            self._governor.note()
        of_roles = any("ROLE" in event.event for event in events)
        rights = {event.object_key or "" for event in events if event.event in _RIGHTS}
        if any(event.event == "DROP_ROLE" for event in events):
            rights |= {*state.grants.given, *state.grants.owners}
        if rights or of_roles:
            self._governor.learn_grants(state, rights, self._members(state) if of_roles else None)
        if of_roles:
            for session_id in list(self._sessions):
                self._belong(session_id, state)

    def _members(self, state: State) -> dict[Holder, list[Holder]]:
        """Who holds which roles: what they own runs with these."""
        found = {Holder("ROLE", name): state.held_by(Holder("ROLE", name)) for name in (*state.roles, ADMIN)}
        for user in {*state.granted, *self._admins}:
            held = [Holder("ROLE", ADMIN)] if user in self._admins else []
            found[Holder("USER", user)] = [*state.held_by(Holder("USER", user)), *held]
        return found

    def settle(self, spark: SparkSession, by: By, *, done: bool) -> None:
        """What the statement that this thread has run has made is owned by who ran it, or their role.

        Args:
            spark: the session that ran it.
            by: who ran it.
            done: it has not failed; else what it was to replace is still what it was.
        """
        if not self._governor.notes:
            return
        made = [one for one in self._governor.made(spark) if done or not one.replaced]
        if not made:
            return
        role = self.role(jvm.session_id(spark), by.user, by.roles)
        owner = Holder("USER", by.user) if role == PUBLIC else Holder("ROLE", role)
        said = {"to": owner.kind, "grantee": owner.name}
        events = [
            Event(
                by.time, "CREATE_OBJECT", by.new_id(), None, one.key, one.name, by.user, None, by.query_id,
                {**said, "domain": one.domain.value},
            )
            for one in made
        ]  # fmt: skip
        self._ledger.change(lambda _state: events)


def _require_schema(spark: SparkSession, name: Sequence[str]) -> None:
    if not spark.catalog.databaseExists(sql_name(name)):
        raise UnknownPolicyError(f"there is no schema {quote_name(name)}", "SHOW SCHEMAS lists them")


def _done(spark: SparkSession) -> Any:
    return jvm.said(spark, "Statement executed successfully.")


def _here(spark: SparkSession) -> tuple[str, str]:
    catalog = spark.catalog.currentCatalog()
    return catalog, spark.catalog.currentDatabase()


def _full(spark: SparkSession, name: Sequence[str]) -> str:
    return quote_name(qualify(name, _here(spark)))
