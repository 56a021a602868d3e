package io.sparkaccesshistory.timetravel;

import com.fasterxml.jackson.databind.JsonNode;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.statements.StatementGateway;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableLike;
import org.apache.spark.sql.catalyst.plans.logical.DescribeNamespace;
import org.apache.spark.sql.catalyst.plans.logical.DescribeRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.SetTableProperties;
import org.apache.spark.sql.catalyst.plans.logical.ShowTableProperties;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.UnsetTableProperties;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.DescribeDeltaDetailCommand;
import org.apache.spark.sql.delta.commands.DescribeDeltaHistoryCommand;
import org.apache.spark.sql.delta.sources.DeltaDataSource;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import scala.Option;

/**
 * What retention adds to a command of Spark's on a Delta table, and what it hides in its answer,
 * whoever runs it: SQL, a script, a writer, a stream, the catalog's API.
 *
 * <p>A table that is created or replaced gets its location and the properties that keep its past. A
 * change of these properties changes the owner's own values of them, and these are what is shown. A
 * renamed table that clones read stays in its place. The driver decides, see `TablePlans` there.
 */
public final class TablePlans {
  private static final scala.collection.immutable.Map<String, String> NO_OPTIONS =
      Scala.immutable(Map.of());

  private final StatementGateway driver;
  private final SparkSession session;

  private TablePlans(StatementGateway driver, SparkSession session) {
    this.driver = driver;
    this.session = session;
  }

  /** A command as an attached session runs it. */
  public static LogicalPlan of(LogicalPlan plan, SparkSession session) {
    StatementGateway driver = StatementGateway.installed();
    return driver == null || driver.isExempt(session)
        ? plan
        : new TablePlans(driver, session).of(plan);
  }

  private LogicalPlan of(LogicalPlan plan) {
    if (plan instanceof CreateTable) {
      CreateTable it = (CreateTable) plan;
      TableSpec spec = defined(it.name(), it.tableSpec(), NO_OPTIONS, false);
      return spec == null
          ? plan
          : it.copy(it.name(), it.columns(), it.partitioning(), spec, it.ignoreIfExists());
    }
    if (plan instanceof CreateTableAsSelect) {
      CreateTableAsSelect it = (CreateTableAsSelect) plan;
      TableSpec spec = defined(it.name(), it.tableSpec(), it.writeOptions(), false);
      return spec == null
          ? plan
          : it.copy(
              it.name(),
              it.partitioning(),
              it.query(),
              spec,
              withoutShared(it.writeOptions()),
              it.ignoreIfExists(),
              it.isAnalyzed());
    }
    if (plan instanceof ReplaceTable) {
      ReplaceTable it = (ReplaceTable) plan;
      TableSpec spec = defined(it.name(), it.tableSpec(), NO_OPTIONS, true);
      return spec == null
          ? plan
          : it.copy(it.name(), it.columns(), it.partitioning(), spec, it.orCreate());
    }
    if (plan instanceof ReplaceTableAsSelect) {
      ReplaceTableAsSelect it = (ReplaceTableAsSelect) plan;
      TableSpec spec = defined(it.name(), it.tableSpec(), it.writeOptions(), true);
      return spec == null
          ? plan
          : it.copy(
              it.name(),
              it.partitioning(),
              it.query(),
              spec,
              withoutShared(it.writeOptions()),
              it.orCreate(),
              it.isAnalyzed());
    }
    if (plan instanceof CreateTableLike) return like((CreateTableLike) plan);
    if (plan instanceof CreateTableLikeCommand) return like((CreateTableLikeCommand) plan);
    if (plan instanceof SetTableProperties) return altered((SetTableProperties) plan);
    if (plan instanceof UnsetTableProperties) return altered((UnsetTableProperties) plan);
    if (plan instanceof SaveIntoDataSourceCommand) return saved((SaveIntoDataSourceCommand) plan);
    if (plan instanceof RenameTable) return inPlace((RenameTable) plan);
    if (plan instanceof ShowTableProperties
        || (plan instanceof DescribeRelation && ((DescribeRelation) plan).isExtended()))
      return shown(plan);
    if (plan instanceof DescribeNamespace) return ShownSchemas.of((DescribeNamespace) plan);
    if (plan instanceof DescribeDeltaDetailCommand)
      return new ShownDetail((DescribeDeltaDetailCommand) plan);
    if (plan instanceof DescribeDeltaHistoryCommand)
      return new ShownHistory((DescribeDeltaHistoryCommand) plan);
    return plan;
  }

  // -- a table that is created or replaced
  // ---------------------------------------------------------

