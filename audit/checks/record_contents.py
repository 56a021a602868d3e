"""What is inside of each record: the hash that it was written with, the names of the columns that it names.

In: rows of access_history. Out: the day and the query id of each record that is altered, and of those in
which a column id stands for two names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.record.hash_sql import row_json, row_text, text_hash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def altered_records(access: DataFrame) -> DataFrame:
    """The records whose hash is another than the one of their contents."""
    columns = dict(access.dtypes)
    # Nearly all are as they were written, and need no more than Spark's own JSON. Of the others the text is
    # made that holds for every character.
    doubtful = access.where(f"NOT (record_hash <=> sha2({row_json(columns)}, 256))")
    return (
        doubtful.selectExpr("query_date", "query_id", "record_hash", f"{row_text(columns)} AS text")
        .where(f"NOT (record_hash <=> {text_hash('text')})")
        .select("query_date", "query_id")
    )


_NAMED = "transform(coalesce(o.columns, array()), c -> struct(c.columnId AS id, lower(c.columnName) AS name))"
_OF = f"transform(coalesce({{0}}, array()), o -> struct(o.objectId AS id, {_NAMED} AS columns))"
_SIDES = ("direct_objects_accessed", "base_objects_accessed", "objects_modified")
_OBJECTS = f"concat({', '.join(_OF.replace('{0}', side) for side in _SIDES)})"


def ambiguous_columns(access: DataFrame) -> DataFrame:
    """Of each column id with two names on one day a record for each name, unless DDL has changed the object.

    Names are compared without regard to case, as Spark resolves them.
    """
    from pyspark.sql import functions as f

    objects = access.selectExpr("query_date", "query_id", f"inline({_OBJECTS}) AS (object_id, columns)")
    columns = objects.selectExpr(
        "query_date", "query_id", "object_id", "inline(columns) AS (column_id, name)"
    )
    named = columns.where("object_id IS NOT NULL AND column_id IS NOT NULL")
    key = ["query_date", "object_id", "column_id"]
    # Of the names first: distinct ones are few, and those of one id fewer. For the minimum of a string, as a
    # query_id is, Spark (4.2) would sort all rows.
    names = named.select(*key, "name").distinct()
    doubled = names.groupBy(key).agg(f.count("name").alias("names")).where("names > 1")
    changed = access.selectExpr("query_date", "object_modified_by_ddl.objectId AS object_id").distinct()
    wanted = doubled.join(changed, ["query_date", "object_id"], "left_anti").select(key)
    found = (
        named.join(f.broadcast(wanted), key).groupBy(*key, "name").agg(f.min("query_id").alias("query_id"))
    )
    return found.select("query_date", "query_id").distinct()
