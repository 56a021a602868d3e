"""The values that lineage works on: what a catalog answers, and what an analysis returns.

In: nothing. Out: frozen dataclasses used on the whole way of a statement; `to_dict` gives the JSON
shapes of the access-history document (field names, nesting and omission of empty fields alike).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import sha256
from typing import Any, Literal

from lineage.transformation import Transformation

Json = dict[str, Any]
Analysis = Literal["full", "partial", "opaque"]


class Domain(str, Enum):
    """Object domains, spelled as the access-history document's examples spell them."""

    # The examples write this domain in mixed case, all others in capitals.
    TABLE = "Table"
    VIEW = "VIEW"
    EXTERNAL_TABLE = "EXTERNAL TABLE"
    MATERIALIZED_VIEW = "MATERIALIZED VIEW"
    STAGE = "STAGE"
    STREAM = "STREAM"
    FUNCTION = "FUNCTION"
    PROCEDURE = "PROCEDURE"
    # A database is a schema of Spark's, so the document's domain Database does not occur.
    SCHEMA = "SCHEMA"
    COLUMN = "COLUMN"
    MASKING_POLICY = "MASKING POLICY"
    ROW_ACCESS_POLICY = "ROW ACCESS POLICY"
    TAG = "TAG"
    ROLE = "ROLE"
    BACKUP_POLICY = "BACKUP POLICY"
    BACKUP_SET = "BACKUP SET"
    ACCOUNT = "ACCOUNT"


CODE = frozenset({Domain.FUNCTION, Domain.PROCEDURE})
"""The domains of functions and procedures, which are called and not read."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a catalog's relation; `column_id` is a 63-bit integer, None if unknown."""

    name: str
    type: str = ""
    column_id: int | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, view or location that a name resolved to.

    `name` is fully qualified (`catalog.schema.object`, parts with dots quoted by back-ticks); for a
    location without a registered table it is the location's URL and `domain` is STAGE.
    `view_text` is the SQL of a view, to be resolved with `view_current` as current (catalog,
    schema). A view over a DataFrame (no text) carries `view_access` instead: its outputs, already
    traced. `temporary` marks temp views, which are never objects of a record: they are opened.
    `system` marks what the audit itself offers (its tables, account usage views): never recorded.
    """

    name: str
    domain: Domain = Domain.TABLE
    object_id: int | None = None
    columns: tuple[Column, ...] = ()
    view_text: str | None = None
    view_current: tuple[str, str] | None = None
    view_access: Access | None = None
    temporary: bool = False
    location: str | None = None
    version: int | None = None
    # `cached_property` needs a `__dict__`, which a class with slots does not have.
    _memo: dict[str, dict[str, Column]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def index(self) -> dict[str, Column]:
        """The columns by lower-case name; cached, since a catalog returns the same value many times."""
        found = self._memo.get("index")
        if found is None:
            found = self._memo["index"] = {column.name.lower(): column for column in self.columns}
        return found

    system: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A user-defined function: `body` is the SQL of a SQL function, None for any other language.

    Names in the body are resolved in the current schema of whoever calls it, as Spark 4.2 does. `is_declared`
    says that its parameters are known: Spark knows none of a function of Python's or Scala's.
    """

    name: str
    object_id: int | None = None
    parameters: tuple[Column, ...] = ()
    data_type: str = ""
    body: str | None = None
    is_table: bool = False
    domain: Domain = Domain.FUNCTION
    is_declared: bool = True

    @property
    def argument_signature(self) -> str | None:
        """`(NUM1 NUMBER, NUM2 NUMBER)`, as the access-history document writes it; None if nobody knows it."""
        if not self.is_declared:
            return None
        return "(" + ", ".join(f"{p.name} {p.type}".strip() for p in self.parameters) + ")"