  /** The spec of a table as it is made; `options` are those of its writer. */
  private TableSpec defined(
      LogicalPlan name,
      TableSpecBase base,
      scala.collection.immutable.Map<String, String> options,
      boolean replaces) {
    if (!(name instanceof ResolvedIdentifier) || !(base instanceof TableSpec)) return null;
    TableSpec spec = (TableSpec) base;
    String provider = spec.provider().isDefined() ? spec.provider().get() : defaultProvider();
    if (!provider.equalsIgnoreCase("delta")) return null;
    String path = Scala.orNull(spec.location());
    if (path == null) path = Scala.map(spec.options()).get("path");
    // Delta (4.4) takes its properties from the options as well.
    Map<String, String> given = new LinkedHashMap<>(shared(options));
    given.putAll(shared(spec.options()));
    given.putAll(Scala.map(spec.properties()));
    JsonNode told = definition((ResolvedIdentifier) name, given, path, replaces, null);
    if (told == null) return null;
    return spec.copy(
        Scala.immutable(RetentionProperties.texts(told.get("properties"))),
        spec.provider(),
        withoutShared(spec.options()),
        location(told, spec.location()),
        spec.comment(),
        spec.collation(),
        spec.serde(),
        spec.external(),
        spec.constraints());
  }

  private String defaultProvider() {
    return session.sessionState().conf().defaultDataSourceName();
  }

  private static Option<String> location(JsonNode told, Option<String> given) {
    return told.get("location").isNull() ? given : Option.apply(told.get("location").asText());
  }

  /** The options that are properties which retention sets. */
  private static Map<String, String> shared(scala.collection.Map<String, String> options) {
    Map<String, String> found = new LinkedHashMap<>(Scala.map(options));
    found.keySet().removeIf(name -> !RetentionProperties.isDeltas(name));
    return found;
  }

  private static scala.collection.immutable.Map<String, String> withoutShared(
      scala.collection.immutable.Map<String, String> options) {
    Map<String, String> found = shared(options);
    if (found.isEmpty()) return options;
    Map<String, String> rest = new LinkedHashMap<>(Scala.map(options));
    rest.keySet().removeAll(found.keySet());
    return Scala.immutable(rest);
  }

  /** What the driver says of a table of the session catalog; null where it stays as it is. */
  private JsonNode definition(
      ResolvedIdentifier name,
      Map<String, String> properties,
      String location,
      boolean replaces,
      DeltaTableV2 like) {
    String[] namespace = name.identifier().namespace();
    if (!"spark_catalog".equals(name.catalog().name()) || namespace.length != 1) return null;
    List<String> parts = List.of(namespace[0], name.identifier().name());
    return definition(parts, properties, location, replaces, like);
  }

  private JsonNode definition(
      List<String> name,
      Map<String, String> properties,
      String location,
      boolean replaces,
      DeltaTableV2 like) {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("name", name);
    facts.put("properties", properties);
    facts.put("location", location == null ? null : qualified(location));
    facts.put("replaces", Boolean.valueOf(replaces));
    if (like != null)
      facts.put(
          "like", Map.of("location", like.path().toString(), "properties", like.properties()));
    JsonNode told = driver.tell("define", facts, session);
    return told.isEmpty() ? null : told;
  }

  private String qualified(String location) {
    Path path = new Path(location);
    try {
      return path.getFileSystem(session.sessionState().newHadoopConf())
          .makeQualified(path)
          .toString();
    } catch (java.io.IOException e) {
      return location; // Spark raises its own error for a place that it does not know
    }
  }

  private LogicalPlan like(CreateTableLike it) {
    DeltaTableV2 source = tableOf(it.source());
    boolean delta =
        it.provider().isDefined() ? it.provider().get().equalsIgnoreCase("delta") : source != null;
    if (!delta || !(it.name() instanceof ResolvedIdentifier)) return it;
    JsonNode told =
        definition(
            (ResolvedIdentifier) it.name(),
            Scala.map(it.properties()),
            Scala.orNull(it.location()),
            false,
            source);
    return told == null
        ? it
        : it.copy(
            it.name(),
            it.source(),
            location(told, it.location()),
            Option.apply("delta"),
            it.serdeInfo(),
            Scala.immutable(RetentionProperties.texts(told.get("properties"))),
            it.ifNotExists());
  }

  /** Like a view, or a table that is none of Delta's. */
  private LogicalPlan like(CreateTableLikeCommand it) {
    if (!providerOf(it).equalsIgnoreCase("delta")) return it;
    TableIdentifier id = session.sessionState().catalog().qualifyIdentifier(it.targetTable());
    CatalogStorageFormat format = it.fileFormat();
    URI given = Scala.orNull(format.locationUri());
    JsonNode told =
        definition(
            List.of(id.database().get(), id.table()),
            Scala.map(it.properties()),
            given == null ? null : new Path(given).toString(),
            false,
            null);
    if (told == null) return it;
    URI location = new Path(told.get("location").asText()).toUri();
    CreateTableLikeCommand placed =
        it.copy(
            it.targetTable(),
            it.sourceTable(),
            format.copy(
                Option.apply(location),
                format.inputFormat(),
                format.outputFormat(),
                format.serde(),
                format.compressed(),
                format.properties(),
                format.serdeName()),
            Option.apply("delta"),
            it.properties(),
            it.ifNotExists());
    return new CreateLikeView(
        placed, told.get("location").asText(), told.get("properties").toString());
  }

