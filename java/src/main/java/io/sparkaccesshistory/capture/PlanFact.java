package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.StructType;
import scala.collection.Seq;

/** What is known of one relation or target; fields that stay null are left out. */
final class PlanFact {
  String node;
  Object key;
  String name;
  String newName;
  String source;
  String provider;
  final List<String> locations = new ArrayList<>();
  Object tableId;
  Object version;
  boolean view;
  boolean external;
  boolean partial;
  private StructType before;
  private StructType migrated;
  boolean temporary;
  boolean streaming;
  String mode;
  List<Attribute> output;
  List<?> partitions;
  Object schema;
  final List<Object[]> changes = new ArrayList<>();
  PlanFact cloned;
  private Map<String, String> foreign;
  private Object options;

  void relation(Object node) {
    Object relation = Members.call(node, "relation");
    Object table = Members.call(node, "table");
    catalogTable(PlanText.some(Members.call(node, "catalogTable")));
    if (node.getClass().getSimpleName().equals("HiveTableRelation")) {
      catalogTable(Members.call(node, "tableMeta"));
      provider = "hive";
    }
    if (relation instanceof org.apache.spark.sql.execution.datasources.HadoopFsRelation) {
      org.apache.spark.sql.execution.datasources.HadoopFsRelation files =
          (org.apache.spark.sql.execution.datasources.HadoopFsRelation) relation;
      if (provider == null
          && files.fileFormat() instanceof org.apache.spark.sql.sources.DataSourceRegister) {
        provider =
            ((org.apache.spark.sql.sources.DataSourceRegister) files.fileFormat()).shortName();
      }
      fileIndex(files.location());
      if (streaming) folders(Scala.map(files.options()).get("basePath"));
    } else if (relation != null && name == null) {
      foreign = ForeignSource.of(relation);
      if (foreign == null) locations.add(relation.toString());
    } else if (relation == null) {
      foreign = ForeignSource.of(node);
      if (foreign != null) return;
    }
    if (relation != null) deltaParts(relation);
    if (table instanceof org.apache.spark.sql.connector.catalog.Table) {
      v2(
          table,
          PlanText.some(Members.call(node, "catalog")),
          PlanText.some(Members.call(node, "identifier")));
    }
    Object real = Members.call(node, "sourceName");
    if (real instanceof String && provider == null) provider = (String) real;
  }

  void v2(Object table, Object catalog, Object identifier) {
    catalogTable(PlanText.some(Members.call(table, "catalogTable")));
    if (Members.call(table, "v1Table") instanceof CatalogTable)
      catalogTable(Members.call(table, "v1Table"));
    deltaParts(table);
    Object path = Members.call(table, "path");
    if (path != null && locations.isEmpty()) location(path);
    Object index = Members.call(table, "fileIndex");
    if (index != null) fileIndex(index);
    if (name == null && identifier != null && path == null)
      name = PlanText.qualified(catalog, identifier);
    if (name == null && locations.isEmpty()) {
      name = catalog == null ? null : PlanText.qualified(catalog, identifier);
      if (name == null) locations.add(String.valueOf(Members.call(table, "name")));
    }
    if (index != null && Members.call(table, "formatName") != null && provider == null) {
      provider = String.valueOf(Members.call(table, "formatName")).toLowerCase();
    }
  }

  void fileIndex(Object index) {
    if (locations.isEmpty()) {
      Object roots = Members.call(index, "rootPaths");
      if (roots instanceof Seq) for (Object root : PlanText.list(roots)) location(root);
    }
    deltaParts(index);
  }

  /**
   * A micro-batch names each of its files; what is read is the folder, which is their base path, or
   * theirs where the stream reads a pattern (Spark 4.2, FileStreamSource.getBatch).
   */
  private void folders(String base) {
    List<String> files = new ArrayList<>(locations);
    locations.clear();
    if (base != null && new Path(base).isAbsolute()) location(new Path(base));
    else for (String file : files) location(new Path(file).getParent());
  }

