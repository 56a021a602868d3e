package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.Scala;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.classic.DataFrameWriter;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits$;
import scala.Some;
import scala.collection.immutable.Seq;
import scala.collection.mutable.HashMap;

/** A clone of a session that marks its Delta commits with the id of a statement. */
public class MarkedSessions {
  private static final String[] KEPT = {"_currentNamespace", "_currentCatalogName", "_sessionPath"};
  private static final String MARK = "spark.databricks.delta.commitInfo.userMetadata";

  /**
   * What writes, and what those are made of, by class: each knows its session, by itself or by a
   * Dataset.
   */
  private static final Set<String> WRITERS =
      Set.of(
          "org.apache.spark.sql.classic.DataFrameWriter",
          "org.apache.spark.sql.classic.DataFrameWriterV2",
          "org.apache.spark.sql.classic.MergeIntoWriter",
          "io.delta.tables.DeltaTable",
          "io.delta.tables.DeltaMergeBuilder",
          "io.delta.tables.DeltaOptimizeBuilder",
          "io.delta.tables.DeltaTableBuilder",
          "org.apache.spark.sql.delta.catalog.DeltaTableV2");

  /**
   * The clone has the session's settings, temporary views and functions (Spark clones those), and
   * what Spark 4.2 does not clone: its variables, its current catalog, and the catalogs that it has
   * opened.
   */
  public SparkSession marked(SparkSession session, String statement) throws Exception {
    SparkSession clone = session.cloneSession();
    // What the user has Delta write there stays.
    if (session.conf().getOption(MARK).isEmpty()) clone.conf().set(MARK, statement);
    // An Observation waits for its metrics in the session that it was made in.
    clone.observationManager();
    field(clone, "observationManager").set(clone, session.observationManager());
    CatalogManager from = session.sessionState().catalogManager();
    CatalogManager to = clone.sessionState().catalogManager();
    for (var one : KEPT) {
      Field field = field(from, one);
      field.set(to, field.get(from));
    }
    Field variables = field(from.tempVariableManager(), "variables");
    put(variables.get(from.tempVariableManager()), variables.get(to.tempVariableManager()));
    Field catalogs = field(from, "catalogs");
    put(catalogs.get(from), catalogs.get(to));
    openCatalog(clone);
    return clone;
  }

  /**
   * Delta's catalog keeps the session that is active when it is opened, and `writeTo` makes none
   * so.
   */
  private static void openCatalog(SparkSession session) {
    var active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(session);
    try {
      session.sessionState().catalogManager().v2SessionCatalog();
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession(active.get());
    }
  }

  /** The same writer in a marked clone of its session; the user's is as it was. */
  public Object writer(Object writer, String statement) throws Exception {
    return moved(writer, marked(home(writer), statement));
  }

  /**
   * What a marked writer has made, in the session of the user's: what is done with it is of other
   * statements.
   */
  public Object atHome(Object made, Object writer) throws Exception {
    return moved(made, home(writer));
  }

  /** What a call has changed about the marked writer, it would have changed about the user's. */
  public void giveBack(Object marked, Object writer) throws Exception {
    if (!(marked instanceof DataFrameWriter)) return;
    var fields = fields(marked.getClass());
    for (Field field : fields) {
      Object value = field.get(marked);
      if (!(value instanceof Dataset)) field.set(writer, value);
    }
  }

  /** "provider table" of a writer as far as it says so: a name in Spark's quotes. */
  public String target(Object writer) throws Exception {
    var fields = fields(writer.getClass());
    String provider = "", table = "";
    for (Field field : fields) {
      Object value = field.get(writer);
      if (field.getName().equals("source") && value instanceof String) provider = (String) value;
      if (field.getName().equals("provider") && value instanceof Some)
        provider = (String) ((Some<?>) value).value();
      if (field.getName().equals("identifier") && value instanceof String) table = (String) value;
      if (field.getName().equals("tableName"))
        table = CatalogV2Implicits$.MODULE$.MultipartIdentifierHelper(names(value)).quoted();
    }
    return provider + " " + table;
  }

  private static SparkSession home(Object writer) throws Exception {
    var fields = fields(writer.getClass());
    for (Field field : fields) {
      Object value = field.get(writer);
      if (value instanceof SparkSession) return (SparkSession) value;
      if (value instanceof Dataset) return ((Dataset<?>) value).sparkSession();
      if (value != null && WRITERS.contains(value.getClass().getName())) return home(value);
    }
    throw new IllegalArgumentException(writer.getClass().getName() + " has no session");
  }

  private static Object moved(Object of, SparkSession to) throws Exception {
    if (of instanceof SparkSession) return to;
    // The plan is resolved; a command in it has run.
    if (of instanceof Dataset)
      return Dataset.ofRows(to, ((Dataset<?>) of).queryExecution().commandExecuted());
    if (of == null || !WRITERS.contains(of.getClass().getName())) return of;
    Object copy = allocated(of.getClass());
    var fields = fields(of.getClass());
    for (Field field : fields) {
      field.set(copy, moved(field.get(of), to));
    }
    return copy;
  }

  /**
   * An instance without a call of a constructor. By reflection: javac warns of sun.misc.Unsafe, and
   * nothing turns that warning off.
   */
  private static Object allocated(Class<?> type) throws Exception {
    Class<?> unsafe = Class.forName("sun.misc.Unsafe");
    return unsafe
        .getMethod("allocateInstance", Class.class)
        .invoke(field(unsafe, "theUnsafe").get(null), type);
  }

  private static List<Field> fields(Class<?> type) {
    List<Field> found = new ArrayList<>();
    for (Class<?> each = type; each != null; each = each.getSuperclass()) {
      Field[] declared = each.getDeclaredFields();
      for (var one : declared) {
        if (Modifier.isStatic(one.getModifiers())) continue;
        one.setAccessible(true);
        found.add(one);
      }
    }
    return found;
  }

  private static Field field(Object of, String name) throws Exception {
    return field(of.getClass(), name);
  }

  private static Field field(Class<?> owner, String name) throws Exception {
    Class<?> type = owner;
    while (type != null) {
      try {
        Field found = type.getDeclaredField(name);
        found.setAccessible(true);
        return found;
      } catch (NoSuchFieldException e) {
        type = type.getSuperclass();
      }
    }
    throw new NoSuchFieldException(name + " of " + owner.getName());
  }

  /** All but the session's own catalog, which each session has for itself. */
  private static void put(Object from, Object to) {
    Scala.map(table(from))
        .forEach(
            (name, value) -> {
              if (!"spark_catalog".equals(name)) table(to).put(name, value);
            });
  }

  @SuppressWarnings(
      "unchecked") // what Spark 4.2 and Delta 4.4 keep in the private fields that are named here
  private static HashMap<Object, Object> table(Object held) {
    return (HashMap<Object, Object>) held;
  }

  @SuppressWarnings("unchecked") // DataFrameWriterV2.tableName is a Seq[String] (Spark 4.2)
  private static Seq<String> names(Object held) {
    return (Seq<String>) held;
  }
}
