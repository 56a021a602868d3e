package io.sparkaccesshistory.policies.model;

import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.viewfs.ViewFileSystem;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager$;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.cdc.CDCReader;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** What policies know Spark's relations by: Delta's id of a table, the name of anything else. */
public class Relations {
  /** Marks what is behind its policies already, or is read by a policy. */
  public static final TreeNodeTag<Boolean> GOVERNED = new TreeNodeTag<>("audit.governed");

  /** The folder of a Delta table's log, in its own. */
  public static final String LOG = "_delta_log";

  public static final String MAPPED = "delta.columnMapping.id";
  public static final String GENERATED = "delta.generationExpression";
  private static final String PHYSICAL_NAME = "delta.columnMapping.physicalName";

  /**
   * What a relation is known by; null for what nothing can protect, and for what Delta reads for
   * itself.
   */
  public static String keyOf(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      Object relation = ((LogicalRelation) plan).relation();
      if (relation instanceof CDCReader.DeltaCDFRelation) return keyOf(changesOf(relation));
      if (relation instanceof HadoopFsRelation) {
        FileIndex index = ((HadoopFsRelation) relation).location();
        if (index instanceof TahoeLogFileIndex)
          return "delta:" + ((TahoeLogFileIndex) index).metadata().id();
        if (index instanceof TahoeFileIndex) return null;
      }
    }
    if (plan instanceof DataSourceV2Relation) return keyOf(((DataSourceV2Relation) plan).table());
    TableIdentifier name = nameOf(plan);
    return name == null ? null : keyOf(name);
  }

  public static String keyOf(Table table) {
    return table instanceof DeltaTableV2 ? keyOf(((DeltaTableV2) table).initialSnapshot()) : null;
  }

  public static String keyOf(Snapshot snapshot) {
    return "delta:" + snapshot.metadata().id();
  }

  public static String keyOf(TableIdentifier name) {
    return "name:" + name.unquotedString().toLowerCase(Locale.ROOT);
  }

  /** A table of Spark's own catalog. */
  public static TableIdentifier inSessionCatalog(String name, String schema) {
    return TableIdentifier.apply(
        name, Option.apply(schema), Option.apply(CatalogManager$.MODULE$.SESSION_CATALOG_NAME()));
  }

  public static boolean isSessionCatalog(CatalogPlugin catalog) {
    return catalog.name().equals(CatalogManager$.MODULE$.SESSION_CATALOG_NAME());
  }

  public static TableIdentifier identifier(CatalogPlugin catalog, Identifier name) {
    return TableIdentifier.apply(
        name.name(),
        Option.apply(String.join(".", name.namespace())),
        Option.apply(catalog.name()));
  }

  private static Snapshot changesOf(Object relation) {
    return ((CDCReader.DeltaCDFRelation) relation).snapshotWithSchemaMode().snapshot();
  }

  public static TableIdentifier nameOf(Option<CatalogTable> table) {
    return table.isEmpty() ? null : table.get().identifier();
  }

  /** What the catalog calls a relation; null for one by its path, and for a temporary view. */
  public static TableIdentifier nameOf(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) return nameOf(((LogicalRelation) plan).catalogTable());
    if (plan instanceof View)
      return ((View) plan).isTempView() ? null : ((View) plan).desc().identifier();
    return plan instanceof HiveTableRelation
        ? ((HiveTableRelation) plan).tableMeta().identifier()
        : null;
  }

  /**
   * The key of the schema of a table: a part stands in back-ticks where it holds a dot or one of
   * these.
   */
  public static String schemaOf(TableIdentifier name) {
    String catalog = name.catalog().isEmpty() ? "spark_catalog" : name.catalog().get();
    String schema = name.database().isEmpty() ? "" : name.database().get();
    return ("schema:" + part(catalog) + '.' + part(schema)).toLowerCase(Locale.ROOT);
  }

  private static String part(String name) {
    return name.indexOf('.') < 0 && name.indexOf('`') < 0
        ? name
        : '`' + name.replace("`", "``") + '`';
  }

  public static boolean isOfThePast(LogicalPlan plan) {
    if (!(plan instanceof LogicalRelation)) return false;
    Object relation = ((LogicalRelation) plan).relation();
    if (relation instanceof CDCReader.DeltaCDFRelation) return true;
    if (!(relation instanceof HadoopFsRelation)) return false;
    Object index = ((HadoopFsRelation) relation).location();
    return index instanceof TahoeLogFileIndex && ((TahoeLogFileIndex) index).isTimeTravelQuery();
  }

  /** The key of the table as it is now whose past a relation is. */
  public static String keyOfToday(LogicalPlan past) {
    Object relation = ((LogicalRelation) past).relation();
    if (relation instanceof CDCReader.DeltaCDFRelation)
      return keyOf(changesOf(relation).deltaLog().unsafeVolatileSnapshot());
    return keyOf(
        ((TahoeFileIndex) ((HadoopFsRelation) relation).location())
            .deltaLog()
            .unsafeVolatileSnapshot());
  }

  /** Delta's own names of the columns that part a relation's files, in lower case. */
  public static List<String> partitionsOf(LogicalPlan plan) {
    List<String> found = new ArrayList<>();
    if (!(plan instanceof LogicalRelation)
        || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) return found;
    String[] names =
        ((HadoopFsRelation) ((LogicalRelation) plan).relation()).partitionSchema().fieldNames();
    for (var one : names) found.add(one.toLowerCase(Locale.ROOT));
    return found;
  }

  /** What Delta generates the columns of a relation from, by their names in lower case. */
  public static Map<String, String> generatedOf(LogicalPlan plan) {
    Map<String, String> found = new HashMap<>();
    for (var one : mappingOf(plan).entrySet())
      if (one.getValue().contains(GENERATED))
        found.put(one.getKey().toLowerCase(Locale.ROOT), one.getValue().getString(GENERATED));
    return found;
  }

  /** The CHECK constraints of a relation. */
  public static List<String> checksOf(LogicalPlan plan) {
    List<String> found = new ArrayList<>();
    if (!(plan instanceof LogicalRelation)
        || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) return found;
    Object index = ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location();
    if (!(index instanceof TahoeLogFileIndex)) return found;
    var settings = Scala.map(((TahoeLogFileIndex) index).metadata().configuration());
    for (var entry : settings.entrySet()) {
      if (entry.getKey().startsWith("delta.constraints.")) found.add(entry.getValue());
    }
    return found;
  }

  /**
   * Delta's metadata of a relation: the same object for as long as the table is the same; null for
   * what is no table of Delta's.
   */
  public static org.apache.spark.sql.delta.actions.Metadata metadataOf(LogicalPlan plan) {
    if (!(plan instanceof LogicalRelation)) return null;
    Object relation = ((LogicalRelation) plan).relation();
    if (relation instanceof CDCReader.DeltaCDFRelation) return changesOf(relation).metadata();
    if (!(relation instanceof HadoopFsRelation)
        || !(((HadoopFsRelation) relation).location() instanceof TahoeLogFileIndex)) return null;
    return ((TahoeLogFileIndex) ((HadoopFsRelation) relation).location()).metadata();
  }

  /** What Delta's column mapping says of the columns of a relation, by their names. */
  public static Map<String, Metadata> mappingOf(LogicalPlan plan) {
    Map<String, Metadata> found = new HashMap<>();
    org.apache.spark.sql.delta.actions.Metadata metadata = metadataOf(plan);
    StructType schema = metadata == null ? null : metadata.schema();
    for (int i = 0; schema != null && i < schema.fields().length; i++)
      found.put(schema.fields()[i].name(), schema.fields()[i].metadata());
    return found;
  }

  /** What a column goes by whatever its name: its physical one. */
  public static String columnKey(Attribute column, Map<String, Metadata> mapping) {
    return columnKey(column.name(), mapping.get(column.name()));
  }

  /** The same of a column in the schema of a table. */
  public static String columnKey(StructField column) {
    return columnKey(column.name(), column.metadata());
  }

  private static String columnKey(String name, Metadata said) {
    boolean isMapped = said != null && said.contains(PHYSICAL_NAME);
    return (isMapped ? said.getString(PHYSICAL_NAME) : name).toLowerCase(Locale.ROOT);
  }

  /** The state of the Delta table that has its log right at a folder; null for none. */
  public static Snapshot at(SparkSession session, Path folder) {
    return at(session, folder, false);
  }

  /** The same as of now, where another spelling of the folder may have been written by. */
  public static Snapshot newestAt(SparkSession session, Path folder) {
    return at(session, folder, true);
  }

  private static Snapshot at(SparkSession session, Path folder, boolean isNew) {
    try {
      Path log = new Path(folder, LOG);
      if (!log.getFileSystem(session.sessionState().newHadoopConf()).exists(log)) return null;
      DeltaLog table = DeltaLog.forTable(session, folder);
      Snapshot found =
          isNew
              ? table.update(false, Option.empty(), Option.empty())
              : table.unsafeVolatileSnapshot();
      return found.version() < 0 ? null : found;
    } catch (java.io.IOException e) {
      throw new SecurityException(
          "whether policies protect " + folder + " cannot be told: " + e.getMessage());
    }
  }

  /** Whether this JVM has a library for the scheme of a path. */
  public static boolean hasFileSystem(SparkSession session, Path path) {
    String scheme = path.toUri().getScheme();
    if (scheme == null) return true;
    try {
      FileSystem.getFileSystemClass(scheme, session.sessionState().newHadoopConf());
      return true;
    } catch (java.io.IOException | RuntimeException e) {
      return false;
    }
  }

  public static Path qualified(SparkSession session, Path path) {
    try {
      return path.getFileSystem(session.sessionState().newHadoopConf()).makeQualified(path);
    } catch (java.io.IOException e) {
      throw new SecurityException("where " + path + " lies cannot be told: " + e.getMessage());
    }
  }

  /**
   * Where a path leads to: a local one may go by links, and through other spellings; that of
   * another file system by a mount, which a setting of the session makes (ViewFileSystem, Hadoop
   * 3.5).
   */
  public static Path real(SparkSession session, Path path) {
    Path found = qualified(session, path);
    try {
      if (!isLocal(found)) found = resolved(session, found);
      if (!isLocal(found)) return found;
      java.io.File local = new java.io.File(found.toUri().getPath());
      return new Path("file", null, local.getCanonicalPath());
    } catch (java.io.IOException e) {
      throw new SecurityException("where " + path + " lies cannot be told: " + e.getMessage());
    }
  }

  /** Whether each path of a file system, a file's as well, may lead to another place. */
  public static boolean isMounted(SparkSession session, Path path) {
    try {
      return path.getFileSystem(session.sessionState().newHadoopConf()) instanceof ViewFileSystem;
    } catch (java.io.IOException e) {
      throw new SecurityException("where " + path + " lies cannot be told: " + e.getMessage());
    }
  }

  private static boolean isLocal(Path path) {
    return "file".equals(path.toUri().getScheme());
  }

  /** What is not there yet lies in the folder above it. */
  private static Path resolved(SparkSession session, Path path) throws java.io.IOException {
    try {
      return path.getFileSystem(session.sessionState().newHadoopConf()).resolvePath(path);
    } catch (java.io.FileNotFoundException e) {
      return path.getParent() == null
          ? path
          : new Path(resolved(session, path.getParent()), path.getName());
    }
  }

  /** Whether a path is a folder, or lies inside it. */
  public static boolean isIn(Path path, Path folder) {
    for (Path one = path; one != null; one = one.getParent()) if (one.equals(folder)) return true;
    return false;
  }

  public static Object[] arguments(LogicalPlan plan) {
    Object[] found = new Object[plan.productArity()];
    for (int i = 0; i < found.length; i++) found[i] = plan.productElement(i);
    return found;
  }
}
