package io.sparkaccesshistory.policies;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Grants;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.Principal;
import io.sparkaccesshistory.policies.model.Relations;
import io.sparkaccesshistory.policies.model.Securable;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedNamespace;
import org.apache.spark.sql.catalyst.analysis.SQLFunctionNode;
import org.apache.spark.sql.catalyst.analysis.SQLScalarFunction;
import org.apache.spark.sql.catalyst.catalog.SQLFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLogFileIndex;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.CloneSource;
import org.apache.spark.sql.delta.commands.CloneTableCommand;
import org.apache.spark.sql.delta.commands.cdc.CDCReader;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.command.AlterTableRenameCommand;
import org.apache.spark.sql.execution.command.CreateViewCommand;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import scala.Option;

/**
 * Whether somebody has the privileges that a plan asks for, where these are enforced. A view and a
 * function run with the rights of their owner (Snowflake, Overview of views; UDFs); one that nobody
 * is known to own with those of whoever reads it.
 */
public class PrivilegeChecker {
  private static final TreeNodeTag<String> ALLOWED = new TreeNodeTag<>("audit.allowed");

  private static final String SELECT = "SELECT", INSERT = "INSERT", DELETE = "DELETE";

  /** They look at what is known of a table: any privilege on it will do. */
  private static final Set<String> LOOKS =
      set(
          "CacheTable CacheTableAsSelect CreateTableLike CreateTableLikeCommand DescribeColumn"
              + " DescribeColumnCommand DescribeDeltaDetailCommand DescribeDeltaHistory"
              + " DescribeDeltaHistoryCommand DescribeRelation DescribeRelationJsonCommand"
              + " DescribeTableCommand ExplainCommand RefreshTable RefreshTableCommand ShowColumns"
              + " ShowColumnsCommand ShowCreateTable ShowCreateTableAsSerdeCommand"
              + " ShowCreateTableCommand ShowDeltaPartitionsCommand ShowDeltaTableColumnsCommand"
              + " ShowPartitions ShowPartitionsCommand ShowTablePartition ShowTableProperties"
              + " ShowTablePropertiesCommand ShowTablesExtended UncacheTable");

  private static final Set<String> APPENDS =
      set(
          "AppendData InsertIntoDataSourceCommand InsertIntoHadoopFsRelationCommand"
              + " InsertIntoHiveTable LoadDataCommand SaveIntoDataSourceCommand"
              + " InsertIntoDataSourceDirCommand InsertIntoHiveDirCommand");
  private static final Set<String> OVERWRITES =
      set(
          "DeltaDynamicPartitionOverwriteCommand DeltaInsertReplaceOnOrUsingCommand"
              + " OverwriteByExpression OverwritePartitionsDynamic");
  private static final Set<String> FETCHES =
      set("AddArchivesCommand AddFilesCommand AddJarsCommand");
  private static final Set<String> TRUNCATES =
      set("TruncateDeltaTableCommand TruncatePartition TruncateTable TruncateTableCommand");
  private static final Set<String> CREATES =
      set(
          "CloneTableCommand CreateDataSourceTableAsSelectCommand CreateDataSourceTableCommand"
              + " CreateDeltaTableCommand CreateHiveTableAsSelectCommand CreateMetricViewCommand"
              + " CreateTable CreateTableAsSelect CreateTableCommand CreateTableLike"
              + " CreateTableLikeCommand CreateView CreateViewCommand ReplaceTable"
              + " ReplaceTableAsSelect");
  private static final Set<String> OF_SCHEMAS =
      set(
          "AlterDatabasePropertiesCommand AlterDatabaseSetLocationCommand CommentOnNamespace"
              + " CreateDatabaseCommand CreateNamespace DropDatabaseCommand DropNamespace"
              + " SetNamespaceCollationCommand SetNamespaceLocation SetNamespaceProperties"
              + " UnsetNamespacePropertiesCommand");

  private final Governance governance;
  private final Grants grants;
  private final SparkSession session;

  public PrivilegeChecker(Governance governance, SparkSession session) {
    this.governance = governance;
    this.session = session;
    grants = governance.grants;
  }