  /** Spark (4.2) takes the provider of the source, and its default where that is a view. */
  private String providerOf(CreateTableLikeCommand it) {
    if (it.provider().isDefined()) return it.provider().get();
    try {
      CatalogTable source =
          session.sessionState().catalog().getTempViewOrPermanentTableMetadata(it.sourceTable());
      String own = Scala.orNull(source.provider());
      return source.tableType() == CatalogTableType.VIEW()
          ? defaultProvider()
          : own == null ? "" : own;
    } catch (Exception e) {
      if (!CatalogStore.isAbsent(e)) throw e;
      return ""; // Spark raises its own error
    }
  }

  /** A DataFrame that is written to a path. */
  private LogicalPlan saved(SaveIntoDataSourceCommand it) {
    String path = Scala.map(it.options()).get("path");
    if (!(it.dataSource() instanceof DeltaDataSource) || path == null) return it;
    Map<String, String> given = shared(it.options());
    JsonNode told = definition(List.of("delta", qualified(path)), given, null, false, null);
    if (told == null) return it;
    Map<String, String> options = new LinkedHashMap<>(Scala.map(it.options()));
    options.keySet().removeAll(given.keySet());
    options.putAll(RetentionProperties.texts(told.get("properties")));
    return it.copy(it.query(), it.dataSource(), Scala.immutable(options), it.mode());
  }

  // -- properties
  // ------------------------------------------------------------------------------------

  private LogicalPlan altered(SetTableProperties it) {
    DeltaTableV2 table = tableOf(it.table());
    Map<String, String> given = Scala.map(it.properties());
    if (table == null || given.keySet().stream().noneMatch(RetentionProperties::isOne)) return it;
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("location", table.path().toString());
    facts.put("name", table.name());
    facts.put("set", given);
    facts.put("unset", List.of());
    JsonNode told = driver.tell("alter", facts, session);
    return told.isEmpty()
        ? it
        : it.copy(it.table(), Scala.immutable(RetentionProperties.texts(told.get("set"))));
  }

  private LogicalPlan altered(UnsetTableProperties it) {
    DeltaTableV2 table = tableOf(it.table());
    List<String> given = Scala.list(it.propertyKeys());
    if (table == null || given.stream().noneMatch(RetentionProperties::isOne)) return it;
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("location", table.path().toString());
    facts.put("name", table.name());
    facts.put("set", Map.of());
    facts.put("unset", given);
    JsonNode told = driver.tell("alter", facts, session);
    if (told.isEmpty()) return it;
    List<String> names = new ArrayList<>();
    for (JsonNode name : told.get("unset")) names.add(name.asText());
    return it.copy(it.table(), Scala.seq(names), it.ifExists());
  }

  /** The same command on a table that shows what its owner has set. */
  private LogicalPlan shown(LogicalPlan plan) {
    LogicalPlan named = Scala.list(plan.children()).get(0);
    DeltaTableV2 table = tableOf(named);
    if (table == null) return plan;
    ResolvedTable of = (ResolvedTable) named;
    var shown =
        new ShownTable(
            table,
            RetentionProperties.shown(
                driver, session, table.path().toString(), table.properties()));
    LogicalPlan renamed = of.copy(of.catalog(), of.identifier(), shown, of.outputAttributes());
    return plan.withNewChildren(Scala.seq(List.of(renamed)));
  }

  // -- names
  // -----------------------------------------------------------------------------------------

  /**
   * Spark moves the folder of a managed table when it renames it, and the log of a clone names the
   * files of its source by full paths.
   */
  private LogicalPlan inPlace(RenameTable it) {
    DeltaTableV2 table = tableOf(it.child());
    if (table == null || table.catalogTable().isEmpty()) return it;
    CatalogTable entry;
    try {
      entry =
          session
              .sessionState()
              .catalog()
              .getTableMetadata(table.catalogTable().get().identifier());
    } catch (NoSuchTableException | NoSuchNamespaceException e) {
      return it; // dropped meanwhile: Spark raises its own error
    }
    String files =
        Scala.map(table.update().metadata().configuration())
            .get("delta.deletedFileRetentionDuration");
    boolean moves = entry.tableType() == CatalogTableType.MANAGED();
    return moves && RenameInPlace.PINNED.equals(files) ? new RenameInPlace(it, entry) : it;
  }

  private static DeltaTableV2 tableOf(LogicalPlan plan) {
    if (!(plan instanceof ResolvedTable)) return null;
    var table = ((ResolvedTable) plan).table();
    return table instanceof DeltaTableV2 ? (DeltaTableV2) table : null;
  }
}
