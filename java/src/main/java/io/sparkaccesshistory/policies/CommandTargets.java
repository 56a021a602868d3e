package io.sparkaccesshistory.policies;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Relations;
import io.sparkaccesshistory.policies.model.Securable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedPersistentView;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SQLFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.ConvertToDeltaCommand;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.delta.sources.DeltaDataSource;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.Tuple2;

/**
 * What a command names: tables, views and folders that are there, and names that are not taken yet.
 */
public class CommandTargets {
  /** What the key of a folder without a Delta table begins with. */
  public static final String FOLDER = "path:";

  /** What Spark's and Delta's commands call an argument that is a place. */
  private static final Pattern PLACE = Pattern.compile("(?i)loc|path|dir");

  /** Schemes of jars that are fetched: no table lies there. */
  private static final Set<String> FETCHED = Set.of("http", "https", "ftp", "ivy");

  /** What options and properties call one. */
  private static final Set<String> LOCATIONS = Set.of("path", "location");

  /**
   * By the keys of policies, names and schemas among them, the place; null for one that is not
   * known.
   */
  public final Map<String, Path> places = new LinkedHashMap<>();

  /** Each object once. */
  public final Map<String, Securable> named = new LinkedHashMap<>();

  /** Folders that are no table's. */
  public final List<Path> folders = new ArrayList<>();

  /**
   * Folders that the command takes into use, each with whether only as the Delta table right at it.
   */
  public final Map<Path, Boolean> used = new LinkedHashMap<>();

  /** TableIdentifiers of what is not there. */
  public final List<TableIdentifier> free = new ArrayList<>();

  /** The keys of functions of the catalog. */
  public final List<String> functions = new ArrayList<>();

  private final SparkSession session;
  private final boolean looksUp, creates, isDeltas;

  /** Names are looked up where somebody asks for more than places: `looksUp`. */
  public CommandTargets(SparkSession session, LogicalPlan plan, boolean looksUp) {
    this.session = session;
    this.looksUp = looksUp;
    String kind = plan.getClass().getSimpleName();
    creates = kind.startsWith("Create");
    // A location that is set may be anything's, whatever sets it.
    isDeltas =
        plan.getClass().getName().startsWith("org.apache.spark.sql.delta.")
            && !kind.contains("SetLocation")
            && !kind.startsWith("Convert");
    find(plan, 0);
    if (plan instanceof RenameTable && looksUp) findRenamed((RenameTable) plan);
  }

  /** Where a table or view goes when it is renamed. */
  public static TableIdentifier nameAfter(RenameTable plan, TableIdentifier from) {
    List<String> parts = Scala.list(plan.newName());
    String name = parts.get(parts.size() - 1);
    Option<String> schema =
        parts.size() < 2 ? from.database() : Option.apply(parts.get(parts.size() - 2));
    return TableIdentifier.apply(name, schema, from.catalog());
  }

  /** The name that a table gets is free, too: of a DeltaTableV2 the plan holds it as plain text. */
  private void findRenamed(RenameTable plan) {
    for (Securable one : named.values()) {
      if (one.id == null) continue;
      TableIdentifier name = nameAfter(plan, one.id);
      if (!session.sessionState().catalog().tableExists(name)) free.add(name);
      return;
    }
  }

  private void find(Object value, int depth) {
    if (value == null || depth > 4) return;
    if (value instanceof Option) {
      if (!((Option<?>) value).isEmpty()) find(((Option<?>) value).get(), depth);
    } else if (value instanceof scala.collection.immutable.Seq) {
      var every = Scala.list((scala.collection.immutable.Seq<?>) value);
      for (var one : every) find(one, depth + 1);
    } else if (value instanceof DeltaTableV2) {
      DeltaTableV2 table = (DeltaTableV2) value;
      put(table.initialSnapshot(), table.path(), Relations.nameOf(table.catalogTable()));
    } else if (value instanceof DeltaLog) {
      put(((DeltaLog) value).unsafeVolatileSnapshot(), ((DeltaLog) value).dataPath(), null);
    } else if (value instanceof TahoeFileIndex) {
      find(((TahoeFileIndex) value).deltaLog(), depth);
    } else if (value instanceof V1Table) {
      find(((V1Table) value).v1Table(), depth);
    } else if (value instanceof CatalogTable) {
      put((CatalogTable) value);
    } else if (value instanceof TableIdentifier) {
      find((TableIdentifier) value);
    } else if (value instanceof TableSpecBase) {
      var location = ((TableSpecBase) value).location();
      boolean isDelta = isDelta(((TableSpecBase) value).provider());
      if (!location.isEmpty()) put(new Path(location.get()), isDelta);
      if (value instanceof TableSpec) findPaths(((TableSpec) value).options(), isDelta);
      if (value instanceof TableSpec) findPaths(((TableSpec) value).properties(), isDelta);
    } else if (value instanceof CatalogStorageFormat) {
      var location = ((CatalogStorageFormat) value).locationUri();
      if (!location.isEmpty()) put(new Path(location.get()), isDeltas);
      findPaths(((CatalogStorageFormat) value).properties(), isDeltas);
    } else if (value instanceof FunctionIdentifier) {
      FunctionIdentifier name = (FunctionIdentifier) value;
      if (name.database().isDefined()) functions.add(Securable.function(name).key);
    } else if (value instanceof SQLFunction) {
      find(((SQLFunction) value).name(), depth);
    } else if (value instanceof Path) {
      put((Path) value, isDeltas);
    } else if (value instanceof LogicalPlan) {
      find((LogicalPlan) value, depth);
    }
  }