  private static Set<String> set(String names) {
    return new HashSet<>(Arrays.asList(names.split(" ")));
  }

  // -- reading -----------------------------------------------------------------------------------

  /** Refuses a plan that reads what whoever runs it may not. */
  public void requireReads(LogicalPlan plan) {
    Identity who = governance.identities.require(session);
    if (!who.isAdmin) requireReads(plan, who, false);
  }

  /** `inside` of a view or function. */
  private void requireReads(LogicalPlan plan, Principal who, boolean inside) {
    Principal below = who;
    boolean goesInside = inside;
    if (plan instanceof View && !((View) plan).isTempView()) {
      Securable view =
          Securable.of("view", Relations.keyOf(plan), ((View) plan).desc().identifier());
      requireRead(plan, view, who, inside);
      below = grants.ownerOf(view, who);
      goesInside = true;
    } else if (plan instanceof SQLFunctionNode) {
      below = requireCall(((SQLFunctionNode) plan).function(), who);
      goesInside = true;
    } else if (Scala.list(plan.children()).isEmpty()) {
      Securable on = securableReadBy(plan);
      if (on != null) requireRead(plan, on, who, inside);
    }
    var expressions = Scala.list(plan.expressions());
    for (var one : expressions) requireReads(one, below, goesInside);
    var children = Scala.list(plan.children());
    for (var one : children) requireReads(one, below, goesInside);
  }

  private void requireReads(Expression value, Principal who, boolean inside) {
    Principal below = who;
    boolean goesInside = inside;
    if (value instanceof SQLScalarFunction) {
      below = requireCall(((SQLScalarFunction) value).function(), who);
      goesInside = true;
    }
    if (value instanceof SubqueryExpression)
      requireReads(((SubqueryExpression) value).plan(), below, goesInside);
    var children = Scala.list(value.children());
    for (var one : children) requireReads(one, below, goesInside);
  }

  /**
   * Writers run the query of a statement once more, after Spark has taken its views away: what was
   * read by an owner's rights is marked for the same reader and the same privileges. What policies
   * read is nobody's read.
   */
  private void requireRead(LogicalPlan plan, Securable on, Principal who, boolean inside) {
    if (!plan.getTagValue(Relations.GOVERNED).isEmpty()) return;
    String mark = grants.markOf(governance.identities.require(session));
    var allowed = plan.getTagValue(ALLOWED);
    if (!allowed.isEmpty() && allowed.get().equals(mark)) return;
    require(SELECT, on, who, "read " + on);
    if (inside) plan.setTagValue(ALLOWED, mark);
  }

  /** As whom a function runs. */
  private Principal requireCall(SQLFunction function, Principal who) {
    if (function.name().database().isEmpty()) return who; // a temporary one
    Securable on = Securable.function(function.name());
    require("USAGE", on, who, "call " + on);
    return grants.ownerOf(on, who);
  }

  /**
   * What a relation reads; null for what is nobody's, and for Delta's own look at a table that is
   * read.
   */
  private Securable securableReadBy(LogicalPlan plan) {
    TableIdentifier name = Relations.nameOf(plan);
    if (plan instanceof LogicalRelation
        && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation) {
      Object index = ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location();
      if (index instanceof DeltaLogFileIndex
          || (index instanceof TahoeFileIndex && !(index instanceof TahoeLogFileIndex)))
        return null;
      if (!(index instanceof TahoeFileIndex) && name == null) return Securable.FILES;
    }
    if (plan instanceof LogicalRelation
        && ((LogicalRelation) plan).relation() instanceof CDCReader.DeltaCDFRelation)
      name =
          Relations.nameOf(
              ((CDCReader.DeltaCDFRelation) ((LogicalRelation) plan).relation()).catalogTableOpt());
    String key = Relations.keyOf(plan);
    if (plan instanceof StreamingRelation)
      return securableOfStream(((StreamingRelation) plan).dataSource());
    if (plan instanceof StreamingRelationV2
        && ((StreamingRelationV2) plan).table() instanceof DeltaTableV2) {
      DeltaTableV2 table = (DeltaTableV2) ((StreamingRelationV2) plan).table();
      key = Relations.keyOf(table);
      name = Relations.nameOf(table.catalogTable());
    }
    if (plan instanceof DataSourceV2Relation) {
      DataSourceV2Relation relation = (DataSourceV2Relation) plan;
      if (relation.table() instanceof FileTable && relation.identifier().isEmpty())
        return Securable.FILES;
      if (relation.table() instanceof DeltaTableV2)
        name = Relations.nameOf(((DeltaTableV2) relation.table()).catalogTable());
      else if (!relation.catalog().isEmpty() && !relation.identifier().isEmpty())
        name = Relations.identifier(relation.catalog().get(), relation.identifier().get());
      if (key == null && name != null) key = Relations.keyOf(name);
    }
    if (key == null) return null;
    return name == null ? Securable.at(key, null) : Securable.of("table", key, name);
  }

