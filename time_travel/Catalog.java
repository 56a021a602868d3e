import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogDatabase;
import org.apache.spark.sql.catalyst.catalog.CatalogFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.catalyst.catalog.InMemoryCatalog;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;

/** What the session catalog knows of schemas, tables, views and functions, as JSON in one call. Compiled by Janino
 *  at run time: no lambdas, no generics. */
public class Catalog {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String HIVES = "org.apache.spark.sql.hive.HiveExternalCatalog";

  private static ExternalCatalog external(SparkSession spark) {
    return spark.sessionState().catalog().externalCatalog();
  }

  private static String text(Object value) throws Exception { return JSON.writeValueAsString(value); }

  /** One table or view, or "null"; without a schema a temporary view counts first, and then the session catalog alone
   *  where it is the current one. */
  public String table(SparkSession spark, String schema, String name) throws Exception {
    SessionCatalog catalog = spark.sessionState().catalog();
    TableIdentifier id = new TableIdentifier(name, Option.apply(schema), Option.empty());
    if (schema == null && catalog.isTempView(id)) return text(described(catalog.getTempViewOrPermanentTableMetadata(id), true));
    if (schema == null && !"spark_catalog".equals(currentCatalog(spark))) return "null";
    // One call of the metastore, where SessionCatalog.getTableMetadata makes four.
    try {
      String there = schema == null ? catalog.getCurrentDatabase() : schema;
      return text(described(external(spark).getTable(folded(spark, there), folded(spark, name)), false));
    } catch (Exception e) {
      if (isAbsent(e)) return "null";
      throw e;
    }
  }

  /** A catalog that is opened meanwhile keeps to the settings of the active session: it has to be this one. */
  private static String currentCatalog(SparkSession spark) {
    Option active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(spark);
    try {
      return spark.sessionState().catalogManager().currentCatalog().name();
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession((SparkSession) active.get());
    }
  }

  private static String folded(SparkSession spark, String name) {
    return spark.sessionState().conf().caseSensitiveAnalysis() ? name : name.toLowerCase(java.util.Locale.ROOT);
  }

  private static boolean isAbsent(Exception e) {
    return e instanceof NoSuchTableException || e instanceof NoSuchDatabaseException
        || e instanceof NoSuchNamespaceException;
  }

  /** All tables and views of a schema, as a JSON array; those that another session drops meanwhile are missing. */
  public String tables(SparkSession spark, String schema) throws Exception {
    ExternalCatalog catalog = external(spark);
    List found = new ArrayList();
    scala.collection.Iterator each = catalog.getTablesByName(schema, catalog.listTables(schema)).iterator();
    while (each.hasNext()) found.add(described((CatalogTable) each.next(), false));
    return text(found);
  }

  /** The table that lies at a location, or "null". */
  public String at(SparkSession spark, String location) throws Exception {
    org.apache.hadoop.fs.Path wanted = new org.apache.hadoop.fs.Path(location);
    org.apache.hadoop.fs.FileSystem store = wanted.getFileSystem(spark.sessionState().newHadoopConf());
    wanted = store.makeQualified(wanted);
    ExternalCatalog catalog = external(spark);
    scala.collection.Iterator schemas = catalog.listDatabases().iterator();
    while (schemas.hasNext()) {
      String schema = (String) schemas.next();
      scala.collection.Iterator each = catalog.getTablesByName(schema, catalog.listTables(schema)).iterator();
      while (each.hasNext()) {
        CatalogTable table = (CatalogTable) each.next();
        Object uri = or(table.storage().locationUri());
        if (uri == null) continue;
        String scheme = ((java.net.URI) uri).getScheme();
        if (scheme != null && !scheme.equals(wanted.toUri().getScheme())) continue;
        if (wanted.equals(store.makeQualified(new org.apache.hadoop.fs.Path((java.net.URI) uri))))
          return text(described(table, false));
      }
    }
    return "null";
  }

