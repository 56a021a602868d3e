"""DDL commands of a plan into `object_modified_by_ddl`.

In: a command's node and the target that the facts name. Out: an `Access` with the DDL operation;
for a view also what its query reads. IF [NOT] EXISTS that did nothing gives none ("The
object_modified_by_ddl column only records CREATE or REPLACE when creating or modifying an object").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from lineage.model import (
    Access,
    AccessedObject,
    Column,
    ColumnRef,
    Domain,
    Json,
    ModifiedColumn,
    ModifiedObject,
    ObjectDdl,
    Relation,
    ViewDefinition,
)
from lineage.plan.commands import WriteResult, owners_of, plan_in
from lineage.plan.facts import Leaf, Target
from lineage.plan.reader import PlanReader
from lineage.plan.scope import OperatorOutput
from lineage.plan.tree import Node, Tree, kind
from lineage.plan.written import modified_object

Operation = Literal["ALTER", "CREATE", "DROP", "REPLACE", "UNDROP"]
Query = Callable[[PlanReader, OperatorOutput, str], Access]


class Definition(NamedTuple):
    """How a command is recorded; a domain of None is the target's own."""

    statement_type: str
    operation: Operation | None
    domain: Domain | None = None


_ALTER = Definition("ALTER_TABLE", "ALTER")
_DEFINITIONS: dict[str, Definition] = {
    **dict.fromkeys(
        ("CreateTable", "CreateDataSourceTableCommand", "CreateTableCommand"),
        Definition("CREATE_TABLE", "CREATE", Domain.TABLE),
    ),
    **dict.fromkeys(
        ("CreateTableLike", "CreateTableLikeCommand"), Definition("CREATE_TABLE", "CREATE", Domain.TABLE)
    ),
    "ReplaceTable": Definition("CREATE_TABLE", "REPLACE", Domain.TABLE),
    **dict.fromkeys(
        ("CreateNamespace", "CreateDatabaseCommand"), Definition("CREATE_SCHEMA", "CREATE", Domain.SCHEMA)
    ),
    **dict.fromkeys(
        ("DropNamespace", "DropDatabaseCommand"), Definition("DROP_SCHEMA", "DROP", Domain.SCHEMA)
    ),
    **dict.fromkeys(
        (
            "SetNamespaceProperties",
            "UnsetNamespacePropertiesCommand",
            "SetNamespaceLocation",
            "CommentOnNamespace",
            "AlterDatabasePropertiesCommand",
            "AlterDatabaseSetLocationCommand",
        ),
        Definition("ALTER_SCHEMA", "ALTER", Domain.SCHEMA),
    ),
    **dict.fromkeys(("DropTable", "DropTableCommand"), Definition("DROP_TABLE", "DROP")),
    # DropTableCommand with isView stands for views of the session catalog.
    "DropView": Definition("DROP_VIEW", "DROP", Domain.VIEW),
    **dict.fromkeys(
        (
            "AddColumns",
            "ReplaceColumns",
            "DropColumns",
            "RenameColumn",
            "AlterColumns",
            "AlterTableAddColumnsCommand",
            "AlterTableChangeColumnCommand",
            "SetTableProperties",
            "UnsetTableProperties",
            "AlterTableSetPropertiesCommand",
            "AlterTableUnsetPropertiesCommand",
            "SetTableLocation",
            "AlterTableSetLocationCommand",
            "CommentOnTable",
            "AlterTableClusterBy",
            "AlterTableCollation",
            "AddConstraint",
            "AddCheckConstraint",
            "DropConstraint",
            "AlterTableAddConstraint",
            "AlterTableDropConstraint",
            "AlterTableDropFeature",
            "AddPartitions",
            "DropPartitions",
            "RenamePartitions",
            "AlterTableAddPartitionCommand",
            "AlterTableDropPartitionCommand",
            "AlterTableRenamePartitionCommand",
            "AlterTableSerDePropertiesCommand",
            "AlterColumnSyncIdentity",
            # Delta's own, which its API runs (4.4).
            "AlterTableAddColumnsDeltaCommand",
            "AlterTableAddConstraintDeltaCommand",
            "AlterTableChangeColumnDeltaCommand",
            "AlterTableClusterByDeltaCommand",
            "AlterTableDropColumnsDeltaCommand",
            "AlterTableDropConstraintDeltaCommand",
            "AlterTableDropFeatureDeltaCommand",
            "AlterTableReplaceColumnsDeltaCommand",
            "AlterTableSetLocationDeltaCommand",
            "AlterTableSetPropertiesDeltaCommand",
            "AlterTableUnsetPropertiesDeltaCommand",
        ),
        _ALTER,
    ),
    **dict.fromkeys(("RenameTable", "AlterTableRenameCommand"), Definition("RENAME_TABLE", "ALTER")),
    **dict.fromkeys(
        (
            "SetViewProperties",
            "UnsetViewProperties",
            "AlterViewSchemaBinding",
            "AlterViewSchemaBindingCommand",
        ),
        Definition("ALTER_VIEW", "ALTER", Domain.VIEW),
    ),
}
_VIEWS = {
    "CreateViewCommand": "CREATE_VIEW",
    "CreateView": "CREATE_VIEW",
    "AlterViewAsCommand": "ALTER_VIEW",
    "AlterViewAs": "ALTER_VIEW",
    "CreateMetricViewCommand": "CREATE_VIEW",
}
_QUERIES = {
    "CacheTableAsSelect": ("CACHE", "plan"),
    "CacheTable": ("CACHE", "table"),
    "SetVariable": ("SET_VARIABLE", "sourceQuery"),
}
"""Commands that read and define nothing recorded: statement type, and the field of what they read."""
# Delta 4.4 runs SHALLOW CLONE as CreateDeltaTableCommand with a CloneTableCommand as its query.
_CLONES = ("CreateDeltaTableCommand", "CloneTableCommand")
_RESTORES = ("RestoreTableCommand",)
_TRUNCATES = ("TruncateTable", "TruncateTableCommand", "TruncatePartition", "TruncateDeltaTableCommand")
_NAMES_WITHOUT_ACCESS = (
    "ShowTables ShowTablesExtended ShowViews ShowNamespaces ShowColumns ShowFunctions "
    "ShowCatalogsCommand ShowTableProperties ShowCreateTable ShowPartitions ShowTablePartition "
    "ShowCurrentNamespaceCommand ShowCurrentNamespace ShowCollationsCommand ShowProcedures "
    "ShowProceduresCommand ShowTablesCommand ShowColumnsCommand ShowTablePropertiesCommand "
    "ShowCreateTableCommand ShowCreateTableAsSerdeCommand ShowPartitionsCommand ShowFunctionsCommand "
    "ShowViewsCommand ShowNamespacesCommand ShowDeltaPartitionsCommand ShowTableColumnsCommand "
    "DescribeNamespace DescribeRelation DescribeColumn DescribeFunction DescribeTableCommand "
    "DescribeColumnCommand DescribeFunctionCommand DescribeDatabaseCommand DescribeQueryCommand "
    "DescribeTablePartition DescribeRelationJsonCommand DescribeDeltaDetailCommand "
    "DescribeDeltaHistoryCommand DescribeDeltaHistory DescribeProcedureCommand "
    "DescribeTableHistoryCommand ExplainCommand SetCommand ResetCommand SetCatalogAndNamespace "
    "SetNamespaceCommand SetCatalogCommand SetPathCommand RefreshTable RefreshTableCommand "
    "RefreshFunction RefreshFunctionCommand RefreshResource AnalyzeTable AnalyzeTables AnalyzeColumn "
    "AnalyzeTableCommand AnalyzeTablesCommand AnalyzeColumnCommand AnalyzePartitionCommand "
    "UncacheTable ClearCacheCommand AddJarsCommand AddFilesCommand AddArchivesCommand ListJarsCommand "
    "ListFilesCommand ListArchivesCommand CreateFunction CreateFunctionCommand "
    "CreateUserDefinedFunction CreateUserDefinedFunctionCommand CreateSQLFunctionCommand DropFunction "
    "DropFunctionCommand CreateVariable DropVariable "
    # A temporary view is no object of a record.
    "CreateTempViewUsing DropTempViewCommand RepairTable RepairTableCommand RecoverPartitions "
    "NoopCommand "
    # OPTIMIZE, VACUUM and REORG rewrite or delete files and change no row; no more do row ids.
    "OptimizeTableCommand RowTrackingBackfillCommand RowTrackingUnBackfillCommand VacuumTableCommand "
    "DeltaGenerateCommand DeltaReorgTableCommand StreamingExplainCommand CacheTableCommand "
    "ExternalCommandExecutor SetNamespaceCollation ShowDeltaTableColumnsCommand "
)
_WITHOUT_ACCESS = frozenset(_NAMES_WITHOUT_ACCESS.split())
"""Commands that neither touch data nor define a recorded object."""


