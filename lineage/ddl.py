"""CREATE, REPLACE, ALTER, RENAME and DROP: object_modified_by_ddl (and what a CTAS reads and writes).

In: a tree or a command. Out: the DDL operation with the properties that the access-history document names.
"""

from __future__ import annotations

import re

from sqlglot import exp

from lineage.building import Tracer
from lineage.catalog import schema_exists
from lineage.model import Access, Column, Domain, Json, ObjectDdl, Relation, ViewDefinition
from lineage.names import qualify, quote_name
from lineage.object_ids import object_id
from lineage.resolve import Ledger
from lineage.scope import Frame, Refs, Sink
from lineage.statement import Command, Statement
from lineage.targets import parts_of

Node = exp.Expr


def trace_create(tracer: Tracer, statement: Statement, tree: exp.Create, *, existed: bool | None) -> Access:  # noqa: PLR0911
    """CREATE [OR REPLACE] TABLE | VIEW | SCHEMA | FUNCTION."""
    kind, noun = statement.statement_type, tree.args["kind"].upper()
    parts = parts_of(tree.args["this"])
    if kind == "CREATE_FUNCTION" or (statement.temporary and noun == "VIEW"):
        return _unrecorded(tracer, statement, tree)
    if kind == "CREATE_SCHEMA":
        if tree.args.get("exists") and _schema_there(tracer, parts, existed=existed):
            return tracer.access(kind)
        return tracer.access(kind, ddl=_schema(tracer, parts, "CREATE"))
    before = tracer.lookup(parts)
    if tree.args.get("exists") and _there(before, existed=existed):
        return tracer.access(kind)
    relation = _created(tracer, parts, before, _domain(tree, noun))
    operation = "REPLACE" if tree.args.get("replace") else "CREATE"
    if noun == "VIEW":
        query = tree.args.get("expression")
        frame, ledger = _view_frame(tracer, query)
        names = _defined(tree) or _as_made(relation, [Column(o.name) for o in frame.outs])
        frame = _under(names, frame)
        return tracer.access(
            kind,
            frame=frame,
            ddl=_ddl(relation, operation, _columns(names, relation)),
            defines=_definition(tracer, relation, names, frame, ledger),
        )
    if tree.args.get("expression") is not None:
        return _as_select(tracer, statement, tree, relation, operation)
    source = _like(tree)
    if source is not None:
        return _copied(tracer, kind, relation, operation, source, "LIKE")
    return tracer.access(kind, ddl=_ddl(relation, operation, _columns(_defined(tree), relation)))


def _domain(tree: exp.Create, noun: str) -> Domain:
    if noun != "VIEW":
        return Domain.TABLE
    properties = tree.args.get("properties")
    materialized = properties is not None and properties.find(exp.MaterializedProperty) is not None
    return Domain.MATERIALIZED_VIEW if materialized else Domain.VIEW


def _as_select(
    tracer: Tracer, statement: Statement, tree: exp.Create, relation: Relation, operation: str
) -> Access:
    frame = tracer.query(tree.args["expression"], None, {})
    names = _defined(tree) or _as_made(relation, [Column(o.name) for o in frame.outs])
    names = [_known(relation, c) for c in names]
    pairs = list(zip(names, frame.outs, strict=False))
    modified = tracer.modified(relation, pairs, frame.shape, overwrites=True)
    return tracer.access(
        statement.statement_type,
        modified=[modified],
        ddl=_ddl(relation, operation, _columns(names, relation)),
    )


def _as_made(relation: Relation, names: list[Column]) -> list[Column]:
    """The table's own names where it has none of ours: expressions without an alias are named by Spark."""
    if len(names) != len(relation.columns):
        return names
    keys = {column.name.lower() for column in relation.columns}
    pairs = zip(names, relation.columns, strict=True)
    return [name if name.name.lower() in keys else made for name, made in pairs]


def _view_frame(tracer: Tracer, query: Node | None) -> tuple[Frame, Ledger]:
    # Defining a view reads no data: its query is walked for its columns, and what it reads set aside.
    with tracer.set_aside() as ledger:
        if query is None:
            tracer.doubt("CREATE VIEW without a query")
            return Frame([]), ledger
        return tracer.query(query, None, {}), ledger


