package io.sparkaccesshistory.policies;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.expressions.ContextAnswers;
import io.sparkaccesshistory.policies.expressions.ContextFunctions;
import io.sparkaccesshistory.policies.expressions.RelationCollector;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.Policy;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import io.sparkaccesshistory.policies.rewrite.PolicyRewriter;
import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.DeserializeToObject;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.execution.CacheManager;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.Option;

/**
 * Enforces the governance of one root: puts each read behind its policies, for whoever reads, and
 * refuses what its user has no privilege for.
 *
 * <p>It works on what Spark has resolved, before Spark looks into its caches or optimises anything:
 * a rule of normalisation. So text, views, functions, scripts, DataFrames, paths and versions are
 * one way in, and the plan that is recorded stays what the user has written.
 */
public class Enforcement implements EnforcementRule.Root {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final StackWalker CALLERS =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
  private SparkSession own;
  private Governance governance;
  private volatile boolean ended = false;
  private final LongAdder nanoseconds = new LongAdder();

  /** Begins with what is known of a root: see the constructor of `Governance`. */
  public void begin(
      SparkSession own, String exempt, String auditFolders, String property, String ofSession) {
    this.own = own;
    governance = new Governance(own, exempt, auditFolders, property, ofSession);
    ContextFunctions.register(governance.identities, own);
  }

  public Governance governance() {
    return governance;
  }

  /** Installs the enforcement rule in a session and the sessions derived from it. */
  public void install(SparkSession session) throws ReflectiveOperationException {
    ContextFunctions.register(governance.identities, session);
    EnforcementRule.install(this, session);
  }

  private static Policy policy(String json) throws IOException {
    return new Policy(JSON.readValue(json, Policy.Definition.class));
  }

  /** Refuses a stream over what policies hide from whoever starts it. */
  public void checkStream(SparkSession session, LogicalPlan plan) {
    if (governance.identities.isExempt(session)) return;
    new BackupGuard(governance, session).requireStreams(RawFileGuard.placesBelow(plan));
    if (governance.enforcesPrivileges())
      new PrivilegeChecker(governance, session).requireReads(plan);
    if (governance.protections.any()) new RawFileGuard(governance, session).refuseStreams(plan);
  }

  /**
   * Refuses a stream into what is the audit's own, or not its user's; `table` names the sink where
   * its path does not.
   */
  public void checkSink(SparkSession session, Object writer, String path, String table)
      throws Exception {
    if (governance.identities.isExempt(session)) return;
    Map<String, String> options = options(held(writer, "extraOptions"));
    String place = path == null ? options.get("path") : path;
    String format = String.valueOf(held(writer, "source"));
    TableIdentifier name = null;
    if (table != null) {
      name =
          session
              .sessionState()
              .catalog()
              .qualifyIdentifier(session.sessionState().sqlParser().parseTableIdentifier(table));
      if (session.sessionState().catalog().tableExists(name)) {
        CatalogTable there = session.sessionState().catalog().getTableMetadata(name);
        place = there.location().toString();
        if (there.provider().isDefined()) format = there.provider().get();
      }
    }
    boolean appends = String.valueOf(held(writer, "outputMode")).equals("Append");
    if (governance.notesCreations() && (name != null || place != null))
      new PrivilegeChecker(governance, session)
          .requireSink(
              name, name == null ? Relations.qualified(session, new Path(place)) : null, appends);
    FolderGuard folders = new FolderGuard(governance, session);
    Path checkpoint = checkpoint(session, options);
    if (checkpoint != null) folders.requireApart(checkpoint, false, false);
    if (place == null) return;
    Path folder = Relations.qualified(session, new Path(place));
    folders.requireApart(folder, format.equalsIgnoreCase("delta"), false);
    if (!governance.protections.any()) return;
    Snapshot found = Relations.newestAt(session, folder);
    if (found == null) return;
    governance.requireNotRead(Relations.keyOf(found), session);
    Protection protection = governance.protections.of(Relations.keyOf(found), session);
    if (protection != null
        && !appends
        && !governance.bodies.showsAll(protection, governance.identities.require(session)))
      throw new SecurityException(
          "this stream replaces what "
              + protection.name
              + " holds, and policies hide some of it; append");
  }