  void deltaParts(Object owner) {
    if (!owner.getClass().getName().startsWith("org.apache.spark.sql.delta")) return;
    provider = "delta";
    if (tableId != null) return;
    Object snapshot = Members.call(owner, "snapshotAtAnalysis");
    if (snapshot == null) snapshot = Members.call(owner, "initialSnapshot");
    Object log = Members.call(owner, "deltaLog");
    if (snapshot == null && log == null && owner.getClass().getSimpleName().equals("DeltaLog"))
      log = owner;
    if (snapshot == null && log != null) snapshot = Members.call(log, "unsafeVolatileSnapshot");
    if (snapshot != null) snapshot(snapshot);
  }

  void snapshot(Object snapshot) {
    version = Members.call(snapshot, "version");
    Object metadata = Members.call(snapshot, "metadata");
    tableId = Members.call(metadata, "id");
    partitions = PlanText.list(Members.call(metadata, "partitionColumns"));
    schema = Members.call(snapshot, "schema");
    if (locations.isEmpty())
      location(
          Members.call(snapshot, "path") == null ? null : parent(Members.call(snapshot, "path")));
  }

  static Object parent(Object path) {
    Object name = Members.call(path, "getName");
    return "_delta_log".equals(name) ? Members.call(path, "getParent") : path;
  }

  void catalogTable(Object value) {
    if (!(value instanceof CatalogTable)) return;
    CatalogTable table = (CatalogTable) value;
    if (name == null) name = PlanText.identifierName(table.identifier());
    view = view || table.tableType().name().equals("VIEW");
    external = external || table.tableType().name().equals("EXTERNAL");
    leaves(table.storage().properties());
    if (provider == null && table.provider().isDefined()) provider = table.provider().get();
    Object uri = PlanText.some(table.storage().locationUri());
    if (uri != null && locations.isEmpty()) location(uri);
    List<String> parts = Scala.list(table.partitionColumnNames());
    if (partitions == null && !parts.isEmpty()) partitions = parts;
    if (!table.schema().isEmpty() && schema == null) schema = table.schema();
  }

  private boolean evolves() {
    return migrated != null
        && (before == null || !migrated.catalogString().equalsIgnoreCase(before.catalogString()));
  }

  /** A constructor parameter of a command. */
  void part(String field, Object value) {
    String kind = PlanText.kind(value);
    if (value instanceof scala.collection.Map && field.toLowerCase().endsWith("options")) {
      leaves((scala.collection.Map<?, ?>) value);
      options = value;
    }
    // Delta's MERGE holds the target and its schema of afterwards, with or without evolution (4.4).
    if (field.equals("target") && value instanceof LogicalPlan)
      before = ((LogicalPlan) value).schema();
    if (field.equals("migratedSchema")) migrated = (StructType) value;
    if (value instanceof CatalogTable) catalogTable(value);
    else if (field.equals("column") && value instanceof TreeNode) change("ALTER", value);
    else if (field.equals("newName") && value instanceof Seq) newName = PlanText.dotted(value);
    else if (kind.equals("CloneTableCommand")) clone(value);
    else if (field.equals("sink")) sink(value, kind);
    else if (field.equals("relation") && node.equals("WriteToMicroBatchDataSource")) {
      if (PlanText.some(Members.call(value, "identifier")) != null) relation(value);
      // A sink without a name is known by its class.
      else provider = PlanText.kind(Members.call(value, "table"));
    } else if (value instanceof TableIdentifier) {
      String given = PlanText.identifierName((TableIdentifier) value);
      if (field.equals("sourceTable")) source = given;
      else if (name == null) name = given;
      // The analyzer gives each view of the catalog its schema, a temporary one none (Spark 4.2).
      if (node.equals("AlterViewAsCommand") && ((TableIdentifier) value).database().isEmpty())
        temporary = true;
      else if (field.equals("newName")) newName = given;
    } else if (kind.equals("LogicalRelation") || kind.equals("DataSourceV2Relation")) {
      if (field.equals("table") || field.equals("logicalRelation")) {
        relation(value);
        output = Scala.list(((LogicalPlan) value).output());
      }
    } else if (kind.startsWith("Resolved")) {
      resolved(field, value, kind);
    } else if (kind.equals("Path") && field.equals("outputPath")) {
      if (locations.isEmpty()) location(value);
    } else if (value instanceof CatalogStorageFormat) {
      Object uri = PlanText.some(((CatalogStorageFormat) value).locationUri());
      if (uri != null && locations.isEmpty()) location(uri);
    } else if (field.equals("options") && value instanceof scala.collection.Map) {
      Object path = Scala.map((scala.collection.Map<?, ?>) value).get("path");
      if (path != null && locations.isEmpty()) {
        provider = provider == null ? "path" : provider;
        location(path);
      }
    } else if (value instanceof org.apache.spark.sql.sources.DataSourceRegister) {
      provider = ((org.apache.spark.sql.sources.DataSourceRegister) value).shortName();
    } else if (value instanceof org.apache.spark.sql.SaveMode) {
      mode = value.toString();
    } else if (kind.equals("DeltaTableV2")) {
      v2(value, null, null);
    } else if (kind.startsWith("Tahoe") || kind.equals("DeltaLog")) {
      if (kind.equals("DeltaLog")) deltaParts(value);
      else fileIndex(value);
    } else if (field.equals("databaseName") && value instanceof String) {
      name = "spark_catalog." + PlanText.quoted((String) value);
    } else if (field.equals("viewType")) {
      temporary = !kind.equals("PersistedView");
    } else if (field.equals("newName") && value instanceof String) {
      newName = (String) value;
    } else if (field.equals("newIdent")) {
      newName = PlanText.qualified(null, value);
    } else if (field.equals("newColumn")) {
      change("ALTER", value);
    } else if (value instanceof Seq) {
      changes(field, PlanText.list(value));
    }
  }