  private void find(LogicalPlan plan, int depth) {
    if (plan instanceof ResolvedTable) find(((ResolvedTable) plan).table(), depth);
    else if (plan instanceof ResolvedPersistentView) put((ResolvedPersistentView) plan);
    else if (plan instanceof ResolvedIdentifier) find((ResolvedIdentifier) plan, depth);
    else if (plan instanceof DataSourceV2Relation)
      find(((DataSourceV2Relation) plan).table(), depth);
    else if (plan instanceof LogicalRelation) find(((LogicalRelation) plan).catalogTable(), depth);
    else if (plan instanceof org.apache.spark.sql.catalyst.plans.logical.Command) {
      if (plan instanceof SaveIntoDataSourceCommand) {
        SaveIntoDataSourceCommand command = (SaveIntoDataSourceCommand) plan;
        findPaths(command.options(), command.dataSource() instanceof DeltaDataSource);
      }
      if (plan instanceof InsertIntoDataSourceCommand)
        find((InsertIntoDataSourceCommand) plan, depth);
      if (plan instanceof ConvertToDeltaCommand)
        findPaths(((ConvertToDeltaCommand) plan).tableIdentifier().table(), false);
      // Queries inside are governed where they run.
      Object[] arguments = Relations.arguments(plan);
      for (int i = 0; i < arguments.length; i++) {
        Object one = arguments[i];
        if (!(one instanceof LogicalPlan) || isName((LogicalPlan) one)) find(one, depth + 1);
        if (PLACE.matcher(plan.productElementName(i)).find()) findPaths(one, isDeltas);
        else if (one instanceof scala.collection.Map
            && !(plan instanceof SaveIntoDataSourceCommand)) findPaths(one, isDeltas);
      }
    }
  }

  /**
   * A temporary view over the place of a Delta table is written through, and no catalog knows it.
   */
  private void find(InsertIntoDataSourceCommand insert, int depth) {
    Object relation = insert.logicalRelation().relation();
    if (relation instanceof HadoopFsRelation) find(((HadoopFsRelation) relation).location(), depth);
  }

  /** All that is a path in an argument that holds some: texts, and what an option says of one. */
  private void findPaths(Object value, boolean isDelta) {
    if (value instanceof Option) {
      if (!((Option<?>) value).isEmpty()) findPaths(((Option<?>) value).get(), isDelta);
    } else if (value instanceof scala.collection.Map) {
      for (var entry : Scala.map((scala.collection.Map<?, ?>) value).entrySet())
        if (entry.getKey() instanceof String
            && LOCATIONS.contains(((String) entry.getKey()).toLowerCase(Locale.ROOT)))
          findPaths(entry.getValue(), isDelta);
    } else if (value instanceof scala.collection.immutable.Seq) {
      for (var one : Scala.list((scala.collection.immutable.Seq<?>) value)) findPaths(one, isDelta);
    } else if (value instanceof Tuple2) {
      findPaths(((Tuple2<?, ?>) value)._2(), isDelta);
    } else if (value instanceof java.net.URI) {
      put(new Path((java.net.URI) value), isDelta);
    } else if (value instanceof String && !((String) value).isEmpty()) {
      Path path;
      try {
        path = new Path((String) value);
      } catch (IllegalArgumentException e) {
        return; // Spark makes no path of it either
      }
      if (!FETCHED.contains(String.valueOf(path.toUri().getScheme()))) put(path, isDelta);
    }
  }