def known(name: str) -> bool:
    """Whether a command is DDL, or one of those that touch no data."""
    return (
        name in _DEFINITIONS
        or name in _VIEWS
        or name in _QUERIES
        or name in _TRUNCATES
        or name in _WITHOUT_ACCESS
        or name in _CLONES
        or name in _RESTORES
    )


def analyze(nodes: Tree, target: Target, reader: PlanReader, queried: Query) -> Access:  # noqa: PLR0911
    """The record of a DDL command."""
    name = kind(nodes[0])
    if name in _VIEWS:
        return _view(nodes, target, reader, queried)
    # CACHE TABLE and SET VAR run their query at once, so it is accessed.
    if name in _QUERIES:
        what, where = _QUERIES[name]
        if nodes[0].get("isLazy") is True:
            return Access(what)  # CACHE LAZY TABLE: read when it is first used
        query = plan_in(nodes, where)
        return replace(queried(reader, reader.plan(query) if query else OperatorOutput(), what), columns=())
    if name in _CLONES:
        return _clone(target, reader)
    if name in _WITHOUT_ACCESS:
        return Access(statement_type(name))
    if name in _TRUNCATES or name in _RESTORES:
        owners = owners_of(target, nodes[0], reader)
        # RESTORE keeps the rows that both versions have.
        whole = name in _TRUNCATES and name != "TruncatePartition"
        written = tuple(ModifiedObject(o.name, o.domain, o.object_id, overwrites=whole) for o in owners)
        return _access(reader, "TRUNCATE" if name in _TRUNCATES else "RESTORE", None, (), written)
    return _defined(nodes[0], target, reader)