  /** Whether a writer's options leave rows or partitions of an overwritten table in place. */
  void leaves(scala.collection.Map<?, ?> options) {
    String said = options.toString().toLowerCase();
    partial =
        partial
            || said.indexOf("replacewhere ->") >= 0
            || said.indexOf("partitionoverwritemode -> dynamic") >= 0;
  }

  /**
   * What CREATE TABLE … CLONE copies: the table (Delta 4.4 keeps the clone as the query of its
   * create).
   */
  void clone(Object value) {
    Object from = Members.call(value, "sourceTable");
    PlanFact fact = new PlanFact();
    fact.node = "CloneSource";
    fact.catalogTable(PlanText.some(Members.call(from, "catalogTable")));
    Object snapshot = PlanText.some(Members.call(from, "snapshot"));
    if (snapshot != null) fact.snapshot(snapshot);
    if (fact.schema == null) fact.schema = Members.call(from, "schema");
    if (fact.name == null && fact.locations.isEmpty())
      fact.name = String.valueOf(Members.call(from, "name"));
    cloned = fact;
    source = fact.name;
  }

  /** The sink of a micro-batch; one of foreachBatch has no place of its own. */
  void sink(Object value, String kind) {
    provider =
        kind.equals("DeltaSink")
            ? "delta"
            : kind.startsWith("ForeachBatch") ? "foreachBatch" : kind;
    Object path = Members.call(value, "path");
    if (path == null) path = Members.field(value, "path");
    if (path != null && locations.isEmpty()) location(path);
  }

  void resolved(String field, Object value, String kind) {
    String given = null;
    if (kind.equals("ResolvedNamespace")) {
      given =
          PlanText.namespace(
              Members.call(value, "catalog"), PlanText.list(Members.call(value, "namespace")));
    } else if (kind.equals("ResolvedTempView")) {
      temporary = true;
      given = String.valueOf(Members.call(Members.call(value, "identifier"), "name"));
    } else {
      given = PlanText.qualified(Members.call(value, "catalog"), Members.call(value, "identifier"));
    }
    if (field.equals("source")) {
      source = given;
      return;
    }
    if (kind.equals("ResolvedPersistentView")) view = true;
    if (name == null) name = given;
    Object table = Members.call(value, "table");
    if (table != null) {
      v2(table, Members.call(value, "catalog"), Members.call(value, "identifier"));
    }
  }

  void changes(String field, List<?> values) {
    String operation =
        field.equals("columns") || field.equals("columnsToAdd") || field.equals("colsToAdd")
            ? "ADD"
            : field.equals("userSpecifiedColumns")
                ? "ADD"
                : field.equals("columnsToDrop") || field.equals("colsToDrop")
                    ? "DROP"
                    : field.equals("specs") ? "ALTER" : null;
    if (operation == null) return;
    for (var one : values) change(operation, one);
  }

