import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.classic.SparkSession;
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
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What policies know Spark's relations by: Delta's id of a table, the name of anything else. */
class Relations {
  static final String MAPPED = "delta.columnMapping.id";
  private static final String PHYSICAL_NAME = "delta.columnMapping.physicalName";

  /** What a relation is known by; null for what nothing can protect, and for what Delta reads for itself. */
  static String keyOf(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      Object relation = ((LogicalRelation) plan).relation();
      if (relation instanceof CDCReader.DeltaCDFRelation) return keyOf(changesOf(relation));
      if (relation instanceof HadoopFsRelation) {
        FileIndex index = ((HadoopFsRelation) relation).location();
        if (index instanceof TahoeLogFileIndex) return "delta:" + ((TahoeLogFileIndex) index).metadata().id();
        if (index instanceof TahoeFileIndex) return null;
      }
    }
    if (plan instanceof DataSourceV2Relation) return keyOf(((DataSourceV2Relation) plan).table());
    TableIdentifier name = nameOf(plan);
    return name == null ? null : keyOf(name);
  }

  static String keyOf(Table table) { return table instanceof DeltaTableV2 ? keyOf(((DeltaTableV2) table).initialSnapshot()) : null; }

  static String keyOf(Snapshot snapshot) { return "delta:" + snapshot.metadata().id(); }

  static String keyOf(TableIdentifier name) { return "name:" + name.unquotedString().toLowerCase(Locale.ROOT); }

  static TableIdentifier identifier(CatalogPlugin catalog, Identifier name) {
    return TableIdentifier.apply(name.name(), Option.apply(String.join(".", name.namespace())), Option.apply(catalog.name()));
  }

  private static Snapshot changesOf(Object relation) {
    return ((CDCReader.DeltaCDFRelation) relation).snapshotWithSchemaMode().snapshot();
  }

  static TableIdentifier nameOf(Option table) { return table.isEmpty() ? null : ((CatalogTable) table.get()).identifier(); }

  /** The key of what has a name now; null where nothing has. */
  static String keyNow(SparkSession session, Securable on) {
    SessionCatalog catalog = session.sessionState().catalog();
    if (on.noun.equals("schema")) return catalog.databaseExists((String) on.id.database().get()) ? on.key : null;
    if (on.noun.equals("function"))
      return catalog.isPersistentFunction(FunctionIdentifier.apply(on.id.table(), on.id.database(), on.id.catalog())) ? on.key : null;
    try {
      if (!catalog.tableExists(on.id)) return null;
      Option location = catalog.getTableMetadata(on.id).storage().locationUri();
      Snapshot found = location.isEmpty() ? null : at(session, new Path((java.net.URI) location.get()));
      return found == null ? keyOf(on.id) : keyOf(found);
    } catch (NoSuchTableException e) {
      return null;
    } catch (NoSuchNamespaceException e) {
      return null;
    }
  }

  /** What the catalog calls a relation; null for one by its path, and for a temporary view. */
  static TableIdentifier nameOf(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) return nameOf(((LogicalRelation) plan).catalogTable());
    if (plan instanceof View) return ((View) plan).isTempView() ? null : ((View) plan).desc().identifier();
    return plan instanceof HiveTableRelation ? ((HiveTableRelation) plan).tableMeta().identifier() : null;
  }

  /** The key of the schema of a table: a part stands in back-ticks where it holds a dot or one of these. */
  static String schemaOf(TableIdentifier name) {
    String catalog = name.catalog().isEmpty() ? "spark_catalog" : (String) name.catalog().get();
    String schema = name.database().isEmpty() ? "" : (String) name.database().get();
    return ("schema:" + part(catalog) + '.' + part(schema)).toLowerCase(Locale.ROOT);
  }

  private static String part(String name) {
    return name.indexOf('.') < 0 && name.indexOf('`') < 0 ? name : '`' + name.replace("`", "``") + '`';
  }

  static boolean isOfThePast(LogicalPlan plan) {
    if (!(plan instanceof LogicalRelation)) return false;
    Object relation = ((LogicalRelation) plan).relation();
    if (relation instanceof CDCReader.DeltaCDFRelation) return true;
    if (!(relation instanceof HadoopFsRelation)) return false;
    Object index = ((HadoopFsRelation) relation).location();
    return index instanceof TahoeLogFileIndex && ((TahoeLogFileIndex) index).isTimeTravelQuery();
  }

  /** The key of the table as it is now whose past a relation is. */
  static String keyOfToday(LogicalPlan past) {
    Object relation = ((LogicalRelation) past).relation();
    if (relation instanceof CDCReader.DeltaCDFRelation) return keyOf(changesOf(relation).deltaLog().unsafeVolatileSnapshot());
    return keyOf(((TahoeFileIndex) ((HadoopFsRelation) relation).location()).deltaLog().unsafeVolatileSnapshot());
  }

  /** Delta's own names of the columns that part a relation's files, in lower case. */
  static List partitionsOf(LogicalPlan plan) {
    List found = new ArrayList();
    if (!(plan instanceof LogicalRelation) || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) return found;
    String[] names = ((HadoopFsRelation) ((LogicalRelation) plan).relation()).partitionSchema().fieldNames();
    for (int i = 0; i < names.length; i++) found.add(names[i].toLowerCase(Locale.ROOT));
    return found;
  }

  /** The CHECK constraints of a relation. */
  static List checksOf(LogicalPlan plan) {
    List found = new ArrayList();
    if (!(plan instanceof LogicalRelation) || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) return found;
    Object index = ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location();
    if (!(index instanceof TahoeLogFileIndex)) return found;
    Map settings = CollectionConverters.asJava(((TahoeLogFileIndex) index).metadata().configuration());
    Iterator each = settings.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (((String) entry.getKey()).startsWith("delta.constraints.")) found.add(entry.getValue());
    }
    return found;
  }

  /** Delta's metadata of a relation: the same object for as long as the table is the same; null for what is no table of
   *  Delta's. */
  static org.apache.spark.sql.delta.actions.Metadata metadataOf(LogicalPlan plan) {
    if (!(plan instanceof LogicalRelation)) return null;
    Object relation = ((LogicalRelation) plan).relation();
    if (relation instanceof CDCReader.DeltaCDFRelation) return changesOf(relation).metadata();
    if (!(relation instanceof HadoopFsRelation) || !(((HadoopFsRelation) relation).location() instanceof TahoeLogFileIndex)) return null;
    return ((TahoeLogFileIndex) ((HadoopFsRelation) relation).location()).metadata();
  }

  /** What Delta's column mapping says of the columns of a relation, by their names. */
  static Map mappingOf(LogicalPlan plan) {
    Map found = new HashMap();
    org.apache.spark.sql.delta.actions.Metadata metadata = metadataOf(plan);
    StructType schema = metadata == null ? null : metadata.schema();
    for (int i = 0; schema != null && i < schema.fields().length; i++)
      found.put(schema.fields()[i].name(), schema.fields()[i].metadata());
    return found;
  }

  /** What a column goes by whatever its name: its physical one. */
  static String columnKey(Attribute column, Map mapping) {
    Metadata said = (Metadata) mapping.get(column.name());
    String name = said != null && said.contains(PHYSICAL_NAME) ? said.getString(PHYSICAL_NAME) : column.name();
    return name.toLowerCase(Locale.ROOT);
  }

  /** The newest state of the Delta table that has its log right at a folder; null for none. */
  static Snapshot at(SparkSession session, Path folder) {
    try {
      Path log = new Path(folder, "_delta_log");
      if (!log.getFileSystem(session.sessionState().newHadoopConf()).exists(log)) return null;
      Snapshot found = DeltaLog.forTable(session, folder).unsafeVolatileSnapshot();
      return found.version() < 0 ? null : found;
    } catch (java.io.IOException e) {
      throw new SecurityException("whether policies protect " + folder + " cannot be told: " + e.getMessage());
    }
  }

  static Path qualified(SparkSession session, Path path) {
    try {
      return path.getFileSystem(session.sessionState().newHadoopConf()).makeQualified(path);
    } catch (java.io.IOException e) {
      throw new SecurityException("where " + path + " lies cannot be told: " + e.getMessage());
    }
  }

  /** Whether a path is a folder, or lies inside it. */
  static boolean isIn(Path path, Path folder) {
    for (Path one = path; one != null; one = one.getParent()) if (one.equals(folder)) return true;
    return false;
  }

  static Object[] arguments(LogicalPlan plan) {
    List found = new ArrayList();
    scala.collection.Iterator each = plan.productIterator();
    while (each.hasNext()) found.add(each.next());
    return found.toArray();
  }

  static scala.collection.immutable.Seq seq(List values) { return CollectionConverters.asScala(values).toSeq(); }
}