  private boolean isDelta(Option<String> provider) {
    String said =
        provider.isEmpty() ? session.sessionState().conf().defaultDataSourceName() : provider.get();
    return said.equalsIgnoreCase("delta");
  }

  private static boolean isName(LogicalPlan plan) {
    return plan instanceof ResolvedTable
        || plan instanceof ResolvedPersistentView
        || plan instanceof ResolvedIdentifier
        || plan instanceof DataSourceV2Relation
        || plan instanceof LogicalRelation
        || plan instanceof org.apache.spark.sql.catalyst.plans.logical.Command;
  }

  private void find(ResolvedIdentifier name, int depth) {
    if (!(name.catalog() instanceof TableCatalog)) return;
    String[] schema = name.identifier().namespace();
    Path place = schema.length == 1 ? placeOf(schema[0], name.identifier().name()) : null;
    if (!looksUp) {
      if (place != null) put(place, true);
      return;
    }
    Table table;
    try {
      table = ((TableCatalog) name.catalog()).loadTable(name.identifier());
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchTableException e) {
      free.add(Relations.identifier(name.catalog(), name.identifier()));
      if (place != null) put(place, true);
      return;
    }
    find(table, depth);
  }

  /** The place that a name is, as delta.`/a/t`; null for any other name (Delta 4.4). */
  private static Path placeOf(String schema, String name) {
    boolean isPlace = name.startsWith("/") || name.indexOf(":/") > 0;
    return isPlace && schema.equalsIgnoreCase("delta") ? new Path(name) : null;
  }

  private void find(TableIdentifier name) {
    if (name.database().isEmpty()) return; // a temporary view has no schema
    Path place = placeOf(name.database().get(), name.table());
    if (!looksUp) {
      if (place != null) put(place, true);
      return;
    }
    CatalogTable table;
    try {
      if (!session.sessionState().catalog().tableExists(name)) {
        free.add(name);
        if (place != null) put(place, true);
        return;
      }
      table = session.sessionState().catalog().getTableMetadata(name);
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException e) {
      return;
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchTableException e) {
      return;
    }
    put(table);
  }

  private void put(ResolvedPersistentView view) {
    TableIdentifier name = Relations.identifier(view.catalog(), view.identifier());
    places.put(Relations.keyOf(name), null);
    name(Securable.of("view", Relations.keyOf(name), name));
  }

  private void put(CatalogTable table) {
    TableIdentifier name = table.identifier();
    if (creates
        && looksUp
        && !name.database().isEmpty()
        && !session.sessionState().catalog().tableExists(name)) {
      free.add(name);
      if (!table.storage().locationUri().isEmpty())
        put(new Path(table.storage().locationUri().get()), isDelta(table.provider()));
      findPaths(table.storage().properties(), isDelta(table.provider()));
      return;
    }
    places.put(Relations.keyOf(name), null);
    places.put(Relations.schemaOf(name), null);
    boolean isView = table.tableType().name().endsWith("VIEW");
    var location = table.storage().locationUri();
    Snapshot found = null;
    if (!location.isEmpty()) {
      Path folder = Relations.qualified(session, new Path(location.get()));
      found = Relations.at(session, folder);
      places.put(found == null ? FOLDER + folder : Relations.keyOf(found), folder);
      if (!isView) use(folder, isDelta(table.provider()));
    }
    name(
        Securable.of(
            isView ? "view" : "table",
            found == null ? Relations.keyOf(name) : Relations.keyOf(found),
            name));
  }

  private void put(Path place, boolean isDelta) {
    Path folder = Relations.qualified(session, place);
    use(folder, isDelta);
    Snapshot found = Relations.at(session, folder);
    places.put(found == null ? FOLDER + folder : Relations.keyOf(found), folder);
    if (found == null) folders.add(folder);
    else name(Securable.at(Relations.keyOf(found), folder));
  }

  private void put(Snapshot snapshot, Path place, TableIdentifier name) {
    Path folder = Relations.qualified(session, place);
    String key = Relations.keyOf(snapshot);
    places.put(key, folder);
    use(folder, true);
    name(name == null ? Securable.at(key, folder) : Securable.of("table", key, name));
  }

  private void use(Path folder, boolean isDelta) {
    used.merge(folder, isDelta, (one, other) -> one && other);
  }

  /** What is known by its name says more than by its place. */
  private void name(Securable found) {
    Securable known = named.get(found.key);
    if (known == null || known.schema == null) named.put(found.key, found);
  }
}
