"""Python functions of every kind over the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd  # noqa: TC002  PySpark evaluates the types of a pandas function

from .job import Place, job

PANDAS = "https://spark.apache.org/docs/latest/api/python/tutorial/sql/arrow_pandas.html"
T = """
    CREATE TABLE t USING delta AS
    SELECT * FROM VALUES (1, 1.0D, 'a'), (1, 2.0D, 'b'), (2, 4.0D, 'c') AS t(id, x, v)
"""


@job(
    "PySpark's reference, pyspark.sql.functions.udf",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct t(id,v); writes made(id<-t.id, loud<-t.v); ddl "
        "CREATE Table made(id:ADD,loud:ADD)"
    ),
    given=T,
    long=True,
)
def a_function_of_rows(at: Place) -> None:
    from pyspark.sql.functions import udf

    shout = udf(lambda text: text.upper() + "!", "string")
    at.spark.table("t").select("id", shout("v").alias("loud")).write.saveAsTable("made")


@job(
    f"{PANDAS}#series-to-series",
    "SELECT plan full; direct FUNCTION:doubled() t(id,x)",
    given=T,
    long=True,
)
def a_pandas_function_of_series(at: Place) -> object:
    from pyspark.sql.functions import pandas_udf

    @pandas_udf("double")
    def doubled(x: pd.Series) -> pd.Series:
        return x * 2

    return at.spark.table("t").select("id", doubled("x").alias("y"))


@job(
    f"{PANDAS}#iterator-of-series-to-iterator-of-series",
    "SELECT text full; direct FUNCTION:plus_one() t(id,x)",
    given=T,
    long=True,
)
def a_pandas_function_of_iterators(at: Place) -> object:
    from pyspark.sql.functions import pandas_udf

    @pandas_udf("double")
    def plus_one(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for part in parts:
            yield part + 1

    at.spark.udf.register("plus_one", plus_one)
    return at.spark.sql("SELECT id, plus_one(x) AS y FROM t")


@job(
    f"{PANDAS}#series-to-scalar",
    "SELECT plan full; direct FUNCTION:mean() t(id,x)",
    given=T,
    long=True,
)
def a_pandas_aggregate(at: Place) -> object:
    from pyspark.sql.functions import pandas_udf

    @pandas_udf("double")
    def mean(x: pd.Series) -> float:
        return x.mean()

    return at.spark.table("t").groupBy("id").agg(mean("x").alias("mean"))


@job(
    f"{PANDAS}#map",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct FUNCTION:big() t(id,v,x); writes "
        "made(id<-big.None+t.id+t.v+t.x, x<-big.None+t.id+t.v+t.x); ddl CREATE Table "
        "made(id:ADD,x:ADD)"
    ),
    given=T,
    long=True,
)
def map_in_pandas(at: Place) -> None:
    def big(parts):
        for part in parts:
            yield part[part.x > 1][["id", "x"]]

    at.spark.table("t").mapInPandas(big, "id INT, x DOUBLE").write.saveAsTable("made")


@job(
    f"{PANDAS}#grouped-map",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct FUNCTION:centred() t(id,v,x); writes "
        "made(id<-t.id+t.v+t.x+centred.None, x<-t.id+t.v+t.x+centred.None); ddl CREATE Table "
        "made(id:ADD,x:ADD)"
    ),
    given=T,
    long=True,
)
def apply_in_pandas(at: Place) -> None:
    def centred(part):
        return part.assign(x=part.x - part.x.mean())[["id", "x"]]

    at.spark.table("t").groupBy("id").applyInPandas(centred, "id INT, x DOUBLE").write.saveAsTable("made")


@job(
    f"{PANDAS}#co-grouped-map",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct t(id,v,x); writes made(id<-t.id+t.v+t.x, "
        "x<-t.id+t.v+t.x, v<-t.id+t.v+t.x); ddl CREATE Table made(id:ADD,v:ADD,x:ADD)"
    ),
    given=T,
    long=True,
)
def co_grouped_map(at: Place) -> None:
    one, two = at.spark.table("t").select("id", "x"), at.spark.table("t").select("id", "v")
    joined = (
        one.groupBy("id")
        .cogroup(two.groupBy("id"))
        .applyInPandas(lambda left, right: left.merge(right, on="id"), "id INT, x DOUBLE, v STRING")
    )
    joined.write.saveAsTable("made")


@job(
    f"{PANDAS}#arrow-python-udfs",
    "SELECT plan full; direct t(id,v)",
    given=T,
    long=True,
)
def an_arrow_function(at: Place) -> object:
    from pyspark.sql.functions import udf

    return at.spark.table("t").select("id", udf(lambda v: v * 2, "string", useArrow=True)("v").alias("vv"))


@job(
    "https://spark.apache.org/docs/latest/api/python/tutorial/sql/python_udtf.html",
    "SELECT plan full; direct FUNCTION:letters() t(id,v)",
    given=T,
    long=True,
)
def a_table_function(at: Place) -> object:
    from pyspark.sql.functions import udtf

    @udtf(returnType="letter STRING, n INT")
    class Letters:
        def eval(self, text: str):
            for n, letter in enumerate(text):
                yield letter, n

    at.spark.udtf.register("letters", Letters)
    return at.spark.sql("SELECT t.id, l.letter FROM t, LATERAL letters(t.v) l")


@job(
    "https://docs.databricks.com/aws/en/udf/unity-catalog: SQL functions",
    "CREATE_FUNCTION text full",
    "CREATE_FUNCTION text full",
    "SELECT text full; direct FUNCTION:twice() t(x); base t(x)",
    "SELECT text full; direct FUNCTION:of_id(); base t(id,v)",
    "DROP_FUNCTION text full",
    given=T,
    long=True,
)
def functions_in_sql(at: Place) -> object:
    at.spark.sql("CREATE TEMPORARY FUNCTION twice(x DOUBLE) RETURNS DOUBLE RETURN x * 2")
    at.spark.sql("CREATE FUNCTION of_id(i INT) RETURNS TABLE (v STRING) RETURN SELECT v FROM t WHERE id = i")
    found = (
        at.spark.sql("SELECT twice(x) AS y FROM t").collect(),
        at.spark.sql("SELECT * FROM of_id(1)").collect(),
    )
    at.spark.sql("DROP FUNCTION of_id")
    return sorted(map(str, found[0])), sorted(map(str, found[1]))


@job(
    "A Python function that fails: the error is the user's own",
    "SELECT FAIL PYTHON_EXCEPTION",
    given=T,
    long=True,
)
def a_function_that_raises(at: Place) -> object:
    from pyspark.sql.functions import udf

    def fail(v):
        raise ValueError(f"not {v}")

    return at.spark.table("t").where("id = 2").select(udf(fail, "string")("v")).collect()
