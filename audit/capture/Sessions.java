import io.delta.tables.DeltaTableBuilder;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.classic.DataFrameWriter;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;

/** A clone of a session that marks its Delta commits with the id of a statement. Compiled by Janino at run time:
 *  no lambdas, no generics. */
public class Sessions {
  private static final String[] KEPT = {"_currentNamespace", "_currentCatalogName", "_sessionPath"};
  private static final String MARK = "spark.databricks.delta.commitInfo.userMetadata";
  /** What writes, and what those are made of, by class: each knows its session, by itself or by a Dataset. */
  private static final List WRITERS = Arrays.asList(new String[] {
      "org.apache.spark.sql.classic.DataFrameWriter", "org.apache.spark.sql.classic.DataFrameWriterV2",
      "org.apache.spark.sql.classic.MergeIntoWriter",
      "io.delta.tables.DeltaTable", "io.delta.tables.DeltaMergeBuilder", "io.delta.tables.DeltaOptimizeBuilder",
      "io.delta.tables.DeltaTableBuilder", "org.apache.spark.sql.delta.catalog.DeltaTableV2"});

  /** The clone has the session's settings, temporary views and functions (Spark clones those), and what Spark
   *  4.2 does not clone: its variables, its current catalog, and the catalogs that it has opened. */
  public SparkSession marked(SparkSession session, String statement) throws Exception {
    SparkSession clone = (SparkSession) session.cloneSession();
    // What the user has Delta write there stays.
    if (session.conf().getOption(MARK).isEmpty()) clone.conf().set(MARK, statement);
    // An Observation waits for its metrics in the session that it was made in.
    clone.observationManager();
    field(clone, "observationManager").set(clone, session.observationManager());
    CatalogManager from = session.sessionState().catalogManager();
    CatalogManager to = clone.sessionState().catalogManager();
    for (int i = 0; i < KEPT.length; i++) {
      Field field = field(from, KEPT[i]);
      field.set(to, field.get(from));
    }
    Field variables = field(from.tempVariableManager(), "variables");
    put(variables.get(from.tempVariableManager()), variables.get(to.tempVariableManager()));
    Field catalogs = field(from, "catalogs");
    put(catalogs.get(from), catalogs.get(to));
    openCatalog(clone);
    return clone;
  }

  /** Delta's catalog keeps the session that is active when it is opened, and `writeTo` makes none so. */
  private static void openCatalog(SparkSession session) {
    scala.Option active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(session);
    try {
      session.sessionState().catalogManager().v2SessionCatalog();
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession((SparkSession) active.get());
    }
  }

  /** The same writer in a marked clone of its session; the user's is as it was. */
  public Object writer(Object writer, String statement) throws Exception {
    return moved(writer, marked(home(writer), statement));
  }

  /** What a marked writer has made, in the session of the user's: what is done with it is of other statements. */
  public Object atHome(Object made, Object writer) throws Exception {
    return moved(made, home(writer));
  }

  /** What a call has changed about the marked writer, it would have changed about the user's. */
  public void giveBack(Object marked, Object writer, boolean placed) throws Exception {
    if (!(marked instanceof DataFrameWriter)) return;
    List fields = fields(marked.getClass());
    for (int i = 0; i < fields.size(); i++) {
      Field field = (Field) fields.get(i);
      Object value = field.get(marked);
      // Where it was placed, some of its options are ours.
      if (!(value instanceof Dataset) && !(placed && field.getName().equals("extraOptions"))) field.set(writer, value);
    }
  }

  /** Has a marked writer make its table at a location, with properties of Delta's. */
  public void place(Object writer, String location, java.util.Map properties) throws Exception {
    if (writer instanceof DataFrameWriter) {
      ((DataFrameWriter) writer).option("path", location).options(properties);
      return;
    }
    if (writer instanceof DeltaTableBuilder) {
      DeltaTableBuilder one = ((DeltaTableBuilder) writer).location(location);
      Iterator pairs = properties.entrySet().iterator();
      while (pairs.hasNext()) {
        java.util.Map.Entry pair = (java.util.Map.Entry) pairs.next();
        one.property((String) pair.getKey(), (String) pair.getValue());
      }
      return;
    }
    // The map of its properties is the user's writer's, too.
    Field held = field(writer, "properties");
    held.set(writer, ((scala.collection.mutable.HashMap) held.get(writer)).clone());
    scala.collection.mutable.HashMap found = (scala.collection.mutable.HashMap) held.get(writer);
    found.put("location", location);
    Iterator each = properties.entrySet().iterator();
    while (each.hasNext()) {
      java.util.Map.Entry pair = (java.util.Map.Entry) each.next();
      found.put(pair.getKey(), pair.getValue());
    }
  }