  private static Map described(CatalogTable table, boolean temporary) {
    Map found = new LinkedHashMap();
    found.put("schema", or(table.identifier().database()));
    found.put("name", table.identifier().table());
    found.put("kind", table.tableType().name());
    found.put("temporary", Boolean.valueOf(temporary));
    found.put("provider", or(table.provider()));
    Object uri = or(table.storage().locationUri());
    found.put("location", uri == null ? null : new org.apache.hadoop.fs.Path((java.net.URI) uri).toString());
    found.put("comment", or(table.comment()));
    found.put("owner", table.owner());
    found.put("created", Long.valueOf(table.createTime()));
    found.put("properties", map(table.properties()));
    found.put("view_text", or(table.viewText()));
    if (table.viewText().isDefined()) {
      found.put("view_current", list(table.viewCatalogAndNamespace()));
      found.put("view_queried", list(table.viewQueryColumnNames()));
      List columns = new ArrayList();
      for (int i = 0; i < table.schema().fields().length; i++) {
        Map column = new LinkedHashMap();
        column.put("name", table.schema().fields()[i].name());
        column.put("comment", or(table.schema().fields()[i].getComment()));
        columns.add(column);
      }
      found.put("columns", columns);
    }
    return found;
  }

  /** A schema, or "null". */
  public String schema(SparkSession spark, String name) throws Exception {
    CatalogDatabase found;
    try {
      found = external(spark).getDatabase(name);
    } catch (Exception e) {
      if (isAbsent(e)) return "null";
      throw e;
    }
    Map schema = new LinkedHashMap();
    schema.put("name", found.name());
    schema.put("comment", found.description());
    schema.put("location", new org.apache.hadoop.fs.Path(found.locationUri()).toString());
    schema.put("properties", map(found.properties()));
    return text(schema);
  }

  /** Sets a property of a schema. Spark's ALTER SCHEMA refuses where the location has characters that it encodes. */
  public void setSchemaProperty(SparkSession spark, String name, String key, String value) throws Exception {
    CatalogDatabase found = external(spark).getDatabase(name);
    external(spark).alterDatabase(new CatalogDatabase(found.name(), found.description(), found.locationUri(),
        (scala.collection.immutable.Map) found.properties().$plus(new scala.Tuple2(key, value))));
  }

  /** Whether `dropSchema` can be done. */
  public boolean leavesFolders(SparkSession spark) {
    ExternalCatalog catalog = unwrapped(spark);
    return catalog instanceof InMemoryCatalog || HIVES.equals(catalog.getClass().getName());
  }

  /** Drops a schema with all that is in it, and leaves each file where it is. */
  public void dropSchema(SparkSession spark, String name) throws Exception {
    ExternalCatalog catalog = unwrapped(spark);
    scala.collection.Iterator tables = catalog.listTables(name).iterator();
    if (HIVES.equals(catalog.getClass().getName())) {
      Object client = called(catalog, "client");
      Method within = client.getClass().getMethod("withHiveState", new Class[] {scala.Function0.class});
      within.invoke(client, new Object[] {new Dropping(client, name)});
    } else {
      // It deletes the folder where the schema lies: none.
      CatalogDatabase found = catalog.getDatabase(name);
      java.net.URI nowhere = new org.apache.hadoop.fs.Path(found.locationUri() + "-" + java.util.UUID.randomUUID()).toUri();
      catalog.alterDatabase(new CatalogDatabase(found.name(), found.description(), nowhere, found.properties()));
      catalog.dropDatabase(name, false, true);
    }
    while (tables.hasNext())
      spark.sessionState().catalog().refreshTable(
          new TableIdentifier((String) tables.next(), Option.apply(name), Option.empty()));
  }

  private static ExternalCatalog unwrapped(SparkSession spark) {
    return ((ExternalCatalogWithListener) external(spark)).unwrapped();
  }

  private static Object called(Object of, String name) throws Exception {
    Method method = of.getClass().getDeclaredMethod(name, new Class[0]);
    method.setAccessible(true);
    return method.invoke(of, new Object[0]);
  }

  /** Hive's own DROP DATABASE … CASCADE as Spark (4.2) calls it, but for `deleteData`. */
  private static class Dropping extends scala.runtime.AbstractFunction0 {
    private final Object client;
    private final String schema;

    Dropping(Object client, String schema) {
      this.client = client;
      this.schema = schema;
    }

    public Object apply() {
      try {
        Object hive = called(client, "client");
        Method drop = hive.getClass().getMethod("dropDatabase",
            new Class[] {String.class, Boolean.TYPE, Boolean.TYPE, Boolean.TYPE});
        return drop.invoke(hive, new Object[] {schema, Boolean.FALSE, Boolean.FALSE, Boolean.TRUE});
      } catch (Exception e) {
        throw new IllegalStateException("Hive has not dropped the schema " + schema, e);
      }
    }
  }

