package io.sparkaccesshistory.capture;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkBuildInfo;

/**
 * Members of Spark's and Delta's classes by their names. Whoever reads a plan asks any node for
 * what only some have: a node without it gives null. A class that had the member in Spark 4.2 and
 * Delta 4.4 and lacks it now is an error, not a fact that is missing.
 */
final class Members {
  private static final String SQL = "org.apache.spark.sql.";

  /** By the names of classes and interfaces: the methods without parameters that are read. */
  static final Map<String, List<String>> METHODS = new LinkedHashMap<>();

  /** The same of private fields. */
  static final Map<String, List<String>> FIELDS =
      Map.of(SQL + "execution.streaming.sinks.FileStreamSink", List.of("path"));

  static {
    String v2 = SQL + "execution.datasources.v2.", analysis = SQL + "catalyst.analysis.";
    String logical = SQL + "catalyst.plans.logical.", delta = SQL + "delta.";
    method(SQL + "execution.datasources.LogicalRelation", "relation", "catalogTable");
    method(SQL + "catalyst.catalog.HiveTableRelation", "tableMeta");
    method(v2 + "DataSourceV2Relation", "table", "catalog", "identifier");
    method(v2 + "DataSourceV2ScanRelation", "relation");
    method(v2 + "StreamingDataSourceV2Relation", "table", "catalog", "identifier", "options");
    method(SQL + "execution.streaming.runtime.StreamingRelation", "sourceName");
    method(SQL + "execution.streaming.runtime.StreamingExecutionRelation", "catalogTable");
    method(
        SQL + "catalyst.streaming.StreamingRelationV2",
        "table",
        "catalog",
        "identifier",
        "extraOptions",
        "sourceName");
    method(SQL + "execution.datasources.jdbc.JDBCRelation", "jdbcOptions");
    method(SQL + "execution.datasources.jdbc.JDBCOptions", "url", "tableOrQuery");
    method(v2 + "FileTable", "fileIndex", "formatName");
    method(SQL + "connector.catalog.V1Table", "v1Table");
    method(SQL + "connector.catalog.Identifier", "namespace", "name");
    method(SQL + "connector.catalog.CatalogPlugin", "name");
    method(SQL + "execution.datasources.FileIndex", "rootPaths");
    method(analysis + "ResolvedNamespace", "catalog", "namespace");
    method(analysis + "ResolvedTempView", "identifier");
    method(analysis + "ResolvedTable", "catalog", "identifier", "table");
    method(analysis + "ResolvedPersistentView", "catalog", "identifier");
    method(analysis + "ResolvedIdentifier", "catalog", "identifier");
    method(analysis + "FieldName", "name");
    method(logical + "AlterColumnSpec", "column", "newDataType");
    method(logical + "QualifiedColType", "colName", "dataType");
    method(logical + "ColumnDefinition", "name", "dataType");
    method(delta + "catalog.DeltaTableV2", "catalogTable", "path", "initialSnapshot", "deltaLog");
    method(delta + "files.TahoeFileIndex", "deltaLog", "rootPaths");
    method(delta + "files.TahoeLogFileIndex", "snapshotAtAnalysis");
    method(delta + "DeltaLog", "unsafeVolatileSnapshot");
    method(delta + "SnapshotDescriptor", "version", "metadata", "schema");
    method(delta + "Snapshot", "path");
    method(delta + "actions.Metadata", "id", "partitionColumns");
    method(delta + "commands.CloneTableCommand", "sourceTable");
    method(delta + "commands.CloneSource", "catalogTable", "snapshot", "schema", "name");
    method(delta + "sources.DeltaSink", "path");
  }

  private Members() {}

  private static void method(String owner, String... names) {
    METHODS.put(owner, List.of(names));
  }

  /** What a method without parameters returns; null where the class has none, or it fails. */
  static Object call(Object target, String name) {
    if (target == null) return null;
    try {
      var method = target.getClass().getMethod(name);
      method.setAccessible(true);
      return method.invoke(target);
    } catch (NoSuchMethodException e) {
      require(METHODS, target.getClass(), name);
      return null;
    } catch (InvocationTargetException e) {
      return null; // a table by its path has no v1Table, say
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(name + " of " + target.getClass().getName(), e);
    }
  }

  /** The value of a field of the object's own class; null where there is none. */
  static Object field(Object target, String name) {
    try {
      Field field = target.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return field.get(target);
    } catch (NoSuchFieldException e) {
      require(FIELDS, target.getClass(), name);
      return null;
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(name + " of " + target.getClass().getName(), e);
    }
  }

  /** An error where a class, or one above it, is known to have a member. */
  private static void require(Map<String, List<String>> known, Class<?> type, String name) {
    if (type == null) return;
    if (known.getOrDefault(type.getName(), List.of()).contains(name))
      throw new IllegalStateException(
          type.getName()
              + " has no member "
              + name
              + " in Spark "
              + SparkBuildInfo.spark_version()
              + ": this version reads plans of Spark 4.2 with Delta 4.4");
    require(known, type.getSuperclass(), name);
    for (Class<?> above : type.getInterfaces()) require(known, above, name);
  }
}
