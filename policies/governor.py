"""The JVM's side of enforcement: what is protected is told to `Governor.java`, which every plan passes.

In: states, identities, sessions. Out: nothing; Spark obeys from then on.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from audit import jvm
from lineage.model import Column, Domain, Function, Policy
from lineage.names import quote_name, split_name, sql_name
from lineage.object_ids import column_id, object_id
from policies.errors import AccessDeniedError, BadPolicyError, UnknownPolicyError
from policies.state import Protected, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from policies.privileges import Holder

_IDENTITY = "spark.audit.identity"
_BESIDE = (
    "Walk",
    "Hidden",
    "Files",
    "Commands",
    "Targets",
    "Rights",
    "Grants",
    "Changes",
    "Bodies",
    "Questions",
    "Expressions",
    "Relations",
)
_DOMAINS = {
    "table": Domain.TABLE, "view": Domain.VIEW, "schema": Domain.SCHEMA, "function": Domain.FUNCTION,
}  # fmt: skip
_SQL_FUNCTION = "sqlFunction."
"""SQLFunction.SQL_FUNCTION_PREFIX in Spark 4.2."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a name stands for.

    Attributes:
        key: `delta:<table id>` or `name:<name in lower case>`; None for what nothing can protect.
        is_view: a view.
        name: its parts, in full.
        object_id: the objectId of records.
        columns: by name in lower case: name, key that a rename keeps, columnId, type.
        partitions: names of the columns that part its files, in lower case.
        generated: what generates a column, by its name.
    """

    key: str | None
    is_view: bool
    name: tuple[str, ...]
    object_id: int
    columns: dict[str, tuple[str, str, int, str]]
    partitions: frozenset[str] = frozenset()
    generated: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """What a statement has made.

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
class Defines:
    """A view that a CREATE VIEW defines; whether that leaves one alone that is there, or replaces it."""

    view: Found
    if_not_exists: bool
    replaces: bool


