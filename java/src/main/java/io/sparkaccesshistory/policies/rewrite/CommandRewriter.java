package io.sparkaccesshistory.policies.rewrite;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.BackupGuard;
import io.sparkaccesshistory.policies.CommandTargets;
import io.sparkaccesshistory.policies.FolderGuard;
import io.sparkaccesshistory.policies.Governance;
import io.sparkaccesshistory.policies.HistoryWithoutParameters;
import io.sparkaccesshistory.policies.PrivilegeChecker;
import io.sparkaccesshistory.policies.RawFileGuard;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedNamespace;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableLike;
import org.apache.spark.sql.catalyst.plans.logical.DropNamespace;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.CloneSource;
import org.apache.spark.sql.delta.commands.CloneTableCommand;
import org.apache.spark.sql.delta.commands.CreateDeltaTableCommand;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.DescribeDeltaHistoryCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommand;
import org.apache.spark.sql.delta.commands.RestoreTableCommand;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import org.apache.spark.sql.execution.command.DropDatabaseCommand;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.execution.command.LoadDataCommand;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;

/**
 * Commands that name a protected table. Spark and Delta run them by means of their own, past any
 * plan: who does not see all of a table gives it the commands that are known to show nothing, and
 * no other.
 */
public class CommandRewriter {
  /** They look at a table or at what is known of it. */
  private static final Set<String> LOOKS =
      set(
          "AnalyzeColumn AnalyzeColumnCommand AnalyzeTable AnalyzeTableCommand CacheTable"
              + " CacheTableAsSelect CreateView CreateViewCommand CreateTableLike"
              + " CreateTempViewUsing CreateTableLikeCommand DescribeDeltaDetailCommand"
              + " DescribeDeltaHistory DescribeDeltaHistoryCommand DescribeRelation"
              + " DescribeRelationJsonCommand DescribeTableCommand ExplainCommand"
              + " OptimizeTableCommand RefreshResource RefreshTable RefreshTableCommand ShowColumns"
              + " ShowColumnsCommand ShowCreateTable ShowCreateTableCommand"
              + " ShowDeltaTableColumnsCommand ShowTableProperties ShowTablePropertiesCommand"
              + " ShowTablesExtended UncacheTable VacuumTableCommand");

  /** They change a table, and what its user does not see stays as it is. */
  private static final Set<String> CHANGES =
      set(
          "AddColumns AlterColumns AlterTableAddColumnsDeltaCommand AlterTableClusterBy"
              + " AlterTableDropFeature AppendData CommentOnTable CreateDataSourceTableCommand"
              + " CreateDeltaTableCommand CreateTable CreateTableCommand DeleteCommand DropColumns"
              + " DropTable DropTableCommand DropView MergeIntoCommand RenameColumn RenameTable"
              + " ReorgTable DeltaReorgTable DeltaReorgTableCommand RestoreTableCommand"
              + " SetTableProperties SetViewProperties UnsetTableProperties UnsetViewProperties"
              + " UpdateCommand");

  /** They write to a folder, or make one somebody's. */
  private static final Set<String> OVERWRITES =
      set(
          "CreateDatabaseCommand CreateNamespace InsertIntoDataSourceDirCommand"
              + " InsertIntoHadoopFsRelationCommand InsertIntoHiveDirCommand LoadDataCommand"
              + " SaveIntoDataSourceCommand SetNamespaceLocation AlterDatabaseSetLocationCommand");

  /** They add to what is in a folder, and take nothing of it away, where they do not overwrite. */
  private static final Set<String> APPENDS =
      set(
          "AppendData InsertIntoDataSourceCommand InsertIntoHadoopFsRelationCommand"
              + " InsertIntoHiveTable SaveIntoDataSourceCommand");