  /** Whether a writer says where its table is to lie. */
  public boolean isPlaced(Object writer) throws Exception {
    if (writer instanceof DataFrameWriter)
      return ((scala.collection.immutable.Map) field(writer, "extraOptions").get(writer)).contains("path");
    if (writer instanceof DeltaTableBuilder) return ((scala.Option) field(writer, "location").get(writer)).isDefined();
    return ((scala.collection.mutable.HashMap) field(writer, "properties").get(writer)).contains("location");
  }

  /** "provider table" of a writer as far as it says so: a name in Spark's quotes. */
  public String target(Object writer) throws Exception {
    List fields = fields(writer.getClass());
    String provider = "", table = "";
    for (int i = 0; i < fields.size(); i++) {
      Field field = (Field) fields.get(i);
      Object value = field.get(writer);
      if (field.getName().equals("source") && value instanceof String) provider = (String) value;
      if (field.getName().equals("provider") && value instanceof scala.Some)
        provider = (String) ((scala.Some) value).value();
      if (field.getName().equals("identifier") && value instanceof String) table = (String) value;
      if (field.getName().equals("tableName"))
        table = org.apache.spark.sql.connector.catalog.CatalogV2Implicits$.MODULE$.MultipartIdentifierHelper(
            (scala.collection.immutable.Seq) value).quoted();
    }
    return provider + " " + table;
  }

  private static SparkSession home(Object writer) throws Exception {
    List fields = fields(writer.getClass());
    for (int i = 0; i < fields.size(); i++) {
      Object value = ((Field) fields.get(i)).get(writer);
      if (value instanceof SparkSession) return (SparkSession) value;
      if (value instanceof Dataset) return ((Dataset) value).sparkSession();
      if (value != null && WRITERS.contains(value.getClass().getName())) return home(value);
    }
    throw new IllegalArgumentException(writer.getClass().getName() + " has no session");
  }

  private static Object moved(Object of, SparkSession to) throws Exception {
    if (of instanceof SparkSession) return to;
    // The plan is resolved; a command in it has run.
    if (of instanceof Dataset) return Dataset.ofRows(to, ((Dataset) of).queryExecution().commandExecuted());
    if (of == null || !WRITERS.contains(of.getClass().getName())) return of;
    Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
    unsafe.setAccessible(true);
    Object copy = ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(of.getClass());
    List fields = fields(of.getClass());
    for (int i = 0; i < fields.size(); i++) {
      Field field = (Field) fields.get(i);
      field.set(copy, moved(field.get(of), to));
    }
    return copy;
  }

  private static List fields(Class type) {
    List found = new ArrayList();
    for (Class each = type; each != null; each = each.getSuperclass()) {
      Field[] declared = each.getDeclaredFields();
      for (int i = 0; i < declared.length; i++) {
        if (Modifier.isStatic(declared[i].getModifiers())) continue;
        declared[i].setAccessible(true);
        found.add(declared[i]);
      }
    }
    return found;
  }

  private static Field field(Object of, String name) throws Exception {
    Class type = of.getClass();
    while (type != null) {
      try {
        Field found = type.getDeclaredField(name);
        found.setAccessible(true);
        return found;
      } catch (NoSuchFieldException e) {
        type = type.getSuperclass();
      }
    }
    throw new NoSuchFieldException(name + " of " + of.getClass().getName());
  }

  /** All but the session's own catalog, which each session has for itself. */
  private static void put(Object from, Object to) {
    scala.collection.Iterator each = ((scala.collection.mutable.HashMap) from).iterator();
    while (each.hasNext()) {
      scala.Tuple2 pair = (scala.Tuple2) each.next();
      if (!"spark_catalog".equals(pair._1())) ((scala.collection.mutable.HashMap) to).put(pair._1(), pair._2());
    }
  }
}
