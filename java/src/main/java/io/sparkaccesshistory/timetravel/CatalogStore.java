package io.sparkaccesshistory.timetravel;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Relations;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogDatabase;
import org.apache.spark.sql.catalyst.catalog.CatalogFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.catalyst.catalog.FunctionResource;
import org.apache.spark.sql.catalyst.catalog.FunctionResourceType;
import org.apache.spark.sql.catalyst.catalog.InMemoryCatalog;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import scala.Option;
import scala.collection.immutable.Seq;

/** What the session catalog knows of schemas, tables, views and functions, as JSON in one call. */
public class CatalogStore {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String HIVES = "org.apache.spark.sql.hive.HiveExternalCatalog";

  private static ExternalCatalog external(SparkSession spark) {
    return spark.sessionState().catalog().externalCatalog();
  }

  private static String text(Object value) throws Exception {
    return JSON.writeValueAsString(value);
  }

  /**
   * The entry of a table or view by its name in SQL, or "null". Spark's own rule says what the name
   * stands for: a temporary view first, then the catalog that the first part names, then the
   * current catalog. Nothing is read but the entry, so a table whose files are damaged is found.
   */
  public String table(SparkSession spark, String name) throws Exception {
    SessionCatalog catalog = spark.sessionState().catalog();
    Seq<String> parts = spark.sessionState().sqlParser().parseMultipartIdentifier(name);
    if (catalog.isTempView(parts)) {
      List<String> words = Scala.list(parts);
      Option<String> schema = words.size() > 1 ? Option.apply(words.get(0)) : Option.empty();
      TableIdentifier id = new TableIdentifier(words.get(words.size() - 1), schema, Option.empty());
      return text(described(catalog.getTempViewOrPermanentTableMetadata(id), true));
    }
    Identifier id = inSessionCatalog(spark, parts);
    if (id == null || id.namespace().length != 1) return "null";
    // One call of the metastore, where SessionCatalog.getTableMetadata makes four (Spark 4.2).
    try {
      String schema = folded(spark, id.namespace()[0]);
      return text(described(external(spark).getTable(schema, folded(spark, id.name())), false));
    } catch (Exception e) {
      if (isAbsent(e)) return "null";
      throw e;
    }
  }

  /** Whether a name is that of a temporary view, made by SQL or of a DataFrame. */
  public boolean isTemporary(SparkSession spark, String name) throws Exception {
    return spark
        .sessionState()
        .catalog()
        .isTempView(spark.sessionState().sqlParser().parseMultipartIdentifier(name));
  }

  /**
   * What a name means in the session catalog; null for a name of another catalog. A catalog that is
   * opened by the way keeps the settings of the active session, so that has to be this one.
   */
  private static Identifier inSessionCatalog(SparkSession spark, Seq<String> parts) {
    var active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(spark);
    try {
      var found = spark.sessionState().analyzer().CatalogAndIdentifier().unapply(parts).get();
      return "spark_catalog".equals(found._1().name()) ? found._2() : null;
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession(active.get());
    }
  }

  private static String folded(SparkSession spark, String name) {
    return spark.sessionState().conf().caseSensitiveAnalysis()
        ? name
        : name.toLowerCase(Locale.ROOT);
  }

  /** Whether an error says that there is no such object. */
  static boolean isAbsent(Exception e) {
    return e instanceof NoSuchTableException
        || e instanceof NoSuchDatabaseException
        || e instanceof NoSuchNamespaceException;
  }

  /**
   * All tables and views of a schema, as a JSON array; those that another session drops meanwhile
   * are missing.
   */
  public String tables(SparkSession spark, String schema) throws Exception {
    ExternalCatalog catalog = external(spark);
    List<Map<String, Object>> found = new ArrayList<>();
    for (CatalogTable table :
        Scala.list(catalog.getTablesByName(schema, catalog.listTables(schema))))
      found.add(described(table, false));
    return text(found);
  }

  /**
   * The same, each with its columns as the JSON of its schema, as the catalog keeps it. Of a Delta
   * table the catalog may keep none: its log has them.
   */
  public String tablesWithColumns(SparkSession spark, String schema) throws Exception {
    ExternalCatalog catalog = external(spark);
    List<Map<String, Object>> found = new ArrayList<>();
    for (CatalogTable table :
        Scala.list(catalog.getTablesByName(schema, catalog.listTables(schema)))) {
      Map<String, Object> entry = described(table, false);
      entry.put("schema_json", table.schema().json());
      found.add(entry);
    }
    return text(found);
  }