  /** Drops a table. */
  public void drop(SparkSession spark, String schema, String name) {
    TableIdentifier id = new TableIdentifier(name, Option.apply(schema), Option.empty());
    spark.sessionState().catalog().dropTable(id, true, false);
  }

  /** The names of all schemas. */
  public String schemas(SparkSession spark) throws Exception { return text(list(external(spark).listDatabases())); }

  /** The functions of a schema, with what brings them back. */
  public String functions(SparkSession spark, String schema) throws Exception {
    ExternalCatalog catalog = external(spark);
    List found = new ArrayList();
    scala.collection.Iterator each = catalog.listFunctions(schema, "*").iterator();
    while (each.hasNext()) found.add(described(catalog.getFunction(schema, (String) each.next())));
    return text(found);
  }

  private static Map described(CatalogFunction function) {
    Map found = new LinkedHashMap();
    found.put("schema", or(function.identifier().database()));
    found.put("name", function.identifier().funcName());
    found.put("class_name", function.className());
    List resources = new ArrayList();
    scala.collection.Iterator each = function.resources().iterator();
    while (each.hasNext()) {
      org.apache.spark.sql.catalyst.catalog.FunctionResource one =
          (org.apache.spark.sql.catalyst.catalog.FunctionResource) each.next();
      resources.add(one.resourceType().resourceType() + " " + one.uri());
    }
    found.put("resources", resources);
    return found;
  }

  /** Registers a function again; its resources are lines of "type uri". */
  public void restoreFunction(SparkSession spark, String schema, String name, String className, String resources) {
    List found = new ArrayList();
    String[] lines = resources.isEmpty() ? new String[0] : resources.split("\n");
    for (int i = 0; i < lines.length; i++) {
      int blank = lines[i].indexOf(' ');
      found.add(new org.apache.spark.sql.catalyst.catalog.FunctionResource(
          org.apache.spark.sql.catalyst.catalog.FunctionResourceType.fromString(lines[i].substring(0, blank)),
          lines[i].substring(blank + 1)));
    }
    external(spark).createFunction(schema, new CatalogFunction(
        new org.apache.spark.sql.catalyst.FunctionIdentifier(name, Option.apply(schema), Option.empty()), className,
        scala.jdk.javaapi.CollectionConverters.asScala(found).toSeq()));
  }

  /** Moves a folder; false where the store refuses. What Delta remembers of the old place is forgotten. */
  public boolean rename(SparkSession spark, String from, String to) throws java.io.IOException {
    org.apache.hadoop.fs.Path source = new org.apache.hadoop.fs.Path(from);
    org.apache.hadoop.fs.Path target = new org.apache.hadoop.fs.Path(to);
    org.apache.hadoop.fs.FileSystem store = source.getFileSystem(spark.sessionState().newHadoopConf());
    store.mkdirs(target.getParent());
    boolean done = store.rename(source, target);
    org.apache.spark.sql.delta.DeltaLog.invalidateCache(spark, source);
    return done;
  }

  /** From now on Spark leaves a table's files alone when it is dropped; `location` is where they lie by now, null
   *  for where they lay. The fields are set by their names: the twenty others that `copy` asks for differ between
   *  Spark's versions. */
  public void makeExternal(SparkSession spark, String schema, String name, String location) throws Exception {
    ExternalCatalog catalog = external(spark);
    CatalogTable table = catalog.getTable(schema, name);
    set(CatalogTable.class, "tableType", table, CatalogTableType.EXTERNAL());
    if (location != null) {
      Object uri = new org.apache.hadoop.fs.Path(location).toUri();
      set(org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat.class, "locationUri", table.storage(),
          Option.apply(uri));
    }
    catalog.alterTable(table);
    spark.sessionState().catalog().refreshTable(table.identifier());
  }

  private static void set(Class owner, String name, Object of, Object value) throws Exception {
    java.lang.reflect.Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    field.set(of, value);
  }

  private static Object or(Option value) { return value.isEmpty() ? null : value.get(); }

  private static List list(scala.collection.Iterable values) {
    List found = new ArrayList();
    scala.collection.Iterator each = values.iterator();
    while (each.hasNext()) found.add(each.next());
    return found;
  }

  private static Map map(scala.collection.immutable.Map values) {
    Map found = new LinkedHashMap();
    scala.collection.Iterator each = values.iterator();
    while (each.hasNext()) {
      scala.Tuple2 pair = (scala.Tuple2) each.next();
      found.put(pair._1(), pair._2());
    }
    return found;
  }
}