  /** Of Delta's tables, they make one of a folder, or may delete what lies in it. */
  private static final Set<String> CLAIMS =
      set(
          "CloneTableCommand ConvertToDeltaCommand CreateDeltaTableCommand CreateTable"
              + " CreateDataSourceTableCommand CreateTableAsSelect DropTable DropTableCommand"
              + " RenameTable AlterTableRenameCommand VacuumTableCommand"
              + " AlterTableSetLocationDeltaCommand ReplaceTable ReplaceTableAsSelect");

  /** Of those that look, they write files, or delete some. */
  private static final Set<String> MAINTAINS = set("OptimizeTableCommand VacuumTableCommand");

  /** They hand out all files below a folder. */
  private static final Set<String> REACHES =
      set("AddArchivesCommand AddFilesCommand AddJarsCommand");

  private static final Set<String> REPLACES = set("ReplaceTable ReplaceTableAsSelect");
  private static final Set<String> RENAMES_VIEWS = set("RenameTable AlterTableRenameCommand");

  private static final String MODE = "delta.columnMapping.mode";

  private final RawFileGuard files;
  private final SparkSession session;
  private final Governance governance;

  private final DmlRewriter dml;

  public CommandRewriter(
      Governance governance, SparkSession session, PredicateFence fence, RawFileGuard files) {
    this.governance = governance;
    this.session = session;
    this.files = files;
    dml = new DmlRewriter(governance, session, fence);
  }

  private static Set<String> set(String names) {
    return new HashSet<>(Arrays.asList(names.split(" ")));
  }

  /** A command as it may run. */
  public LogicalPlan rewrite(LogicalPlan plan) {
    String kind = plan.getClass().getSimpleName();
    CommandTargets targets =
        new CommandTargets(
            session, plan, governance.protections.any() || governance.notesCreations());
    if (plan instanceof CloneTableCommand)
      new BackupGuard(governance, session)
          .requireRead(((CloneTableCommand) plan).sourceTable().dataPath());
    requireLocationApart(plan);
    for (var entry : targets.places.entrySet()) {
      if (entry.getValue() != null) requireNotOurs(entry.getValue(), kind);
      if (!governance.protections.any()) continue;
      String key = entry.getKey();
      Protection protection = governance.protections.of(key, session);
      if (protection != null && protection.isInForce()) require(plan, kind, protection);
      if (!LOOKS.contains(kind) || PrivilegeChecker.replaces(plan, kind))
        governance.requireNotRead(key, session);
    }
    if (governance.protections.any()) {
      for (TableIdentifier one : targets.free)
        governance.requireNotRead(Relations.keyOf(one), session);
      if (!kind.startsWith("Describe"))
        for (String one : targets.functions) governance.requireNotRead(one, session);
      String schema = droppedSchema(plan);
      if (schema != null) requireSchemaDropped(schema);
    }
    if (governance.protections.any() || governance.enforcesPrivileges())
      requireApart(plan, kind, targets);
    if (governance.notesCreations())
      new PrivilegeChecker(governance, session).require(plan, kind, targets);
    if (!governance.protections.any()) return plan;
    if (plan instanceof ExplainCommand) requireExplainable((ExplainCommand) plan);
    refuse(plan);
    if (plan instanceof UpdateCommand) return dml.rewriteUpdate((UpdateCommand) plan);
    if (plan instanceof DeleteCommand) return dml.rewriteDelete((DeleteCommand) plan);
    if (plan instanceof MergeIntoCommand) return dml.rewriteMerge((MergeIntoCommand) plan);
    if (plan instanceof DescribeDeltaHistoryCommand
        && hides(((DescribeDeltaHistoryCommand) plan).table().initialSnapshot()))
      return new HistoryWithoutParameters((DescribeDeltaHistoryCommand) plan);
    return plan;
  }

