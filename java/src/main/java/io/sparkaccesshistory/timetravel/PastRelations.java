package io.sparkaccesshistory.timetravel;

import io.sparkaccesshistory.Scala;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.delta.DeltaTimeTravelSpec;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * Relations at a version that the driver has chosen, each known by a mark, until it is released.
 *
 * <p>A statement's text says `t VERSION AS OF '<mark>'`, and the parser puts the relation there
 * (`StatementParser`). So a view is read as Spark resolves it, whatever its text says, and a table
 * past Delta's own check: that refuses what was committed before the retention of removed files
 * (Delta 4.4, DeltaTimeTravelSpec.enforceRetention), though a version stays until it is replaced.
 */
public final class PastRelations {
  private static final String MARK = "audit-past-";
  private static final Map<String, LogicalPlan> BOUND = new ConcurrentHashMap<>();

  /** Whether a text may hold a mark. */
  public static boolean mayBeIn(String text) {
    return text.contains(MARK);
  }

  /** The relation of a mark; null for another version. */
  public static LogicalPlan of(String version) {
    if (!version.startsWith(MARK)) return null;
    LogicalPlan found = BOUND.get(version);
    if (found == null)
      throw new IllegalStateException(
          "the statement that asked for this version of a table or view has ended: a text with the"
              + " mark of a version cannot be kept and run later");
    return found;
  }

  /** Lets go of a relation; the plans that hold it keep it. */
  public static void forget(String mark) {
    BOUND.remove(mark);
  }

  public void release(String mark) {
    forget(mark);
  }

  static String bind(LogicalPlan plan) {
    String mark = MARK + UUID.randomUUID();
    BOUND.put(mark, plan);
    return mark;
  }

  /** What a name stands for in a session, as Spark resolves it now. */
  public PastView view(SparkSession session, List<String> name) {
    return new PastView(session, name);
  }

  /** The mark of a table at a version, by a name of one schema, or of `delta` and a path. */
  public String table(SparkSession session, String schema, String name, long version) {
    return bind(named(session, schema, name, version, Map.of()));
  }

  /** The same as a DataFrame, with the options of its reader. */
  public Dataset<Row> named(
      SparkSession session, String schema, String name, Map<String, String> options, long version) {
    return Dataset$.MODULE$.ofRows(session, named(session, schema, name, version, options));
  }

  /** A table by its path as a DataFrame, with the options of its reader. */
  public Dataset<Row> atPath(
      SparkSession session, String path, Map<String, String> options, long version) {
    DeltaTableV2 table =
        DeltaTableV2.apply(
            session,
            new Path(path),
            Option.empty(),
            Option.empty(),
            Scala.immutable(options),
            spec(version));
    return Dataset$.MODULE$.ofRows(session, relation(table, null, null));
  }

  private static LogicalPlan named(
      SparkSession session, String schema, String name, long version, Map<String, String> options) {
    TableCatalog catalog =
        (TableCatalog) session.sessionState().catalogManager().catalog("spark_catalog");
    Identifier identifier = Identifier.of(new String[] {schema}, name);
    DeltaTableV2 table;
    try {
      table = (DeltaTableV2) catalog.loadTable(identifier);
    } catch (NoSuchTableException e) {
      throw PastRelations.<RuntimeException>unchecked(e);
    }
    Map<String, String> all = new HashMap<>(Scala.map(table.options()));
    all.putAll(options);
    DeltaTableV2 then =
        table.copy(
            table.spark(),
            table.path(),
            table.catalogTable(),
            table.tableIdentifier(),
            spec(version),
            Scala.immutable(all));
    return SubqueryAlias$.MODULE$.apply(
        Scala.seq(List.of(catalog.name(), schema, name)), relation(then, catalog, identifier));
  }

  private static LogicalPlan relation(
      DeltaTableV2 table, CatalogPlugin catalog, Identifier identifier) {
    return DataSourceV2Relation$.MODULE$.create(
        table,
        Option.apply(catalog),
        Option.apply(identifier),
        CaseInsensitiveStringMap.empty(),
        Option.empty());
  }

  private static Option<DeltaTimeTravelSpec> spec(long version) {
    return Option.apply(
        new DeltaTimeTravelSpec(
            Option.empty(), Option.apply((Object) version), Option.apply("SQL"), false));
  }

  @SuppressWarnings("unchecked") // Java alone checks exceptions: Spark's are checked and undeclared
  private static <E extends Throwable> E unchecked(Throwable thrown) throws E {
    throw (E) thrown;
  }
}