  /** Where a stream keeps its progress: by a setting of the session it has its own name there. */
  private static Path checkpoint(SparkSession session, Map<String, String> options) {
    String place = options.get("checkpointLocation");
    if (place != null) return new Path(place);
    Option<String> above = session.sessionState().conf().checkpointLocation();
    if (above.isEmpty()) return null;
    String name = options.get("queryName");
    return name == null ? new Path(above.get()) : new Path(above.get(), name);
  }

  /** What a DataStreamWriter holds (Spark 4.2). */
  private static Object held(Object writer, String name) throws ReflectiveOperationException {
    Field field = writer.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(writer);
  }

  /** DataStreamWriter keeps its options in a CaseInsensitiveMap[String] (Spark 4.2). */
  @SuppressWarnings("unchecked")
  private static Map<String, String> options(Object held) {
    return Scala.map((scala.collection.Map<String, String>) held);
  }

  /** Refuses a folder for a new Delta table over what is protected. */
  public void checkFolder(SparkSession session, String place) {
    governance.requireApart(new Path(place), session);
    if (governance.protections.any() || governance.enforcesPrivileges())
      new FolderGuard(governance, session).requireApart(new Path(place), true, true);
  }

  /** Refuses what tells of whole tables that a plan reads, of backups or behind policies. */
  public void checkAllShown(SparkSession session, LogicalPlan plan, String what) {
    new BackupGuard(governance, session).requireReads(plan);
    governance.requireAllShown(session, plan, what);
  }

  /** Refuses a table in the folder of a backup, where a statement would write, past any plan. */
  public void checkNoBackup(SparkSession session, String place) {
    if (!governance.identities.isExempt(session))
      governance.requireNoBackup(new Path(place), session);
  }

  /** Refuses the files of a protected table, and those of backups. */
  public void checkFiles(SparkSession session, String place) {
    new BackupGuard(governance, session).requireGlob(place);
    if (governance.protections.any() && !governance.identities.isExempt(session))
      new RawFileGuard(governance, session).refuseGlob(place);
  }

  /** Refuses to drop a schema with what policies read, before anything in it is moved. */
  public void checkSchemaDrop(SparkSession session, String name) {
    if (governance.protections.any()) governance.requireSchemaNotRead(name, session);
  }

  /** Refuses what a table held before to whoever runs this thread, and may not see it. */
  public void checkPast(String id) {
    Protection protection = governance.protections.of("delta:" + id);
    if (protection != null)
      Governance.requireHistory(protection, governance.identities.require(own), Governance.PAST);
  }

  /**
   * Refuses the history of a table by its place to who may not see it.
   *
   * @return whether they may see what each change was asked for, too
   */
  public boolean checkHistory(SparkSession session, String location) {
    new BackupGuard(governance, session).requireRead(new Path(location));
    if (!governance.protections.any() || governance.identities.isExempt(session)) return true;
    Protection protection =
        governance.protections.of(
            Relations.keyOf(DeltaLog.forTable(session, location).unsafeVolatileSnapshot()),
            session);
    if (protection == null) return true;
    Identity who = governance.identities.require(session);
    Governance.requireHistory(protection, who, "its history");
    return governance.bodies.showsAll(protection, who);
  }

  /**
   * Refuses to change how long a table, by Delta's id, is kept to who does not see all of it, and
   * is no administrator: what is dropped after that is lost. Where privileges are enforced, its
   * owner may.
   */
  public void checkRetention(SparkSession session, String id) {
    if (!governance.protections.any() || governance.enforcesPrivileges()) return;
    Protection protection = governance.protections.of("delta:" + id, session);
    if (protection == null || !protection.isInForce()) return;
    Identity who = governance.identities.require(session);
    if (!who.isAdmin && !governance.bodies.showsAll(protection, who))
      throw new SecurityException(
          "policies hide some of "
              + protection.name
              + " from "
              + who.user
              + ", who may not change how long it is kept; let a role change it that sees all of"
              + " it");
  }

  /** Disables this enforcement, and takes out what it has put into sessions and registries. */
  public void end() throws ReflectiveOperationException {
    ended = true;
    ContextFunctions.unregister(governance.identities, EnforcementRule.remove(this));
    governance.forget();
  }

  /**
   * The same query as another Dataset, which nothing has planned yet; what has run is not run
   * again.
   */
  public Dataset<Row> unplanned(Dataset<?> dataset) {
    return Dataset$.MODULE$.ofRows(
        dataset.queryExecution().sparkSession(), dataset.queryExecution().commandExecuted());
  }