@dataclass(frozen=True, slots=True)
class Policy:
    """A masking or row access policy: `body` is a SQL expression over its parameters.

    `name` is fully qualified; names in `body` are resolved in the policy's own schema.
    """

    name: str
    domain: Domain
    body: str
    parameters: tuple[Column, ...] = ()
    policy_id: int | None = None
    data_type: str = ""

    @property
    def kind(self) -> str:
        """`MASKING_POLICY` or `ROW_ACCESS_POLICY`, the document's policyKind."""
        return self.domain.value.replace(" ", "_")

    @property
    def argument_signature(self) -> str:
        """`(VAL STRING, REGION STRING)`."""
        return "(" + ", ".join(f"{p.name} {p.type}".strip() for p in self.parameters) + ")"

    @property
    def version(self) -> str | None:
        """SHA-256, hex, of the definition `(VAL STRING) RETURNS STRING -> body`; None where no body is known.

        Parameters and the type that is returned are part of it: with others the same body says something
        else. The name is none, since a policy of another name is the same rule. So is what the body calls or
        reads, which it does not hold. DESCRIBE shows the parts, so that SQL works it out, too:
        `sha2(concat(signature, ' RETURNS ', return_type, ' -> ', body), 256)`.

        >>> one = Policy("c.s.m", Domain.MASKING_POLICY, "'*'", (Column("val", "STRING"),), None, "STRING")
        >>> one.version == sha256(b"(val STRING) RETURNS STRING -> '*'").hexdigest()
        True
        """
        if not self.body:
            return None
        text = f"{self.argument_signature} RETURNS {self.data_type} -> {self.body}"
        return sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Attachment:
    """A policy that protects a relation, and the columns that stand for its parameters, in order.

    The first column of a masking policy is the one that it masks, the others are those of USING. A
    policy that came through a tag is an attachment like any other: the record holds no tag. `changes` says
    whether it could change what the statement's user sees: a mask a value, a row access policy the rows.
    It is None where nobody can tell.
    """

    policy: Policy
    columns: tuple[str, ...]
    changes: bool | None = None


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A source column. `field_path` names the field inside a struct, `()` for the whole column."""

    object_name: str
    column_name: str
    object_domain: Domain = Domain.TABLE
    object_id: int | None = None
    column_id: int | None = None
    field_path: tuple[str, ...] = ()

    def to_dict(self) -> Json:
        """The shape of an entry of baseSources and directSources."""
        return _trim(
            {
                # The document has no key for a field of a struct, so the field stands behind its column.
                "columnName": ".".join((self.column_name, *self.field_path)),
                "columnId": self.column_id,
                "objectDomain": self.object_domain.value,
                "objectId": self.object_id,
                "objectName": self.object_name,
            }
        )


@dataclass(frozen=True, slots=True)
class AccessedObject:
    """An entry of direct_objects_accessed or base_objects_accessed."""

    name: str
    domain: Domain
    object_id: int | None = None
    columns: tuple[Column, ...] = ()
    location: str | None = None
    stage_kind: str | None = None
    argument_signature: str | None = None
    data_type: str | None = None
    version: int | None = None

    def to_dict(self) -> Json:
        """The shape of an entry of direct_objects_accessed."""
        return _trim(
            {
                # `version` is no key of the document: it goes to object_versions, a column of access_history.
                "columns": [_trim({"columnId": c.column_id, "columnName": c.name}) for c in self.columns],
                "objectDomain": self.domain.value,
                "objectId": self.object_id,
                "objectName": self.name,
                "location": self.location,
                "stageKind": self.stage_kind,
                "argumentSignature": self.argument_signature,
                "dataType": self.data_type,
            }
        )


def each_once(objects: Sequence[AccessedObject]) -> tuple[AccessedObject, ...]:
    """Each object once, with the columns of all its entries: two versions of a table are one object.

    >>> table = AccessedObject("c.s.t", Domain.TABLE, columns=(Column("a", "int"),), version=1)
    >>> older = replace(table, columns=(Column("a", "int"), Column("b", "int")), version=0)
    >>> [(one.name, [column.name for column in one.columns]) for one in each_once((table, older))]
    [('c.s.t', ['a', 'b'])]
    """
    found: dict[tuple[str, Domain], AccessedObject] = {}
    for one in objects:
        before = found.setdefault((one.name, one.domain), one)
        if before is not one:
            # A column that was dropped and added again has another id.
            columns = {(column.name, column.column_id): column for column in (*before.columns, *one.columns)}
            found[one.name, one.domain] = replace(before, columns=tuple(columns.values()))
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class ModifiedColumn:
    """A written column with the columns that its values came from, and the functions that made them.

    `direct_functions` are those that the statement calls, `base_functions` those that are no SQL.
    Transformations and indirect sources are lineage beyond the document's record: what is done to the
    sources on the way, and what shaped this column alone (window keys, the filters of a scalar subquery).
    `type` is known where the value is a column as it is.
    """

    name: str
    column_id: int | None = None
    base_sources: tuple[ColumnRef, ...] = ()
    direct_sources: tuple[ColumnRef, ...] = ()
    base_transformation: Transformation = "IDENTITY"
    direct_transformation: Transformation = "IDENTITY"
    base_indirect: tuple[ColumnRef, ...] = ()
    direct_indirect: tuple[ColumnRef, ...] = ()
    base_functions: tuple[AccessedObject, ...] = ()
    direct_functions: tuple[AccessedObject, ...] = ()
    type: str = field(default="", compare=False)

    def to_dict(self) -> Json:
        """The shape of an entry of objects_modified[].columns; functions stand behind the columns."""
        return _trim(
            {
                "columnId": self.column_id,
                "columnName": self.name,
                "baseSources": _dicts(self.base_sources, self.base_functions),
                "directSources": _dicts(self.direct_sources, self.direct_functions),
            },
            # An empty list says that the value comes from no column: a constant, or a mask that shows one.
            keep=("baseSources", "directSources"),
        )


@dataclass(frozen=True, slots=True)
class ModifiedObject:
    """An entry of objects_modified.

    `base_indirect` and `direct_indirect` (filters, join, group and sort keys) shaped every column.
    `overwrites` says that nothing stays of what was in the object. Neither is part of the record.
    """

    name: str
    domain: Domain
    object_id: int | None = None
    columns: tuple[ModifiedColumn, ...] = ()
    location: str | None = None
    stage_kind: str | None = None
    base_indirect: tuple[ColumnRef, ...] = ()
    direct_indirect: tuple[ColumnRef, ...] = ()
    overwrites: bool = False

    def to_dict(self) -> Json:
        """The shape of an entry of objects_modified."""
        return _trim(
            {
                "columns": [c.to_dict() for c in self.columns],
                "objectDomain": self.domain.value,
                "objectId": self.object_id,
                "objectName": self.name,
                "location": self.location,
                "stageKind": self.stage_kind,
            }
        )


@dataclass(frozen=True, slots=True)
class ObjectDdl:
    """object_modified_by_ddl: one DDL operation; `properties` is free-form JSON."""

    name: str
    domain: Domain
    operation_type: Literal["ALTER", "CREATE", "DROP", "REPLACE", "UNDROP"]
    object_id: int | None = None
    properties: Json = field(default_factory=dict)

    def to_dict(self) -> Json:
        """The shape of object_modified_by_ddl."""
        return _trim(
            {
                "objectDomain": self.domain.value,
                "objectId": self.object_id,
                "objectName": self.name,
                "operationType": self.operation_type,
                "properties": self.properties,
            },
            # DROP and UNDROP have no properties (Usage Notes: object_modified_by_ddl); the key stays, empty.
            keep=("properties",),
        )


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """An output column of a query, with the columns that its values and its rows came from.

    `indirect_sources` are the filters, join keys, group keys, sort keys and window keys that shaped
    it; they are never among the other two. `type` is known where the column is another as it is.
    """

    name: str
    base_sources: tuple[ColumnRef, ...] = ()
    direct_sources: tuple[ColumnRef, ...] = ()
    indirect_sources: tuple[ColumnRef, ...] = ()
    base_transformation: Transformation = "IDENTITY"
    direct_transformation: Transformation = "IDENTITY"
    type: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """A view that a statement defines: its columns with their sources, and what its query reads.

    Defining a view reads and writes no data, so none of it is part of the record; lineage through the
    view is.
    """

    view: ModifiedObject
    direct_objects: tuple[AccessedObject, ...] = ()
    base_objects: tuple[AccessedObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """What one statement accessed and changed: the lineage half of an ACCESS_HISTORY record.

    `also` holds further records of the same statement: the other half of a SWAP.
    """

    statement_type: str
    direct_objects_accessed: tuple[AccessedObject, ...] = ()
    base_objects_accessed: tuple[AccessedObject, ...] = ()
    objects_modified: tuple[ModifiedObject, ...] = ()
    object_modified_by_ddl: ObjectDdl | None = None
    policies_referenced: tuple[Json, ...] = ()
    columns: tuple[OutputColumn, ...] = ()
    analysis: Analysis = "full"
    reason: str | None = None
    also: tuple[Access, ...] = ()
    defines: ViewDefinition | None = None

    def to_dict(self) -> Json:
        """The JSON of the access-history document (the five audit columns)."""
        ddl = self.object_modified_by_ddl
        return {
            "direct_objects_accessed": [o.to_dict() for o in each_once(self.direct_objects_accessed)],
            "base_objects_accessed": [o.to_dict() for o in each_once(self.base_objects_accessed)],
            "objects_modified": [o.to_dict() for o in self.objects_modified],
            "object_modified_by_ddl": ddl.to_dict() if ddl else None,
            "policies_referenced": list(self.policies_referenced),
        }


def _dicts(columns: Iterable[ColumnRef], functions: Iterable[AccessedObject]) -> list[Json]:
    return [*(column.to_dict() for column in columns), *(function.to_dict() for function in functions)]


def _trim(value: Json, keep: tuple[str, ...] = ()) -> Json:
    """Leave out what is empty, as the document does, but for the fields in `keep`."""
    return {k: v for k, v in value.items() if k in keep or v not in (None, [], "")}