def _definition(
    tracer: Tracer, relation: Relation, names: list[Column], frame: Frame, ledger: Ledger
) -> ViewDefinition:
    return tracer.defined(relation, [_known(relation, c) for c in names], frame, ledger)


def _under(names: list[Column], frame: Frame) -> Frame:
    if len(names) != len(frame.outs):
        return frame
    outs = [out.renamed(column.name) for column, out in zip(names, frame.outs, strict=True)]
    return Frame(outs, frame.shape, open_=frame.open)


def _unrecorded(tracer: Tracer, statement: Statement, tree: exp.Create) -> Access:
    # Temporary views and functions are no objects of the record.
    query = tree.args.get("expression") if statement.statement_type == "CREATE_VIEW" else None
    return _redefined(tracer, statement.statement_type, query, _defined(tree))


def _redefined(tracer: Tracer, kind: str, query: Node | None, names: list[Column]) -> Access:
    """A temporary view: its columns, and nothing recorded."""
    if not isinstance(query, (exp.Query, exp.Values)):
        return tracer.access(kind)
    with tracer.set_aside():
        frame = _under(names, tracer.query(query, None, {}))
    return tracer.access(kind, frame=frame)


def trace_drop(tracer: Tracer, statement: Statement, tree: exp.Drop, *, existed: bool | None) -> Access:
    """DROP TABLE | VIEW | SCHEMA: no properties are recorded."""
    kind = statement.statement_type
    if kind == "DROP_FUNCTION" or statement.temporary:
        return tracer.access(kind)
    parts = parts_of((tree.args.get("tables") or [None])[0])
    if kind == "DROP_SCHEMA":
        if tree.args.get("exists") and _schema_there(tracer, parts, existed=existed) is False:
            return tracer.access(kind)
        return tracer.access(kind, ddl=_schema(tracer, parts, "DROP"))
    before = tracer.lookup(parts)
    if before is not None and before.temporary:
        return tracer.access(kind)
    if tree.args.get("exists") and not _there(before, existed=existed):
        return tracer.access(kind)
    relation = _created(tracer, parts, before, Domain.VIEW if kind == "DROP_VIEW" else Domain.TABLE)
    return tracer.access(kind, ddl=_ddl(before or relation, "DROP", {}))


def trace_alter(tracer: Tracer, statement: Statement, tree: exp.Alter, *, existed: bool | None) -> Access:
    """ALTER TABLE | VIEW: columns with their subOperationType, new names, properties."""
    kind = statement.statement_type
    parts = parts_of(tree.args["this"])
    before = tracer.lookup(parts)
    if tree.args.get("exists") and not _there(before, existed=existed):
        return tracer.access(kind)
    if before is not None and before.temporary:
        (query, *_) = tree.args.get("actions") or [None]
        return _redefined(tracer, kind, query, [])
    domain = Domain.VIEW if kind.endswith("VIEW") else Domain.TABLE
    relation = _created(tracer, parts, before, domain)
    properties: Json = {}
    frame = defines = None
    for action in tree.args.get("actions") or ():
        if isinstance(action, (exp.Query, exp.Values)):
            frame, ledger = _view_frame(tracer, action)
            names = [Column(o.name) for o in frame.outs]
            properties = {**properties, **_columns(names, relation)}
            defines = _definition(tracer, relation, names, frame, ledger)
        else:
            _action(tracer, action, relation, parts, properties)
    return tracer.access(kind, frame=frame, ddl=_ddl(relation, "ALTER", properties), defines=defines)