def statement_type(command: str) -> str:
    """A command's class as the name of a statement.

    >>> statement_type("ShowTablesCommand")
    'SHOW_TABLES'
    """
    name = command.removesuffix("Command")
    return "".join("_" + c if c.isupper() and at else c for at, c in enumerate(name)).upper()


def _defined(node: Node, target: Target, reader: PlanReader) -> Access:
    definition = _definition(node)
    if _did_nothing(node, target):
        return Access(definition.statement_type)
    owners = owners_of(target, node, reader)
    if not owners:
        return _access(reader, definition.statement_type, None)
    owner = owners[0]
    domain = definition.domain or owner.domain
    properties: Json = {}
    if definition.operation not in ("DROP", None) and definition.domain is not Domain.SCHEMA:
        properties = _properties(definition.operation, target, owner)
    ddl = ObjectDdl(
        owner.name,
        Domain.TABLE if domain is Domain.EXTERNAL_TABLE and definition.operation == "CREATE" else domain,
        definition.operation or "ALTER",
        owner.object_id,
        properties,
    )
    return _access(reader, definition.statement_type, ddl)


def _definition(node: Node) -> Definition:
    """The definition of a command; DROP and RENAME of a view are those of a table with a flag."""
    found = _DEFINITIONS[kind(node)]
    if node.get("isView") and found.domain is None:
        kind_of_statement = found.statement_type.replace("_TABLE", "_VIEW")
        return Definition(kind_of_statement, found.operation, Domain.VIEW)
    return found