  private Securable securableOfStream(DataSource source) {
    TableIdentifier name = Relations.nameOf(source.catalogTable());
    if (name != null) {
      Securable on = Securable.of("table", Relations.keyOf(name), name);
      String key = on.keyNow(session);
      return key == null ? on : Securable.of("table", key, name);
    }
    var path = Option.apply(Scala.map(source.options()).get("path"));
    if (path.isEmpty()) return null; // Kafka, a socket
    Path place = Relations.qualified(session, new Path(path.get()));
    Snapshot found = Relations.at(session, place);
    return found == null ? Securable.FILES : Securable.at(Relations.keyOf(found), place);
  }

  // -- commands ----------------------------------------------------------------------------------

  /** Refuses a command that asks for more than whoever runs it may, and notes what it makes. */
  public void require(LogicalPlan plan, String kind, CommandTargets targets) {
    Identity who = governance.identities.require(session);
    if (!who.isAdmin && governance.enforcesPrivileges()) {
      var children = Scala.list(plan.children());
      for (var one : children) requireReads(one, who, false);
    }
    Object subject = Relations.arguments(plan).length == 0 ? null : Relations.arguments(plan)[0];
    if (kind.contains("Function")) requireOnFunction(kind, subject, who);
    else if (OF_SCHEMAS.contains(kind)) requireOnSchema(kind, subject, who);
    else if (CREATES.contains(kind)) requireCreate(plan, kind, targets, who);
    else requireChange(plan, kind, targets, who);
  }

  /** Makes a table or a view, and replaces one that is there where the statement says so. */
  private void requireCreate(LogicalPlan plan, String kind, CommandTargets targets, Identity who) {
    String noun = kind.contains("View") ? "view" : "table";
    boolean replaces = replaces(plan, kind);
    if (plan instanceof CloneTableCommand)
      requireCloneSource(((CloneTableCommand) plan).sourceTable(), who);
    for (TableIdentifier name : targets.free) {
      Securable on = Securable.of(noun, Relations.keyOf(name), name);
      require(
          "CREATE " + noun.toUpperCase(Locale.ROOT), Securable.schema(name), who, "create " + on);
      grants.note(on, false, who);
    }
    for (Securable on : targets.named.values()) {
      if (on.id == null) require(Grants.OWNERSHIP, on, who, "make a table of " + on);
      else if (LOOKS.contains(kind)) requireAnyPrivilege(on, who);
      else if (replaces) {
        require(Grants.OWNERSHIP, on, who, "replace " + on);
        require(
            "CREATE " + noun.toUpperCase(Locale.ROOT),
            Securable.schema(on.id),
            who,
            "replace " + on);
        grants.note(on, true, who);
      }
    }
    for (var one : targets.folders)
      if (holdsFiles(one)) require(SELECT, Securable.FILES, who, "make a table of files");
  }

  private void requireCloneSource(CloneSource source, Identity who) {
    TableIdentifier name = Relations.nameOf(source.catalogTable());
    String key =
        source.format().equalsIgnoreCase("delta")
            ? "delta:" + source.metadata().id()
            : name == null ? null : Relations.keyOf(name);
    Securable on =
        key == null
            ? Securable.FILES
            : name == null
                ? Securable.at(key, source.dataPath())
                : Securable.of("table", key, name);
    require(SELECT, on, who, "clone " + on);
  }