class Governor:
    """What enforces, in one JVM.

    Args:
        session: a session of the system's own, in which the bodies of policies are resolved.
        account: what current_account() says.
        ours: folders that nobody but the system writes to.
    """

    def __init__(self, session: SparkSession, account: str, ours: Iterable[str]) -> None:
        self._java: Any = jvm.compiled(jvm.view(session.sparkContext), "policies", "Governor", *_BESIDE)
        self._java.begin(session._jsparkSession, jvm.SECRET, "\n".join(ours))
        self._context = session.sparkContext
        self._session = session
        self._account = account
        self._tokens: dict[tuple[str, str | None, frozenset[str]], str] = {}
        self._changes: dict[tuple[str, Policy], bool | None] = {}
        self._thread = threading.local()
        self.enforces = self.notes = False

    def install(self, spark: SparkSession) -> None:
        """Have a session obey, and those that come from it."""
        self._java.install(spark._jsparkSession)

    def belongs(self, session_id: str, token: str) -> None:
        """Say who runs what the threads of a session do not claim for somebody else."""
        self._java.belongs(session_id, token)

    def anew(self, dataset: Any) -> Any:
        """The same query as another Dataset of the JVM, which nothing has planned yet."""
        return self._java.anew(dataset)

    @property
    def seconds(self) -> float:
        """How long plans have waited so far to be put behind their policies."""
        nanoseconds: int = self._java.nanoseconds()
        return nanoseconds / 1e9

    def exempt(self, spark: SparkSession) -> None:
        """A session of the system's own, and its clones, read everything as it is."""
        self._java.exempt(spark._jsparkSession)

    def require_stream(self, spark: SparkSession, frame: Any) -> None:
        """Refuse to start a stream over what policies hide from whoever starts it.

        Raises:
            AccessDeniedError: they do.
        """
        with refusals():
            self._java.checkStream(spark._jsparkSession, frame._jdf.queryExecution().analyzed())

    def require_history(self, spark: SparkSession, location: str) -> None:
        """Refuse the history of a Delta table to who may not see it.

        Raises:
            AccessDeniedError: it has, or had, a row access policy, and this is no administrator.
        """
        with refusals():
            self._java.checkHistory(spark._jsparkSession, location)

    def require_past(self, table_id: str) -> None:
        """Refuse what a Delta table (by Delta's id) held before to whoever runs this thread.

        Raises:
            AccessDeniedError: it has, or had, a row access policy, and this is no administrator.
        """
        with refusals():
            self._java.checkPast(table_id)

    def schema_of(self, table_id: str) -> str:
        """The key of the schema whose tags protect a Delta table, by Delta's id; "" for none."""
        found: str = self._java.schemaOf(table_id)
        return found

    def require_sink(self, spark: SparkSession, writer: Any, path: str | None, table: str | None) -> None:
        """Refuse a stream into a table of the audit's own.

        Raises:
            AccessDeniedError: it is one.
        """
        with refusals():
            self._java.checkSink(spark._jsparkSession, writer._jwrite, path, table)

    def require_no_files(self, spark: SparkSession, place: str) -> None:
        """Refuse the files of a protected table, which Spark might read for their schema alone.

        Raises:
            AccessDeniedError: they are some.
        """
        with refusals():
            self._java.checkFiles(spark._jsparkSession, place)

    def require_all_shown(self, spark: SparkSession, frame: Any, what: str) -> None:
        """Refuse what tells of the whole tables of a DataFrame where policies hide something of them.

        Raises:
            AccessDeniedError: they do.
        """
        with refusals():
            analyzed = frame._jdf.queryExecution().analyzed()
            self._java.requireAllShown(spark._jsparkSession, analyzed, what)

    def end(self) -> None:
        """Have nobody obey any longer."""
        self._java.end()

    def token(self, user: str, role: str | None, roles: frozenset[str]) -> str:
        """What stands for somebody; nobody can guess it."""
        key = (user, role, roles)
        found = self._tokens.get(key)
        if found is None:
            found = self._tokens[key] = secrets.token_hex(16)
            said = {
                "user": user,
                "role": role,
                "roles": sorted(roles),
                "holders": [f"USER {user}", *(f"ROLE {one}" for one in sorted(roles))],
                "account": self._account,
            }
            self._java.know(found, json.dumps(said))
        return found

    def enter(self, token: str) -> None:
        """What this thread runs from now on, somebody runs."""
        if getattr(self._thread, "token", None) != token:
            self._context.setLocalProperty(_IDENTITY, token)
            self._thread.token = token

    def enforce(self) -> None:
        """Have every statement ask for its privileges."""
        self._java.enforce()
        self.enforces = self.notes = True

    def note(self) -> None:
        """Have who makes something noted: bodies of policies ask for it."""
        self._java.note()
        self.notes = True

    def learn_grants(
        self, state: State, objects: Iterable[str], members: Mapping[Holder, Sequence[Holder]] | None
    ) -> None:
        """Take over changed privileges: objects by key; the members of all roles, None for no change."""
        keys = list(objects)
        known = (
            None
            if members is None
            else {one.text: [each.text for each in held] for one, held in members.items()}
        )
        said = {
            "grants": {key: _privileges(state, key) for key in keys},
            "owners": {key: _owner(state, key) for key in keys},
            "members": known,
        }
        self._java.learnGrants(json.dumps(said))

    def making(self, table_id: str) -> None:
        """What this thread runs makes a Delta table, by Delta's id."""
        with refusals():
            self._java.making(table_id)

    def making_schema(self, name: str) -> None:
        """What this thread runs makes a schema, with all that it holds by now."""
        self._java.makingSchema(name)

    def made(self, spark: SparkSession) -> list[Made]:
        """What the statement that this thread has just run has made."""
        made = json.loads(self._java.made(spark._jsparkSession))
        return [Made(_DOMAINS[noun], *rest) for noun, *rest in made]

    def learn(self, state: State, policies: Iterable[str], objects: Iterable[str]) -> None:
        """Take over what has changed: policies by id, objects by key."""
        defined = {identity: state.policies.get(identity) for identity in policies}
        protected = {key: state.objects.get(key) for key in objects}
        said = {
            "policies": {key: one and _policy(one.policy) for key, one in defined.items()},
            "tables": {key: one and _protection(one, state) for key, one in protected.items()},
        }
        self._java.learn(json.dumps(said))

    def check(self, policy: Policy) -> None:
        """Resolve the body of a policy as it will be.

        Raises:
            BadPolicyError: it cannot be.
        """
        with _refusals():
            self._java.check(json.dumps(_policy(policy)))

    def changes(self, token: str, identity: str, policy: Policy) -> bool | None:
        """Whether a policy could change what somebody sees: False where it shows the value, or every row.

        Args:
            token: of who asks.
            identity: the policy's id.
            policy: as it was when they asked. Its text is what is asked, whatever it says today.

        Returns:
            None where nobody can tell: the body cannot be resolved any longer.
        """
        key = (token, policy)
        if key not in self._changes:
            is_mask = policy.domain is Domain.MASKING_POLICY
            with suppress(BadPolicyError), _refusals():
                said = json.dumps(_policy(policy))
                self._changes[key] = self._java.changes(token, identity, said, is_mask)
        return self._changes.get(key)

    def reads(self, policy: Policy) -> frozenset[str]:
        """The keys of the tables and views that the body of a policy reads.

        `subquery:` is among them where it has one, `function:<name>` for what it calls of SQL's functions.
        """
        return frozenset(self._java.reads(json.dumps(_policy(policy))).split("\n")) - {""}

    def function(self, parts: Sequence[str]) -> Function:
        """A SQL function of Spark's catalog, by its full name.

        Raises:
            UnknownPolicyError: there is none.
            BadPolicyError: it is no expression in SQL.
        """
        name = quote_name(parts)
        catalog = self._session._jsparkSession.sessionState().catalog()
        identifier = jvm.function_identifier(self._session, parts)
        if not catalog.isPersistentFunction(identifier):
            raise UnknownPolicyError(f"there is no function {name}", "create it first: CREATE FUNCTION")
        metadata = catalog.getFunctionMetadata(identifier)
        if metadata.className().startswith(_SQL_FUNCTION):
            found = jvm.sql_function(self._session, metadata)
            body, declared = jvm.option(found.exprText()), jvm.option(found.inputParam())
            if body is not None and not found.isTableFunc():
                fields = () if declared is None else declared.fields()
                parameters = tuple(Column(field.name(), field.dataType().sql()) for field in fields)
                returns = found.returnType().value().sql()
                return Function(name, parameters=parameters, data_type=returns, body=body)
        raise BadPolicyError(
            f"function {name} is no expression in SQL", "CREATE FUNCTION … RETURNS type RETURN expression"
        )

    def defines(self, spark: SparkSession, text: str) -> Defines | None:
        """What a CREATE VIEW defines, which need not be there; None where it is none of the catalog's.

        Raises:
            AccessDeniedError: its list of columns is none of its query's.
        """
        with refusals():
            said = json.loads(self._java.defines(spark._jsparkSession, text))
        return None if said is None else Defines(_found(said), said["ifNotExists"], said["replaces"])

    def known(self, spark: SparkSession, name: Sequence[str]) -> str:
        """All that the catalog knows of a table or view by its full name; "" for none."""
        found: str = self._java.known(spark._jsparkSession, name[-2], name[-1])
        return found

    def describe(self, spark: SparkSession, parts: Sequence[str]) -> Found:
        """What a name stands for; raises Spark's own error where it stands for nothing."""
        said = json.loads(self._java.describe(spark._jsparkSession, sql_name(parts)))
        return _found(said)


