import java.lang.reflect.Field;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;

/** A clone of a session that marks its Delta commits with the id of a statement. Compiled by Janino at run time:
 *  no lambdas, no generics. */
public class Sessions {
  private static final String[] KEPT = {"_currentNamespace", "_currentCatalogName", "_sessionPath"};

  /** The clone has the session's settings, temporary views and functions (Spark clones those), and what Spark
   *  4.2 does not clone: its variables, its current catalog, and the catalogs that it has opened. */
  public SparkSession marked(SparkSession session, String statement) throws Exception {
    SparkSession clone = (SparkSession) session.cloneSession();
    clone.conf().set("spark.databricks.delta.commitInfo.userMetadata", statement);
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
    return clone;
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