  private void requireChange(LogicalPlan plan, String kind, CommandTargets targets, Identity who) {
    String[] asked = privilegesFor(plan, kind);
    for (Securable on : targets.named.values()) {
      if (LOOKS.contains(kind)) requireAnyPrivilege(on, who);
      else for (var one : asked) require(one, on, who, verb(one) + on);
    }
    Securable first = targets.named.isEmpty() ? null : targets.named.values().iterator().next();
    if (plan instanceof RenameTable && first != null && first.id != null)
      require(
          "CREATE " + first.noun.toUpperCase(Locale.ROOT),
          Securable.schema(CommandTargets.nameAfter((RenameTable) plan, first.id)),
          who,
          "rename " + first);
    if (kind.startsWith("LoadData") || FETCHES.contains(kind))
      require(SELECT, Securable.FILES, who, "read files");
    else if (targets.named.isEmpty() && !targets.folders.isEmpty())
      for (var one : asked) require(one, Securable.FILES, who, "write files");
    for (var one :
        targets.free) { // SaveIntoDataSourceCommand makes what it does not find; a new name
      TableIdentifier name = one;
      String noun = first == null ? "table" : first.noun;
      if (APPENDS.contains(kind) || plan instanceof AlterTableRenameCommand)
        require(
            "CREATE " + noun.toUpperCase(Locale.ROOT),
            Securable.schema(name),
            who,
            "create " + noun + ' ' + name.unquotedString());
    }
  }

  /** What a stream is about to write to, by its name or its place. */
  public void requireSink(TableIdentifier name, Path place, boolean appends) {
    Identity who = governance.identities.require(session);
    Snapshot found = place == null ? null : Relations.at(session, place);
    Securable on =
        name != null
            ? Securable.of("table", Relations.keyOf(name), name)
            : found == null ? Securable.FILES : Securable.at(Relations.keyOf(found), place);
    String key = name == null ? on.key : on.keyNow(session);
    if (key == null) {
      require("CREATE TABLE", Securable.schema(name), who, "create " + on);
      grants.note(on, false, who);
      return;
    }
    if (name != null) on = Securable.of("table", key, name);
    require(INSERT, on, who, "insert into " + on);
    if (!appends) require(DELETE, on, who, "replace what " + on + " holds");
  }

  private void requireOnSchema(String kind, Object subject, Identity who) {
    String name =
        subject instanceof ResolvedNamespace
            ? Scala.list(((ResolvedNamespace) subject).namespace()).get(0)
            : (String) subject;
    Securable on = Securable.schema(TableIdentifier.apply("", Option.apply(name)));
    if (kind.startsWith("Create")) {
      if (session.sessionState().catalog().databaseExists(name)) return;
      require("CREATE SCHEMA", Securable.ACCOUNT, who, "create " + on);
      grants.note(on, false, who);
    } else
      require(Grants.OWNERSHIP, on, who, kind.startsWith("Drop") ? "drop " + on : "change " + on);
  }

  private void requireOnFunction(String kind, Object subject, Identity who) {
    if (!(subject instanceof FunctionIdentifier)
        || ((FunctionIdentifier) subject).database().isEmpty()) return;
    if (kind.startsWith("Describe") || kind.startsWith("Show")) return;
    Securable on = Securable.function((FunctionIdentifier) subject);
    boolean isThere =
        session.sessionState().catalog().isPersistentFunction((FunctionIdentifier) subject);
    if (isThere)
      require(Grants.OWNERSHIP, on, who, (kind.startsWith("Drop") ? "drop " : "change ") + on);
    if (!kind.startsWith("Create")) return;
    require("CREATE FUNCTION", Securable.schema(on.id), who, "create " + on);
    grants.note(on, isThere, who);
  }

  private static String[] privilegesFor(LogicalPlan plan, String kind) {
    if (OVERWRITES.contains(kind) || (APPENDS.contains(kind) && overwrites(plan)))
      return new String[] {INSERT, DELETE};
    if (APPENDS.contains(kind)) return new String[] {INSERT};
    if (TRUNCATES.contains(kind)) return new String[] {"TRUNCATE"};
    if (kind.equals("UpdateCommand")) return new String[] {"UPDATE"};
    if (kind.equals("DeleteCommand")) return new String[] {DELETE};
    if (kind.equals("MergeIntoCommand")) return privilegesForMerge(plan);
    return new String[] {Grants.OWNERSHIP};
  }