def trace_ddl_command(
    tracer: Tracer, statement: Statement, command: Command, *, existed: bool | None
) -> Access:
    """DDL that a reader of our own took from the tokens."""
    kind, domain = statement.statement_type, command.domain or Domain.TABLE
    if domain is Domain.SCHEMA:
        return tracer.access(kind, ddl=_schema(tracer, command.target, "ALTER", _pairs(command)))
    before = tracer.lookup(command.target)
    if command.source:
        if command.if_clause and _there(before, existed=existed):
            return tracer.access(kind)
        relation = _created(tracer, command.target, before, domain)
        operation = "REPLACE" if command.replace else "CREATE"
        return _copied(tracer, kind, relation, operation, command.source, "CLONE", command.version)
    if before is not None and before.temporary:
        return tracer.access(kind)
    if command.if_clause and not _there(before, existed=existed):
        return tracer.access(kind)
    relation = before or _created(tracer, command.target, before, domain)
    properties = _pairs(command)
    if command.columns:
        properties["columns"] = {
            _known(relation, Column(name)).name: _column(relation, name, operation)
            for name, operation in command.columns
        }
    if command.new_name:
        properties["objectName"] = {"value": _renamed(tracer, relation, command.target, command.new_name)}
    return tracer.access(kind, ddl=_ddl(relation, "ALTER", properties))


# -- columns and properties --------------------------------------------------------------------


def _action(  # noqa: C901
    tracer: Tracer, action: Node, relation: Relation, parts: tuple[str, ...], properties: Json
) -> None:
    columns: Json = properties.setdefault("columns", {})
    if isinstance(action, exp.ColumnDef):
        columns[action.name] = _column(relation, action.name, "ADD")
    elif isinstance(action, exp.Schema):
        columns.update({c.name: _column(relation, c.name, "ADD") for c in action.expressions})
    elif isinstance(action, exp.Drop):
        # IF EXISTS drops what is there: of a known table, none but its own columns.
        own = {c.name.lower() for c in relation.columns} if action.args.get("exists") else set()
        for name in _dropped(action):
            if not own or name.lower() in own:
                columns[_known(relation, Column(name)).name] = _column(relation, name, "DROP")
    elif isinstance(action, exp.RenameColumn):
        name = action.args["this"].name
        columns[name] = {**_column(relation, name, "ALTER"), "objectName": {"value": action.args["to"].name}}
    elif isinstance(action, exp.AlterColumn):
        name = action.args["this"].name
        entry = _column(relation, name, "ALTER")
        new = action.args.get("rename_to")
        if isinstance(new, exp.Expr) and new.name.lower() != name.lower():
            entry["objectName"] = {"value": new.name}
        columns[name] = entry
    elif isinstance(action, exp.ReplaceColumns):
        columns.update({c.name: _column(relation, c.name, "DROP") for c in relation.columns})
        columns.update({c.name: _column(relation, c.name, "ADD") for c in action.expressions})
    elif isinstance(action, exp.AlterRename):
        new_name = _renamed(tracer, relation, parts, parts_of(action.args["this"]))
        properties["objectName"] = {"value": new_name}
    elif not isinstance(action, (exp.AlterSet, exp.ClusterProperty, exp.AddPartition, exp.DropPartition)):
        tracer.doubt(f"ALTER with {type(action).__name__}")
    if not columns:
        properties.pop("columns", None)


def _dropped(action: exp.Drop) -> list[str]:
    names: list[str] = []
    for item in action.args.get("tables") or ():
        names += [i.name for i in item.expressions] if isinstance(item, exp.Schema) else [item.name]
    return names


def _column(relation: Relation, name: str, operation: str) -> Json:
    column = _known(relation, Column(name))
    entry: Json = {"subOperationType": operation}
    return entry if column.column_id is None else {"objectId": {"value": column.column_id}, **entry}


def _columns(columns: list[Column], relation: Relation) -> Json:
    if not columns:
        return {}
    return {"columns": {c.name: _column(relation, c.name, "ADD") for c in columns}}


def _known(relation: Relation, column: Column) -> Column:
    key = column.name.lower()
    return next((c for c in relation.columns if c.name.lower() == key), column)


def _pairs(command: Command) -> Json:
    values = {key: value for key, value in command.properties if key != "creationMode"}
    return {"properties": {k: {"value": v} for k, v in values.items()}} if values else {}


