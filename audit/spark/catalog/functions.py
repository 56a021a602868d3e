"""Functions and variables of a session, as Spark's catalog knows them.

In: a session, names. Out: `lineage.model.Function`; None where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark.jvm import java_class
from audit.spark.scala_values import option
from lineage.catalog.object_ids import object_id
from lineage.model import Column, Domain, Function
from lineage.names import quote_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_FULL = 3  # catalog, schema, name
_SQL_FUNCTION = "sqlFunction."  # SQLFunction.SQL_FUNCTION_PREFIX in Spark 4.2


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """What the catalog keeps of a function.

    Attributes:
        language: SQL, or JAVA for a class.
        definition: the body, or the name of the class.
        signature: `(A INT)`; None for a class, as the next.
        data_type: what it returns.
        comment: None for none.
        created: UTC microseconds; None where nobody knows.
    """

    language: str
    definition: str | None
    signature: str | None = None
    data_type: str | None = None
    comment: str | None = None
    created: int | None = None


def user_function(spark: SparkSession, parts: Sequence[str], current: tuple[str, str]) -> Function | None:
    """The function of a user that a name means: a temporary one first; None for a built-in or unknown one.

    Types are written as DESCRIBE shows them: `int`, `struct<a:int>`.
    """
    catalog = spark._jsparkSession.sessionState().catalog()
    if len(parts) == 1:
        # A built-in function is no user's.
        if catalog.isBuiltinFunction(parts[0]):
            return None
        temporary = _function_identifier(spark, (parts[0],))
        if catalog.isTemporaryFunction(temporary):
            info = catalog.lookupFunctionInfo(temporary)
            return _function(spark, info, info.getClassName(), parts[0])
    # A name is completed with the schema that was current for the statement, not with the session's.
    full = (*current[: max(0, _FULL - len(parts))], *parts)
    metadata = _metadata(spark, full)
    return None if metadata is None else _function(spark, metadata, metadata.className(), quote_name(full))


def expression_function(spark: SparkSession, parts: Sequence[str]) -> Function | None:
    """A function of the catalog by its full name, with a body where that is one expression of SQL.

    Types are written as SQL writes them: `INT`, `STRUCT<a: INT>`.
    """
    metadata = _metadata(spark, parts)
    if metadata is None:
        return None
    name = quote_name(parts)
    if not metadata.className().startswith(_SQL_FUNCTION):
        return Function(name)
    function = _sql_function(spark, metadata)
    body = option(function.exprText())
    # A body that is a query (`queryText`) is no expression that a policy could hold.
    if body is None or function.isTableFunc():
        return Function(name)
    parameters = tuple(Column(field.name(), field.dataType().sql()) for field in _parameters(function))
    return Function(name, parameters=parameters, data_type=function.returnType().value().sql(), body=body)


def language_of(class_name: str) -> str:
    """SQL, or JAVA for a class, by what the catalog keeps as the name of the class.

    >>> language_of("sqlFunction."), language_of("org.example.Upper")
    ('SQL', 'JAVA')
    """
    return "SQL" if class_name.startswith(_SQL_FUNCTION) else "JAVA"


def function_facts(spark: SparkSession, parts: Sequence[str]) -> FunctionFacts | None:
    """What the session catalog keeps of a function by its full name; None where there is none."""
    metadata = _metadata(spark, parts)
    if metadata is None:
        return None
    class_name = str(metadata.className())
    if not class_name.startswith(_SQL_FUNCTION):
        return FunctionFacts("JAVA", class_name)
    known = _function(spark, metadata, class_name, quote_name(parts))
    function = _sql_function(spark, metadata)
    return FunctionFacts(
        "SQL",
        known.body,
        known.argument_signature,
        known.data_type,
        option(function.comment()),
        int(function.createTimeMs()) * 1000,
    )


def _metadata(spark: SparkSession, full: Sequence[str]) -> Any | None:
    """What Spark's catalog holds of a function; None where there is none."""
    catalog = spark._jsparkSession.sessionState().catalog()
    # Functions lie in one schema of one catalog (FunctionIdentifier, Spark 4.2).
    if len(full) > _FULL:
        return None
    identifier = _function_identifier(spark, full)
    return catalog.getFunctionMetadata(identifier) if catalog.isPersistentFunction(identifier) else None


def _function(spark: SparkSession, metadata: Any, class_name: str, name: str) -> Function:
    identity = object_id(Domain.FUNCTION.value, name)
    if not class_name.startswith(_SQL_FUNCTION):
        returns = _returned(spark, metadata)
        return Function(name, identity, data_type=returns, is_declared=False)
    function = _sql_function(spark, metadata)
    body = option(function.exprText()) or option(function.queryText())
    parameters = tuple(
        Column(field.name(), field.dataType().simpleString()) for field in _parameters(function)
    )
    returns = function.returnType().value().simpleString()
    return Function(name, identity, parameters, returns, body, bool(function.isTableFunc()))


def _returned(spark: SparkSession, metadata: Any) -> str:
    """The type that a temporary function of Python's returns; "" for others, which want arguments to tell."""
    # ExpressionInfo.getSource tells a function's language; UserDefinedPythonFunction takes any number (4.2).
    is_temporary = metadata.getClass().getSimpleName() == "ExpressionInfo"
    if not is_temporary or metadata.getSource() != "python_udf":
        return ""
    nothing = getattr(java_class(spark.sparkContext, "scala.collection.immutable.Nil$"), "MODULE$")
    catalog = spark._jsparkSession.sessionState().catalog()
    call = option(catalog.resolveBuiltinOrTempFunction(metadata.getName(), nothing))
    return "" if call is None else str(call.dataType().simpleString())


def _parameters(function: Any) -> Sequence[Any]:
    declared = option(function.inputParam())
    return () if declared is None else tuple(declared.fields())


def _function_identifier(spark: SparkSession, parts: Sequence[str]) -> Any:
    """Spark's FunctionIdentifier of `name`, `schema.name` or `catalog.schema.name`."""
    context = spark.sparkContext
    # FunctionIdentifier takes the schema and the catalog as Scala's Options, in this order.
    *above, name = parts
    catalog, schema = (None, None, *above)[-2:]
    some = java_class(context, "scala.Option").apply
    identifier = java_class(context, "org.apache.spark.sql.catalyst.FunctionIdentifier")
    return identifier(name, some(schema), some(catalog))


def _sql_function(spark: SparkSession, metadata: Any) -> Any:
    """Spark's SQLFunction, from a persistent one's metadata or a temporary one's ExpressionInfo."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    function = java_class(spark.sparkContext, "org.apache.spark.sql.catalyst.catalog.SQLFunction")
    # A temporary SQL function is kept as JSON in the usage text of its ExpressionInfo (Spark 4.2).
    if metadata.getClass().getSimpleName() == "ExpressionInfo":
        return function.fromExpressionInfo(metadata, parser)
    return function.fromCatalogFunction(metadata, parser)


def is_variable(spark: SparkSession, name: str) -> bool:
    """Whether a session variable of that name is declared; `name` in lower case (Spark 4.2 keys them so)."""
    # `name :: Nil`: TempVariableManager.get takes the parts of a name.
    nothing = getattr(java_class(spark.sparkContext, "scala.collection.immutable.Nil$"), "MODULE$")
    manager = spark._jsparkSession.sessionState().catalogManager().tempVariableManager()
    return bool(manager.get(getattr(nothing, "$colon$colon")(name)).isDefined())