  @Override
  public boolean knows(SparkSession session) {
    return governance.identities.knows(session);
  }

  /** How long plans have waited to be governed so far, in nanoseconds. */
  public long nanoseconds() {
    return nanoseconds.sum();
  }

  /** Resolves the body of a policy as it will be; an error where that cannot be. */
  public void checkPolicy(String json) throws IOException {
    governance.bodies.resolved(policy(json));
  }

  /**
   * Whether a policy, as it was, may change what somebody sees, by their token; null for nobody
   * known.
   */
  public Boolean couldChange(String token, String id, String json, boolean isMask)
      throws IOException {
    Identity who = governance.identities.of(token);
    return who == null
        ? null
        : Boolean.valueOf(governance.bodies.couldChange(policy(json), id, isMask, who));
  }

  /**
   * The keys of what the body of a policy reads, one a line; whether it has subqueries, and calls
   * functions in SQL.
   */
  public String policyReads(String json) throws IOException {
    RelationCollector found = RelationCollector.of(governance.bodies.resolved(policy(json)).value);
    StringBuilder lines = new StringBuilder();
    for (var one : found.keys) lines.append(one).append('\n');
    if (found.hasSubqueries) lines.append("subquery:\n");
    for (var one : found.functions) lines.append("function:").append(one).append('\n');
    return lines.toString();
  }

  // -- the way of a plan -----------------------------------------------------------------------

  @Override
  public LogicalPlan governed(LogicalPlan plan, SparkSession session) {
    long began = System.nanoTime();
    try {
      return ended ? plan : applyPolicies(plan, session);
    } finally {
      nanoseconds.add(System.nanoTime() - began);
    }
  }

  private LogicalPlan applyPolicies(LogicalPlan plan, SparkSession session) {
    unlessForCaches(() -> new BackupGuard(governance, session).requireReads(plan));
    boolean asks = ContextFunctions.areIn(plan);
    if ((!governance.protections.any()
            && !asks
            && !governance.enforcesPrivileges()
            && !(plan instanceof Command))
        || governance.identities.isExempt(session)) return plan;
    if (governance.enforcesPrivileges() && !(plan instanceof Command))
      unlessForCaches(() -> new PrivilegeChecker(governance, session).requireReads(plan));
    LogicalPlan found = plan;
    boolean reads = plan.containsPattern(TreePattern.PLAN_EXPRESSION()) || readsData(plan);
    if (reads && (governance.protections.any() || asks || plan instanceof Command)) {
      found = new PolicyRewriter(governance, session).rewrite(plan);
      if (found != plan && isOneRelation(plan) && isAskedForByCaches()) return plan;
    }
    Identity who = asks ? governance.identities.of(session) : null;
    return who == null
        ? found
        : found.transformAllExpressionsWithSubqueries(new ContextAnswers(who));
  }

  /**
   * Whether a plan reads, or does, anything but what is in memory: Delta asks its own of each table
   * that a statement reads, and for nothing else are plans so many.
   */
  private static boolean readsData(LogicalPlan plan) {
    if (plan instanceof LogicalRDD || plan instanceof LocalRelation) return false;
    boolean isPlain =
        plan instanceof Project
            || plan instanceof Filter
            || plan instanceof Aggregate
            || plan instanceof DeserializeToObject
            || plan instanceof SerializeFromObject;
    return !isPlain || readsData(Scala.list(plan.children()).get(0));
  }

  private static void unlessForCaches(Runnable check) {
    try {
      check.run();
    } catch (SecurityException e) {
      if (!isAskedForByCaches()) throw e;
    }
  }

  private static boolean isOneRelation(LogicalPlan plan) {
    LogicalPlan found = plan;
    while (found instanceof SubqueryAlias) found = ((SubqueryAlias) found).child();
    return Scala.list(found.children()).isEmpty();
  }

  /**
   * Whether Spark asks which caches hold a relation that has changed: all of them, whatever their
   * users see of it. Its CacheManager normalises the relation as a query's plan is (Spark 4.2), so
   * only the stack tells.
   */
  private static boolean isAskedForByCaches() {
    return CALLERS.walk(
        frames ->
            frames.anyMatch(
                frame ->
                    frame.getDeclaringClass() == CacheManager.class
                        && frame.getMethodName().startsWith("recache")));
  }
}
