"""The types of columns that a statement defines, from its text and its sources.

In: a statement with its result, and the catalog. Out: types by column. A tag's masking policy masks
columns of its own data type alone, so the types of new columns are needed.
"""

from __future__ import annotations

from sqlglot import exp

from lineage.catalog.protocol import Catalog
from lineage.model import Access
from lineage.names import split_name
from lineage.sql.statement import Statement
from lineage.sqlglot_log import spark_sql


def types_of(statement: Statement, access: Access, catalog: Catalog) -> dict[str, str]:
    """The types of the columns that CREATE and ALTER define, by name in lower case."""
    found = {column.name.lower(): column.type for column in access.columns}
    found |= {column.name.lower(): column.type for item in access.objects_modified for column in item.columns}
    ddl = access.object_modified_by_ddl
    source = ddl.properties.get("creationSource", {}).get("objectName") if ddl is not None else None
    # LIKE and CLONE take the columns of their source.
    origin = catalog.relation(split_name(source)) if source is not None else None
    if origin is not None:
        found |= {column.name.lower(): column.type for column in origin.columns}
    return found | _declared(statement.tree)


def _declared(tree: exp.Expr | None) -> dict[str, str]:
    if isinstance(tree, exp.Create):
        told: list[exp.Expr] = [tree.args["this"], tree.args.get("properties") or exp.Properties()]
    elif isinstance(tree, exp.Alter):
        told = list(tree.args.get("actions") or ())
    else:
        return {}
    columns = (column for part in told for column in part.find_all(exp.ColumnDef))
    # The fields of a struct are columns to the parser, too.
    own = (column for column in columns if column.find_ancestor(exp.DataType) is None)
    kinds = ((column.name.lower(), column.args.get("kind")) for column in own)
    # sqlglot keeps types without a dialect; this gives the names of Spark.
    return {name: spark_sql(kind) for name, kind in kinds if kind is not None}