  /** The place that a path leads to, by whatever links and dots. */
  public String real(SparkSession spark, String path) {
    return Relations.real(spark, new Path(path)).toString();
  }

  /** The table that lies at a location, or "null"; either may lead there by links. */
  public String at(SparkSession spark, String location) throws Exception {
    Path wanted = Relations.real(spark, new Path(location));
    ExternalCatalog catalog = external(spark);
    for (String schema : Scala.list(catalog.listDatabases())) {
      for (CatalogTable table :
          Scala.list(catalog.getTablesByName(schema, catalog.listTables(schema)))) {
        URI uri = Scala.orNull(table.storage().locationUri());
        if (uri == null) continue;
        String scheme = uri.getScheme();
        // Only mounts lead to another file system; what is not asked for is not opened.
        boolean mayLead = scheme == null || scheme.equals("viewfs");
        if (!mayLead && !scheme.equals(wanted.toUri().getScheme())) continue;
        if (wanted.equals(Relations.real(spark, new Path(uri))))
          return text(described(table, false));
      }
    }
    return "null";
  }

  private static Map<String, Object> described(CatalogTable table, boolean temporary) {
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("schema", Scala.orNull(table.identifier().database()));
    found.put("name", table.identifier().table());
    found.put("kind", table.tableType().name());
    found.put("temporary", Boolean.valueOf(temporary));
    found.put("provider", Scala.orNull(table.provider()));
    URI uri = Scala.orNull(table.storage().locationUri());
    found.put("location", uri == null ? null : new Path(uri).toString());
    found.put("comment", Scala.orNull(table.comment()));
    found.put("owner", table.owner());
    found.put("created", Long.valueOf(table.createTime()));
    found.put("properties", Scala.map(table.properties()));
    found.put("view_text", Scala.orNull(table.viewText()));
    if (table.viewText().isDefined()) {
      found.put("view_current", Scala.list(table.viewCatalogAndNamespace()));
      List<Map<String, String>> columns = new ArrayList<>();
      for (int i = 0; i < table.schema().fields().length; i++) {
        Map<String, String> column = new LinkedHashMap<>();
        column.put("name", table.schema().fields()[i].name());
        column.put("comment", Scala.orNull(table.schema().fields()[i].getComment()));
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
    Map<String, Object> schema = new LinkedHashMap<>();
    schema.put("name", found.name());
    schema.put("comment", found.description());
    schema.put("location", new Path(found.locationUri()).toString());
    schema.put("properties", Scala.map(found.properties()));
    return text(schema);
  }

  /**
   * Sets a property of a schema. Spark's ALTER SCHEMA refuses where the location has characters
   * that it encodes.
   */
  public void setSchemaProperty(SparkSession spark, String name, String key, String value)
      throws Exception {
    CatalogDatabase found = external(spark).getDatabase(name);
    Map<String, String> properties = new HashMap<>(Scala.map(found.properties()));
    properties.put(key, value);
    external(spark)
        .alterDatabase(
            new CatalogDatabase(
                found.name(),
                found.description(),
                found.locationUri(),
                Scala.immutable(properties)));
  }

  /** Whether `dropSchema` can be done. */
  public boolean leavesFolders(SparkSession spark) {
    ExternalCatalog catalog = unwrapped(spark);
    return catalog instanceof InMemoryCatalog || HIVES.equals(catalog.getClass().getName());
  }

  /** Drops a schema with all that is in it, and leaves each file where it is. */
  public void dropSchema(SparkSession spark, String name) throws Exception {
    ExternalCatalog catalog = unwrapped(spark);
    List<String> tables = Scala.list(catalog.listTables(name));
    if (HIVES.equals(catalog.getClass().getName())) {
      Object client = called(catalog, "client");
      Method within = client.getClass().getMethod("withHiveState", scala.Function0.class);
      within.invoke(client, new Dropping(client, name));
    } else {
      // It deletes the folder where the schema lies: none.
      CatalogDatabase found = catalog.getDatabase(name);
      URI nowhere = new Path(found.locationUri() + "-" + UUID.randomUUID()).toUri();
      catalog.alterDatabase(
          new CatalogDatabase(found.name(), found.description(), nowhere, found.properties()));
      catalog.dropDatabase(name, false, true);
    }
    for (String table : tables)
      spark
          .sessionState()
          .catalog()
          .refreshTable(new TableIdentifier(table, Option.apply(name), Option.empty()));
  }

  private static ExternalCatalog unwrapped(SparkSession spark) {
    return ((ExternalCatalogWithListener) external(spark)).unwrapped();
  }

  private static Object called(Object of, String name) throws Exception {
    Method method = of.getClass().getDeclaredMethod(name);
    method.setAccessible(true);
    return method.invoke(of);
  }

  /** Hive's own DROP DATABASE … CASCADE as Spark (4.2) calls it, but for `deleteData`. */
  private static class Dropping extends scala.runtime.AbstractFunction0<Object> {
    private final Object client;
    private final String schema;

    Dropping(Object client, String schema) {
      this.client = client;
      this.schema = schema;
    }

    @Override
    public Object apply() {
      try {
        Object hive = called(client, "client");
        Method drop =
            hive.getClass()
                .getMethod(
                    "dropDatabase", String.class, boolean.class, boolean.class, boolean.class);
        return drop.invoke(hive, schema, false, false, true);
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
  public String schemas(SparkSession spark) throws Exception {
    return text(Scala.list(external(spark).listDatabases()));
  }

  /** The functions of a schema, with what brings them back. */
  public String functions(SparkSession spark, String schema) throws Exception {
    ExternalCatalog catalog = external(spark);
    List<Map<String, Object>> found = new ArrayList<>();
    for (String function : Scala.list(catalog.listFunctions(schema, "*")))
      found.add(described(catalog.getFunction(schema, function)));
    return text(found);
  }

  private static Map<String, Object> described(CatalogFunction function) {
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("schema", Scala.orNull(function.identifier().database()));
    found.put("name", function.identifier().funcName());
    found.put("class_name", function.className());
    List<String> resources = new ArrayList<>();
    for (FunctionResource one : Scala.list(function.resources())) {
      resources.add(one.resourceType().resourceType() + " " + one.uri());
    }
    found.put("resources", resources);
    return found;
  }

  /** Registers a function again; its resources are lines of "type uri". */
  public void restoreFunction(
      SparkSession spark, String schema, String name, String className, String resources) {
    List<FunctionResource> found = new ArrayList<>();
    String[] lines = resources.isEmpty() ? new String[0] : resources.split("\n");
    for (var one : lines) {
      int blank = one.indexOf(' ');
      found.add(
          new FunctionResource(
              FunctionResourceType.fromString(one.substring(0, blank)), one.substring(blank + 1)));
    }
    external(spark)
        .createFunction(
            schema,
            new CatalogFunction(
                new FunctionIdentifier(name, Option.apply(schema), Option.empty()),
                className,
                Scala.seq(found)));
  }

  /**
   * Moves a folder; false where the store refuses. What Delta remembers of the old place is
   * forgotten.
   */
  public boolean rename(SparkSession spark, String from, String to) throws java.io.IOException {
    Path source = new Path(from);
    Path target = new Path(to);
    FileSystem store = source.getFileSystem(spark.sessionState().newHadoopConf());
    store.mkdirs(target.getParent());
    boolean done = store.rename(source, target);
    org.apache.spark.sql.delta.DeltaLog.invalidateCache(spark, source);
    return done;
  }

  /**
   * From now on Spark leaves a table's files alone when it is dropped; `location` is where they lie
   * by now, null for where they lay. The fields are set by their names: the twenty others that
   * `copy` asks for differ between Spark's versions.
   */
  public void makeExternal(SparkSession spark, String schema, String name, String location)
      throws Exception {
    ExternalCatalog catalog = external(spark);
    CatalogTable table = catalog.getTable(schema, name);
    set(CatalogTable.class, "tableType", table, CatalogTableType.EXTERNAL());
    if (location != null) {
      URI uri = new Path(location).toUri();
      set(CatalogStorageFormat.class, "locationUri", table.storage(), Option.apply(uri));
    }
    catalog.alterTable(table);
    spark.sessionState().catalog().refreshTable(table.identifier());
  }

  private static void set(Class<?> owner, String name, Object of, Object value) throws Exception {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    field.set(of, value);
  }
}