def _clone(target: Target, reader: PlanReader) -> Access:
    """CREATE TABLE … CLONE reads all columns of its source and writes them under the same names."""
    source = next((leaf for leaf in reader.facts.leaves if leaf.node == "CloneSource"), None)
    owners = owners_of(target, {"class": target.leaf.node, "num-children": 0}, reader)
    if source is None or not owners:
        reader.mark_partial(f"{target.leaf.node}: the source of the clone is not known")
        return _access(reader, "CREATE_TABLE", None)
    origin = reader.resolve(source)[0]
    read = AccessedObject(
        origin.name,
        origin.domain,
        origin.object_id,
        origin.columns,
        origin.location if origin.domain is Domain.STAGE else None,
        version=origin.version,
    )
    refs = {
        column.name: (ColumnRef(origin.name, column.name, origin.domain, origin.object_id, column.column_id),)
        for column in origin.columns
    }
    written = ModifiedObject(
        owners[0].name,
        owners[0].domain,
        owners[0].object_id,
        tuple(ModifiedColumn(name, _id_of(owners[0], name), ref, ref) for name, ref in refs.items()),
        overwrites=True,
    )
    made_from = {"objectName": origin.name, "objectDomain": origin.domain.value, "objectId": origin.object_id}
    properties: Json = {
        "columns": {name: _change("ADD", _id_of(owners[0], name)) for name in refs},
        "creationMode": {"value": "CLONE"},
        "creationSource": {key: value for key, value in made_from.items() if value is not None},
    }
    ddl = ObjectDdl(owners[0].name, Domain.TABLE, "CREATE", owners[0].object_id, properties)
    return _access(reader, "CREATE_TABLE", ddl, (read,), (written,))


def _did_nothing(node: Node, target: Target) -> bool:
    """IF NOT EXISTS on what was there, IF EXISTS on what was not; False where nobody looked."""
    if target.existed is None:
        return False
    # DROP has ifExists, in V1 and V2 commands alike.
    if node.get("ifExists"):
        return not target.existed
    return bool(target.existed and any(node.get(flag) for flag in _IF_NOT_EXISTS))


# CREATE has one of the first two; CreateViewCommand has the third (Spark 4.2).
_IF_NOT_EXISTS = ("ignoreIfExists", "ifNotExists", "allowExisting")


def _properties(operation: str | None, target: Target, owner: Relation) -> Json:
    """The compound properties: columns with their sub-operation, the new name, the creation source."""
    found: Json = {}
    ids = {column.name.lower(): column.column_id for column in owner.columns}
    changes = [(change.operation, change.column) for change in target.changes]
    if not changes and operation in ("CREATE", "REPLACE"):
        changes = [("ADD", column.name) for column in target.leaf.columns]
    if changes:
        found["columns"] = {name: _change(what, ids.get(name.lower())) for what, name in changes}
    # RENAME COLUMN: the new name is the column's.
    if target.new_name and changes:
        found["columns"][changes[0][1]]["objectName"] = {"value": target.new_name}
    elif target.new_name:
        found["objectName"] = {"value": _renamed(owner.name, target.new_name)}
    if target.source:
        found["creationMode"] = {"value": "LIKE"}
        found["creationSource"] = {"objectName": target.source, "objectDomain": Domain.TABLE.value}
    return found


def _change(operation: str, column_id: int | None) -> Json:
    known_id: Json = {} if column_id is None else {"objectId": {"value": column_id}}
    return {**known_id, "subOperationType": operation}