@contextmanager
def _refusals() -> Iterator[None]:
    """What the JVM says of a body, as an error of ours."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    way_out = "try the expression in a SELECT over columns of those names and types"
    try:
        yield
    except PySparkException as error:
        raise BadPolicyError(str(error).strip().split("\n")[0], way_out) from error
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != "java.lang.SecurityException":
            raise
        raise BadPolicyError(error.java_exception.getMessage(), way_out) from error


@contextmanager
def refusals() -> Iterator[None]:
    """What the JVM's side refuses is an error of ours."""
    try:
        yield
    except Exception as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        raise refusal from error


def refusal_of(error: BaseException) -> AccessDeniedError | None:
    """The refusal of the JVM's side that an error carries; None for any other error."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        if java.getClass().getName() == "java.lang.SecurityException":
            problem, _, way_out = str(java.getMessage()).partition("; ")
            return AccessDeniedError(problem, way_out or "ask whoever owns the policy")
        java = java.getCause()
    return None


def _owner(state: State, key: str) -> str | None:
    owned = state.grants.owners.get(key)
    return None if owned is None else owned.holder.text


def _privileges(state: State, key: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for holder, privilege in state.grants.given.get(key, {}):
        found.setdefault(holder.text, []).append(privilege)
    return found


def _found(said: Mapping[str, Any]) -> Found:
    key, name = said["key"], tuple(said["name"])
    kind, _, rest = (key or "name:").partition(":")
    identity = object_id("TABLE" if kind == "delta" or not said["isView"] else "VIEW", rest)
    columns = {
        column.lower(): (column, key_of, column_id(identity, mapped or column), type_text)
        for column, key_of, mapped, type_text in said["columns"]
    }
    parted, generated = frozenset(said["partitions"]), said["generated"]
    return Found(key, said["isView"], name, identity, columns, parted, generated)


def _policy(policy: Policy) -> dict[str, Any]:
    parts = split_name(policy.name)
    schema = parts[1] if len(parts) > 2 else ""  # noqa: PLR2004 - catalog, schema, name
    parameters = [[column.name, column.type] for column in policy.parameters]
    return {
        "name": policy.name,
        "body": policy.body,
        "schema": schema,
        "parameters": parameters,
        "returns": policy.data_type,
    }


def _protection(protected: Protected, state: State) -> dict[str, Any] | None:
    """What the JVM learns of an object, by its key; None where nothing protects it.

    An object of a key `delta:<table id>` or `name:<name in lower case>` is told as

        {"name": "c.s.t", "hadRows": false,
         "rows": [[["<policy>", ["<column>", …]], …], …],
         "masks": {"<column>": ["<policy>", ["<column>", …]], …},
         "sealed": false, "tagged": {"<kind of type>": "<policy>", …}}

    Policies go by their ids, columns by their keys. Of each inner list of `rows` one policy has to let a row
    through. `masks` has what is set on columns, and what comes to them through tags of theirs, or of the
    object, as far as its columns were known when it was tagged. `tagged` is what the object's own tags come
    to: a column without an entry in `masks`, whose type is of the kind, is behind the policy, whose one
    parameter the column stands for. The kind of a type is `DataType.sql()` in lower case without spaces,
    and "decimal" for every DECIMAL(p,s); see `policies.types.kind_of`.

    A schema is told under the key `schema:<catalog>.<schema>` (lower case, a part in back-ticks only where
    it holds a dot or a back-tick), with its name, no `rows` and no `masks`, and its `tagged`: that goes for
    the columns of its tables and views for which `masks` and the `tagged` of their own say nothing.
    """
    masks, tagged = state.masks(protected), state.tagged_kinds(protected)
    if not masks and not tagged and not protected.had_rows and not protected.sealed:
        return None
    rows = [[[use.policy, use.columns]] for use in protected.rows.values()]
    if protected.grants:
        rows.append([[use.policy, use.columns] for use in protected.grants.values()])
    return {
        "name": protected.name,
        "isView": protected.domain is Domain.VIEW,
        "hadRows": protected.had_rows,
        "names": {key: name for key, (name, _) in protected.columns.items()},
        "rows": rows,
        "masks": {key: [use.policy, use.columns] for key, use in masks.items()},
        "tagged": dict(tagged),
        "sealed": protected.sealed,
    }