  /** Refuses to change what is the audit's own: its tables and the folders of backups. */
  private void requireNotOurs(Path place, String kind) {
    boolean writes = !LOOKS.contains(kind) || MAINTAINS.contains(kind);
    if (!writes) {
      new BackupGuard(governance, session).requireRead(place);
      return;
    }
    governance.requireNoBackup(place, session);
    boolean isWhole = OVERWRITES.contains(kind) || CLAIMS.contains(kind) || REACHES.contains(kind);
    for (Path one : governance.spellings(place, session)) {
      if (governance.isAuditFolder(one) || (isWhole && governance.containsAuditFolder(one)))
        throw new SecurityException(
            "the audit's own table "
                + place
                + " is changed by the audit alone;"
                + " policies and roles are changed by statements of their own");
    }
  }

  /** CREATE TABLE … LIKE looks at its source, and makes a table of its location. */
  private void requireLocationApart(LogicalPlan plan) {
    Path place = null;
    if (plan instanceof CreateTableLike && ((CreateTableLike) plan).location().isDefined())
      place = new Path(((CreateTableLike) plan).location().get());
    if (plan instanceof CreateTableLikeCommand) {
      var location = ((CreateTableLikeCommand) plan).fileFormat().locationUri();
      if (location.isDefined()) place = new Path(location.get());
    }
    if (place != null) governance.requireApart(place, session);
  }

  /** Whether policies hide something of a table, as it is, from whoever asks. */
  private boolean hides(Snapshot table) {
    Protection protection = governance.protections.of(Relations.keyOf(table), session);
    return protection != null
        && !governance.bodies.showsAll(protection, governance.identities.require(session));
  }

  /** The schema of Spark's own catalog that a command drops; null for none. */
  private static String droppedSchema(LogicalPlan plan) {
    if (plan instanceof DropDatabaseCommand) return ((DropDatabaseCommand) plan).databaseName();
    if (!(plan instanceof DropNamespace)) return null;
    LogicalPlan named = ((DropNamespace) plan).namespace();
    if (!(named instanceof ResolvedNamespace)) return null;
    List<String> parts = Scala.list(((ResolvedNamespace) named).namespace());
    boolean isSparks = Relations.isSessionCatalog(((ResolvedNamespace) named).catalog());
    return isSparks && parts.size() == 1 ? parts.get(0) : null;
  }

  /** A schema goes with its folder; what it holds has been moved out by then, where it stays. */
  private void requireSchemaDropped(String schema) {
    governance.requireSchemaNotRead(schema, session);
    SessionCatalog catalog = session.sessionState().catalog();
    if (catalog.databaseExists(schema))
      new FolderGuard(governance, session)
          .requireApart(new Path(catalog.getDatabaseMetadata(schema).locationUri()), false, true);
  }

  /** Refuses a command that takes a folder into use over what lies there. */
  private void requireApart(LogicalPlan plan, String kind, CommandTargets targets) {
    FolderGuard folders = new FolderGuard(governance, session);
    boolean appends = APPENDS.contains(kind) && !PrivilegeChecker.overwrites(plan);
    for (var one : targets.used.entrySet()) {
      boolean asTable = one.getValue();
      boolean isNew = targets.places.containsKey(CommandTargets.FOLDER + one.getKey());
      if (asTable ? isNew || CLAIMS.contains(kind) : !LOOKS.contains(kind))
        folders.requireApart(one.getKey(), asTable, !appends || (asTable && isNew));
    }
  }

  private void requireExplainable(ExplainCommand plan) {
    LogicalPlan asked =
        session
            .sessionState()
            .executePlan(plan.logicalPlan(), CommandExecutionMode.SKIP())
            .analyzed();
    governance.requireExplainable(session, asked, plan.mode().name().equals("cost"));
  }