def _renamed(old: str, new: str) -> str:
    """The new name, qualified as the old one is.

    >>> _renamed("c.s.t", "u")
    'c.s.u'
    """
    return new if new.count(".") >= old.count(".") else old.rsplit(".", new.count(".") + 1)[0] + "." + new


def _view(nodes: Tree, target: Target, reader: PlanReader, queried: Query) -> Access:
    """CREATE VIEW and ALTER VIEW AS read no data; their output columns say what they are made of."""
    # CreateViewCommand has `plan`, AlterViewAsCommand has `query` (Spark 4.2).
    query = plan_in(nodes, "plan") or plan_in(nodes, "query")
    flow = reader.plan(query) if query else OperatorOutput()
    access = queried(reader, flow, _VIEWS[kind(nodes[0])])
    given = [change.column for change in target.changes if change.operation == "ADD"]
    access = _with_names(access, given)
    # A temporary view is recorded as a statement with outputs, and defines no object.
    if target.leaf.temporary or _did_nothing(nodes[0], target):
        return Access(
            access.statement_type, columns=access.columns, analysis=access.analysis, reason=access.reason
        )
    owners = reader.resolve(Leaf("View", name=target.leaf.name, view=True))
    ddl = defines = None
    if owners:
        names = given or [name for _, name in flow.out]
        access = _with_names(access, names)
        properties = {"columns": {name: _change("ADD", _id_of(owners[0], name)) for name in names}}
        operation = _operation_on_view(nodes[0])
        ddl = ObjectDdl(owners[0].name, Domain.VIEW, operation, owners[0].object_id, properties)
        values = dict(zip(names, flow.values(), strict=False))
        relation = replace(owners[0], domain=Domain.VIEW)
        view = modified_object(reader, relation, values, flow.indirect, overwrites=True)
        defines = ViewDefinition(view, access.direct_objects_accessed, access.base_objects_accessed)
    else:
        reader.mark_partial(f"{kind(nodes[0])}: the view's name is not known")
    return Access(
        access.statement_type,
        object_modified_by_ddl=ddl,
        columns=access.columns,
        analysis="partial" if reader.partial_reasons else "full",
        reason="; ".join(reader.partial_reasons) or None,
        defines=defines,
    )


def _with_names(access: Access, names: Sequence[str]) -> Access:
    """The access with its outputs under other names, where there is one for each."""
    if len(names) != len(access.columns):
        return access
    named = zip(access.columns, names, strict=True)
    return replace(access, columns=tuple(replace(column, name=name) for column, name in named))


def _operation_on_view(node: Node) -> Operation:
    if kind(node).startswith("Alter"):
        return "ALTER"
    return "REPLACE" if node.get("replace") else "CREATE"


def _id_of(owner: Relation, name: str) -> int | None:
    return next((column.column_id for column in owner.columns if column.name.lower() == name.lower()), None)


def created(written: WriteResult) -> ObjectDdl | None:
    """The CREATE or REPLACE of a command that defines its table and fills it."""
    if not written.statement_type.endswith("_AS_SELECT") or not written.owners:
        return None
    owner = written.owners[0]
    replaces = written.statement_type.startswith("REPLACE")
    columns = {name: _change("ADD", _id_of(owner, name)) for name in written.columns}
    return ObjectDdl(
        owner.name, Domain.TABLE, "REPLACE" if replaces else "CREATE", owner.object_id, {"columns": columns}
    )


def _access(
    reader: PlanReader,
    kind_of_statement: str,
    ddl: ObjectDdl | None,
    direct: tuple[AccessedObject, ...] = (),
    written: tuple[ModifiedObject, ...] = (),
) -> Access:
    return Access(
        kind_of_statement,
        direct,
        direct,
        written,
        ddl,
        analysis="partial" if reader.partial_reasons else "full",
        reason="; ".join(reader.partial_reasons) or None,
    )


__all__ = ["Column", "analyze", "created", "known", "statement_type"]