def _defined(tree: exp.Create) -> list[Column]:
    schema = tree.args["this"]
    if not isinstance(schema, exp.Schema):
        return []
    properties = tree.args.get("properties")
    partitions = properties.find(exp.PartitionedByProperty) if properties is not None else None
    more = partitions.args["this"] if partitions is not None else None
    # PARTITIONED BY (c INT) defines c, PARTITIONED BY (c) names a column that is defined already.
    typed = [c for c in more.expressions if isinstance(c, exp.ColumnDef)] if more is not None else []
    found: list[Column] = []
    for item in (*schema.expressions, *typed):
        if isinstance(item, exp.ColumnDef):
            kind = item.args.get("kind")
            found.append(Column(item.name, kind.sql("spark") if kind is not None else ""))
        elif isinstance(item, exp.Identifier):
            found.append(Column(item.name))
    return found


def _like(tree: exp.Create) -> tuple[str, ...] | None:
    properties = tree.args.get("properties")
    like = properties.find(exp.LikeProperty) if properties is not None else None
    return None if like is None else parts_of(like.args["this"])


def _copied(
    tracer: Tracer,
    kind: str,
    relation: Relation,
    operation: str,
    source: tuple[str, ...],
    mode: str,
    version: str | None = None,
) -> Access:
    """LIKE and CLONE record their creation source; a CLONE reads it (document: Read query notes)."""
    number = re.search(r"\bVERSION\s+AS\s+OF\s+(\d+)", version or "", re.IGNORECASE)
    entry = tracer.entry(source, int(number.group(1)) if number else version)
    origin = entry.relation
    properties = _columns(list(origin.columns), Relation(relation.name))
    made_from = {"objectName": origin.name, "objectDomain": origin.domain.value, "objectId": origin.object_id}
    properties["creationMode"] = {"value": mode}
    properties["creationSource"] = {k: v for k, v in made_from.items() if v is not None}
    modified = []
    if mode == "CLONE":
        tracer.ledger.direct_entries.setdefault(entry)
        tracer.ledger.base_entries.setdefault(entry)
        sinks = {column: {entry.ref(column): None} for column in origin.columns}
        tracer.ledger.direct.update({ref: None for refs in sinks.values() for ref in refs})
        tracer.ledger.base.update({ref: None for refs in sinks.values() for ref in refs})
        pairs = [(_known(relation, Column(c.name)), _sink(refs)) for c, refs in sinks.items()]
        modified = [tracer.modified(relation, pairs, overwrites=True)]
    return tracer.access(kind, modified=modified, ddl=_ddl(relation, operation, properties))


def _sink(refs: Refs) -> Sink:
    sink = Sink()
    sink.direct = sink.base = refs
    return sink


# -- objects -------------------------------------------------------------------------------------


def _there(before: Relation | None, *, existed: bool | None) -> bool:
    return existed if existed is not None else before is not None


def _schema_there(tracer: Tracer, parts: tuple[str, ...], *, existed: bool | None) -> bool | None:
    return existed if existed is not None else schema_exists(tracer.catalog, parts)


def _created(tracer: Tracer, parts: tuple[str, ...], before: Relation | None, domain: Domain) -> Relation:
    if before is not None and not before.temporary:
        return before
    here = tracer.current or tracer.catalog.current
    if parts[1:] and "/" in parts[-1]:
        return tracer.catalog.path(parts[0], parts[1])
    return Relation(quote_name(qualify(parts, here)), domain)


def _renamed(tracer: Tracer, relation: Relation, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    # ALTER TABLE s.t RENAME TO u: in the session catalog the new name stays in the old schema.
    here = tracer.current or tracer.catalog.current
    full = qualify(old, here)
    del relation
    return quote_name((*full[:-1], new[0]) if len(new) == 1 else qualify(new, here))


def _schema(
    tracer: Tracer, parts: tuple[str, ...], operation: str, properties: Json | None = None
) -> ObjectDdl:
    here = tracer.current or tracer.catalog.current
    full = (here[0], *parts) if len(parts) == 1 else parts
    name = quote_name(full)
    identity = object_id(Domain.SCHEMA.value, name)
    return ObjectDdl(name, Domain.SCHEMA, operation, identity, properties or {})  # type: ignore[arg-type]


def _ddl(relation: Relation, operation: str, properties: Json) -> ObjectDdl:
    return ObjectDdl(relation.name, relation.domain, operation, relation.object_id, properties)  # type: ignore[arg-type]