  private void require(LogicalPlan plan, String kind, Protection protection) {
    if (REPLACES.contains(kind)
        || (plan instanceof CreateDeltaTableCommand && isReplacing((CreateDeltaTableCommand) plan)))
      throw new SecurityException(
          "the policies of "
              + protection.name
              + " would be gone with the table that is replaced; DROP it, which keeps it for"
              + " UNDROP, or take them off, or write into it by INSERT OVERWRITE");
    if (protection.isView && RENAMES_VIEWS.contains(kind))
      throw new SecurityException(
          "policies protect view " + protection.name + " by its name; take them off to rename it");
    if (removesColumnMapping(plan))
      throw new SecurityException(
          "policies know the columns of "
              + protection.name
              + " by their column mapping; take them"
              + " off to take that off");
    ColumnGuard columns = new ColumnGuard(protection);
    columns.requireKept(plan);
    Identity who = governance.identities.require(session);
    if (!governance.bodies.showsAll(protection, who)) columns.requireUntold(plan, who.user);
    if (LOOKS.contains(kind) || CHANGES.contains(kind) || isAppending(plan)) {
      if (kind.equals("AppendData"))
        dml.requireNoMasksOf(protection, Scala.list(plan.children()).get(0));
      if (isAppending(plan))
        dml.requireNoMasksOf(protection, ((SaveIntoDataSourceCommand) plan).query());
      return;
    }
    if (!governance.bodies.showsAll(protection, who))
      throw new SecurityException(
          protection.name
              + " is behind policies that hide some of it from "
              + who.user
              + ", and "
              + kind
              + " works on all of it; let a role run it that sees all of it");
  }

  /**
   * Whether a command takes column mapping off: names that were swapped would take their masks with
   * them.
   */
  private static boolean removesColumnMapping(LogicalPlan plan) {
    Object[] said = Relations.arguments(plan);
    String kind = plan.getClass().getSimpleName();
    if (kind.equals("SetTableProperties")) {
      return "none"
          .equalsIgnoreCase((String) Scala.map((scala.collection.Map<?, ?>) said[1]).get(MODE));
    }
    if (kind.equals("UnsetTableProperties"))
      return Scala.list((scala.collection.Seq<?>) said[1]).contains(MODE);
    return kind.equals("AlterTableDropFeature")
        && "columnMapping".equalsIgnoreCase((String) said[1]);
  }

  private static boolean isReplacing(CreateDeltaTableCommand plan) {
    return !plan.operation().getClass().getSimpleName().startsWith("Create$");
  }

  private static boolean isAppending(LogicalPlan plan) {
    if (!(plan instanceof SaveIntoDataSourceCommand)) return false;
    return ((SaveIntoDataSourceCommand) plan).mode() == SaveMode.Append;
  }

  private void refuse(LogicalPlan plan) {
    if (plan instanceof DescribeDeltaHistoryCommand)
      files.refuseHistory(((DescribeDeltaHistoryCommand) plan).table(), "its history");
    if (plan instanceof RestoreTableCommand) refuse(((RestoreTableCommand) plan).sourceTable());
    if (plan instanceof LoadDataCommand) files.refuseGlob(((LoadDataCommand) plan).path());
    if (plan instanceof CreateDeltaTableCommand
        && !((CreateDeltaTableCommand) plan).query().isEmpty())
      refuse(((CreateDeltaTableCommand) plan).query().get());
    if (plan instanceof CloneTableCommand) refuse(((CloneTableCommand) plan).sourceTable());
  }

  private void refuse(DeltaTableV2 table) {
    files.refuseHistory(table, Governance.PAST);
    String then = Relations.keyOf(table.initialSnapshot());
    String now = Relations.keyOf(table.deltaLog().unsafeVolatileSnapshot());
    if (!then.equals(now)
        && (governance.protections.of(then, session) != null
            || governance.protections.of(now, session) != null))
      throw new SecurityException(
          table.name()
              + " was replaced since then, and policies protect what it was or is;"
              + " read the version, and write it by INSERT OVERWRITE");
  }

  private void refuse(CloneSource source) {
    Protection protection = governance.protections.of("delta:" + source.metadata().id(), session);
    if (protection != null && (protection.isInForce() || protection.hadRows))
      throw new SecurityException(
          "a clone of a table that policies protect is made by a statement of its own;"
              + " run CREATE TABLE … CLONE through spark.sql, so that the clone is protected, too");
    if (!source.format().equalsIgnoreCase("delta")) files.refuseUnder(source.dataPath());
  }
}