  private static String verb(String privilege) {
    if (privilege.equals(INSERT)) return "insert into ";
    if (privilege.equals(DELETE)) return "delete from ";
    return privilege.equals(Grants.OWNERSHIP)
        ? "change "
        : privilege.toLowerCase(Locale.ROOT) + ' ';
  }

  public static boolean overwrites(LogicalPlan plan) {
    Object[] said = Relations.arguments(plan);
    for (var one : said) if (one instanceof SaveMode) return one == SaveMode.Overwrite;
    // InsertIntoDataSourceCommand(relation, query, overwrite); InsertIntoHiveTable(table,
    // partition, query, overwrite, …);
    // LoadDataCommand(table, path, isLocal, isOverwrite, …)
    int at = plan instanceof InsertIntoDataSourceCommand ? 2 : 3;
    return said.length > at && Boolean.TRUE.equals(said[at]);
  }

  /** What the clauses of a MERGE do. */
  private static String[] privilegesForMerge(LogicalPlan plan) {
    Set<String> found = new TreeSet<>();
    Object[] said = Relations.arguments(plan);
    for (var one : said) {
      if (!(one instanceof scala.collection.immutable.Seq)) continue;
      var clauses = Scala.list((scala.collection.immutable.Seq<?>) one);
      for (Object each : clauses) {
        String clause = each.getClass().getSimpleName();
        if (clause.endsWith("InsertClause")) found.add(INSERT);
        if (clause.endsWith("UpdateClause")) found.add("UPDATE");
        if (clause.endsWith("DeleteClause")) found.add(DELETE);
      }
    }
    return found.toArray(new String[0]);
  }

  public static boolean replaces(LogicalPlan plan, String kind) {
    return kind.startsWith("Replace")
        || (plan instanceof CreateViewCommand && ((CreateViewCommand) plan).replace());
  }

  private boolean holdsFiles(Path folder) {
    try {
      FileSystem files = folder.getFileSystem(session.sessionState().newHadoopConf());
      return files.exists(folder) && files.listStatus(folder).length > 0;
    } catch (java.io.IOException e) {
      throw new SecurityException("what " + folder + " holds cannot be told: " + e.getMessage());
    }
  }

  // -- who has what ------------------------------------------------------------------------------

  private void requireAnyPrivilege(Securable on, Identity who) {
    if (governance.enforcesPrivileges() && !grants.sees(who, on))
      throw denied("SELECT or another privilege", on, who, "look at " + on);
  }

  /**
   * Refuses what somebody has no privilege for, on an object and on its schema; `what` they want is
   * for the error.
   */
  private void require(String privilege, Securable on, Principal who, String what) {
    if (!governance.enforcesPrivileges()) return;
    if (!grants.holds(who, privilege, on)) throw denied(privilege, on, who, what);
    if (on.schema != null && !grants.enters(who, Securable.schema(on.id)))
      throw denied("USAGE", Securable.schema(on.id), who, what);
  }

  private SecurityException denied(String privilege, Securable on, Principal who, String what) {
    Identity user = governance.identities.require(session);
    String whom =
        who == user
            ? user.user + " may not " + what
            : user.user
                + " may not "
                + what
                + " through what "
                + who.holder.toLowerCase(Locale.ROOT).substring(0, 5)
                + who.holder.substring(5)
                + " owns";
    String way =
        privilege.equals(Grants.OWNERSHIP) && on.noun.equals("files")
            ? "an administrator may (role ACCOUNTADMIN)"
            : "GRANT "
                + (privilege.startsWith("SELECT") ? SELECT : privilege)
                + " ON "
                + on.spelled()
                + " TO "
                + who.holder
                + ", or to a role of theirs";
    return new SecurityException(
        whom
            + ": "
            + privilege
            + " is missing on "
            + (on.noun.equals("files") ? "the account" : on.toString())
            + "; "
            + way);
  }
}