  void change(String operation, Object value) {
    Object name = null;
    Object type = Members.call(value, "dataType");
    if (value instanceof scala.Tuple2) name = ((scala.Tuple2<?, ?>) value)._1();
    if (value instanceof Seq) name = PlanText.dotted(value);
    if (name == null && PlanText.kind(value).equals("AlterColumnSpec")) {
      Object column = Members.call(value, "column");
      name = Members.call(column, "name");
      type = PlanText.some(Members.call(value, "newDataType"));
    }
    if (name == null) name = Members.call(value, "colName");
    if (name == null) name = Members.call(value, "name");
    if (name instanceof Seq) name = PlanText.dotted(name);
    if (name == null) return;
    changes.add(
        new Object[] {operation, name, type == null ? "" : Members.call(type, "catalogString")});
  }

  void location(Object path) {
    if (path == null) return;
    String text = path.toString();
    if (text.startsWith("/")) text = "file:" + text;
    while (text.length() > 1 && text.endsWith("/")) text = text.substring(0, text.length() - 1);
    if (!locations.contains(text)) locations.add(text);
  }

  /** After all parts of a command: what it writes may lie outside of Spark. */
  void complete() {
    if (name == null && locations.isEmpty() && foreign == null && options != null)
      foreign = ForeignSource.named(provider, options);
  }

  void write(StringBuilder out) {
    PlanText.text(out.append("{\"node\":"), node);
    if (key != null) out.append(",\"key\":").append(key);
    PlanText.put(out, "name", name);
    PlanText.put(out, "new_name", newName);
    PlanText.put(out, "source", source);
    PlanText.put(out, "provider", provider);
    PlanText.put(out, "table_id", tableId);
    PlanText.put(out, "mode", mode);
    if (version != null) out.append(",\"version\":").append(version);
    if (view) out.append(",\"view\":true");
    if (external) out.append(",\"external\":true");
    if (partial) out.append(",\"partial\":true");
    if (evolves()) out.append(",\"evolves\":true");
    if (temporary) out.append(",\"temporary\":true");
    if (streaming) out.append(",\"streaming\":true");
    if (!locations.isEmpty()) PlanText.strings(out.append(",\"locations\":"), locations);
    if (partitions != null && !partitions.isEmpty())
      PlanText.strings(out.append(",\"partition_columns\":"), partitions);
    if (foreign != null) {
      String comma = "";
      out.append(",\"foreign\":{");
      for (var one : foreign.entrySet()) {
        PlanText.text(out.append(comma), one.getKey());
        PlanText.text(out.append(':'), one.getValue());
        comma = ",";
      }
      out.append('}');
    }
    columns(out);
    if (!changes.isEmpty()) {
      out.append(",\"changes\":[");
      for (int i = 0; i < changes.size(); i++) {
        Object[] change = changes.get(i);
        if (i > 0) out.append(',');
        PlanText.text(out.append('['), change[0]);
        PlanText.text(out.append(','), change[1]);
        PlanText.text(out.append(','), change[2]);
        out.append(']');
      }
      out.append(']');
    }
    out.append('}');
  }

  private void columns(StringBuilder out) {
    boolean first = true;
    if (output != null) {
      out.append(",\"columns\":[");
      for (Attribute column : output) {
        if (column.metadata().contains("__metadata_col"))
          continue; // hidden: no star shows it (Spark 4.2)
        first = column(out, first, column.name(), column.dataType(), column.metadata());
      }
      out.append(']');
    } else if (schema instanceof org.apache.spark.sql.types.StructType) {
      org.apache.spark.sql.types.StructField[] fields =
          ((org.apache.spark.sql.types.StructType) schema).fields();
      out.append(",\"columns\":[");
      for (var one : fields) {
        first = column(out, first, one.name(), one.dataType(), one.metadata());
      }
      out.append(']');
    }
  }

  private static boolean column(
      StringBuilder out,
      boolean first,
      String name,
      org.apache.spark.sql.types.DataType type,
      org.apache.spark.sql.types.Metadata metadata) {
    if (!first) out.append(',');
    PlanText.text(out.append('['), name);
    PlanText.text(out.append(','), type.catalogString());
    if (metadata.contains("delta.columnMapping.id")) {
      out.append(',').append(metadata.getLong("delta.columnMapping.id"));
    }
    out.append(']');
    return false;
  }
}
