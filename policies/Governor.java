import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.CurrentUser;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.catalyst.optimizer.BooleanSimplification$;
import org.apache.spark.sql.catalyst.optimizer.ConstantFolding$;
import org.apache.spark.sql.catalyst.optimizer.SimplifyConditionals$;
import org.apache.spark.sql.catalyst.plans.InnerLike;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeAction;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoMatchedDeleteClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoMatchedUpdateClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoNotMatchedBySourceDeleteClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoNotMatchedBySourceUpdateClause;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaLogFileIndex;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.CloneTableCommand;
import org.apache.spark.sql.delta.commands.CreateDeltaTableCommand;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.DescribeDeltaHistory;
import org.apache.spark.sql.delta.commands.DescribeDeltaHistoryCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommand;
import org.apache.spark.sql.delta.commands.RestoreTableCommand;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import org.apache.spark.sql.delta.commands.cdc.CDCReader;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.delta.metric.IncrementMetric;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.PartialFunction;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/** Holds what is protected, and puts each read of it behind its policies, for whoever reads it.
 *
 *  It works on what Spark has resolved, before Spark looks into its caches or optimises anything: a rule of
 *  normalisation. So text, views, functions, scripts, DataFrames, paths and versions are one way in, and the plan
 *  that is recorded stays what the user has written. Compiled by Janino at run time: no lambdas, no generics. */
public class Governor {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TreeNodeTag GOVERNED = new TreeNodeTag("audit.governed");
  private static final String IDENTITY = "spark.audit.identity";
  private static final String SESSION = "spark.audit.session";
  private static final String EXEMPT = "spark.audit.exempt";
  private static final String MAPPED = "delta.columnMapping.id";
  private static final String PHYSICAL_NAME = "delta.columnMapping.physicalName";

  private final Map policies = new ConcurrentHashMap();
  private final Map tables = new ConcurrentHashMap();
  private final Map identities = new ConcurrentHashMap();
  private final Map sessions = new ConcurrentHashMap();
  private SparkSession own;
  private String exempt;
  private volatile boolean ended = false;

  /** `own` resolves the bodies of policies; a session whose settings hold `exempt` is the system's own. */
  public void begin(SparkSession own, String exempt) {
    this.own = own;
    this.exempt = exempt;
    exempt(own);
    offer(own);
  }

  /** What a session of the system's own, or a clone of it, reads is as it is. */
  public void exempt(SparkSession session) { session.sessionState().conf().setConfString(EXEMPT, exempt); }

  /** Has a session, and those that come from it, obey. */
  public void install(SparkSession session) throws Exception {
    offer(session);
    List rules = new ArrayList(CollectionConverters.asJava(session.sessionState().planNormalizationRules()));
    for (int i = 0; i < rules.size(); i++)
      if (rules.get(i) instanceof Obeying && ((Obeying) rules.get(i)).governor == this) return;
    rules.add(new Obeying(this, session));
    Field field = session.sessionState().getClass().getDeclaredField("planNormalizationRules");
    field.setAccessible(true);
    field.set(session.sessionState(), CollectionConverters.asScala(rules).toSeq());
    session.extensions().injectPlanNormalizationRule(new Making(this));
  }

  // -- what is known ---------------------------------------------------------------------------

  /** Policies and tables by their keys, as JSON; null takes one away. */
  public void learn(String json) throws Exception {
    Map said = read(json);
    Iterator each = ((Map) said.get("policies")).entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (entry.getValue() == null) policies.remove(entry.getKey());
      else policies.put(entry.getKey(), new Policy((Map) entry.getValue()));
    }
    each = ((Map) said.get("tables")).entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (entry.getValue() == null) tables.remove(entry.getKey());
      else tables.put(entry.getKey(), new Protection((Map) entry.getValue()));
    }
  }

  /** Somebody with their roles, by a token that nobody can guess. */
  public void know(String token, String json) throws Exception { identities.put(token, new Identity(read(json))); }

  /** Who runs what a session runs, where the thread says nothing else. */
  public void belongs(String session, String token) { sessions.put(session, token); }

  private static Map read(String json) throws Exception { return (Map) JSON.readValue(json, Map.class); }

  /** Refuses a stream over what policies hide from whoever starts it. */
  public void checkStream(SparkSession session, LogicalPlan plan) {
    if (!tables.isEmpty() && !isExempt(session)) new Walk(this, session).refuseStreams(plan);
  }

  /** Refuses the history of a table by its place to who may not see it. */
  public void checkHistory(SparkSession session, String location) {
    if (tables.isEmpty() || isExempt(session)) return;
    String id = DeltaLog.forTable(session, location).unsafeVolatileSnapshot().metadata().id();
    Protection protection = (Protection) tables.get("delta:" + id);
    if (protection != null) Walk.requireHistory(protection, required(session), "its history");
  }

  /** Nobody obeys any longer. */
  public void end() {
    ended = true;
    tables.clear();
    policies.clear();
    identities.clear();
    sessions.clear();
  }

  /** Resolves the body of a policy as it will be; an error where that cannot be. */
  public void check(String json) throws Exception { resolved(new Policy(read(json))); }

  /** The keys of what the body of a policy reads, one a line. */
  public String reads(String json) throws Exception {
    Keys found = new Keys();
    resolved(new Policy(read(json))).transformUp(found);
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < found.keys.size(); i++) lines.append(found.keys.get(i)).append('\n');
    return lines.toString();
  }

  private Identity identity(SparkSession session) {
    String token = session.sparkContext().getLocalProperty(IDENTITY);
    if (token == null) token = (String) sessions.get(session.sessionState().conf().getConfString(SESSION, ""));
    return token == null ? null : (Identity) identities.get(token);
  }

  private Identity required(SparkSession session) {
    Identity who = identity(session);
    if (who != null) return who;
    throw new SecurityException("this session reads what policies protect, and nobody is known to run it:"
        + " call audit.attach(spark) for it first");
  }

  private boolean isExempt(SparkSession session) {
    return exempt.equals(session.sessionState().conf().getConfString(EXEMPT, ""));
  }

  // -- the way of a plan -----------------------------------------------------------------------

  LogicalPlan governed(LogicalPlan plan, SparkSession session) {
    if (ended) return plan;
    boolean asks = plan.containsPattern(TreePattern.CURRENT_LIKE()) || plan.containsPattern(TreePattern.SCALA_UDF());
    if ((tables.isEmpty() && !asks) || isExempt(session)) return plan;
    LogicalPlan found = plan;
    if (!tables.isEmpty()) {
      Walk walk = new Walk(this, session);
      found = walk.over(plan);
      if (found != plan && isOneRelation(plan) && isAskedForByCaches()) return plan;
      if (walk.nullable) found = nullable(found);
    }
    Identity who = asks ? identity(session) : null;
    return who == null ? found : (LogicalPlan) found.transformAllExpressionsWithSubqueries(new Answering(who));
  }

  private static boolean isOneRelation(LogicalPlan plan) {
    LogicalPlan found = plan;
    while (found instanceof SubqueryAlias) found = ((SubqueryAlias) found).child();
    return found.children().isEmpty();
  }

  /** Whether Spark asks which caches hold a relation that has changed: all of them, whatever their users see of it. */
  private static boolean isAskedForByCaches() {
    StackTraceElement[] stack = new Throwable().getStackTrace();
    for (int i = 0; i < stack.length; i++)
      if (stack[i].getClassName().equals("org.apache.spark.sql.execution.CacheManager")
          && stack[i].getMethodName().startsWith("recache")) return true;
    return false;
  }

  /** References follow what is nullable now: a mask may give null where the column has none. */
  private static LogicalPlan nullable(LogicalPlan plan) {
    List children = new ArrayList();
    Map known = new HashMap();
    List below = CollectionConverters.asJava(plan.children());
    for (int i = 0; i < below.size(); i++) {
      LogicalPlan child = nullable((LogicalPlan) below.get(i));
      children.add(child);
      List output = CollectionConverters.asJava(child.output());
      for (int j = 0; j < output.size(); j++)
        if (((Attribute) output.get(j)).nullable()) known.put(((Attribute) output.get(j)).exprId(), Boolean.TRUE);
    }
    LogicalPlan found = children.isEmpty() ? plan : (LogicalPlan) plan.withNewChildren(seq(children));
    return (LogicalPlan) found.transformExpressionsUp(new Nulls(known));
  }

  /** One walk over a plan, from the leaves up. */
  static class Walk {
    final Governor governor;
    final SparkSession session;
    boolean nullable = false;
    /** Plans below which rows are hidden. */
    final Map filtered = new IdentityHashMap();

    Walk(Governor governor, SparkSession session) {
      this.governor = governor;
      this.session = session;
    }

    LogicalPlan over(LogicalPlan plan) {
      LogicalPlan found = plan;
      List children = CollectionConverters.asJava(plan.children());
      List now = new ArrayList();
      boolean changed = false;
      for (int i = 0; i < children.size(); i++) {
        LogicalPlan child = over((LogicalPlan) children.get(i));
        changed |= child != children.get(i);
        now.add(child);
      }
      if (changed) found = (LogicalPlan) found.withNewChildren(seq(now));
      if (found.containsPattern(TreePattern.PLAN_EXPRESSION()))
        found = (LogicalPlan) found.transformExpressionsUp(new Inside(this));
      if (found instanceof UpdateCommand) return updated((UpdateCommand) found);
      if (found instanceof DeleteCommand) return deleted((DeleteCommand) found);
      if (found instanceof MergeIntoCommand) return merged((MergeIntoCommand) found);
      refuse(found);
      if (found instanceof Filter && filtered.containsKey(((Filter) found).child()))
        found = new Filter(heldBack(((Filter) found).condition()), ((Filter) found).child());
      if (found instanceof Join && (filtered.containsKey(((Join) found).left()) || filtered.containsKey(((Join) found).right())))
        found = heldBack((Join) found);
      String key = keyOf(found);
      Protection protection = key == null ? null : (Protection) governor.tables.get(key);
      if (protection != null && found.getTagValue(GOVERNED).isEmpty()) {
        Identity who = governor.required(session);
        if (isOfThePast(found)) requireHistory(protection, who, "what it held before");
        found = behind(found, protection, who);
      }
      for (int i = 0; i < now.size(); i++) if (filtered.containsKey(now.get(i))) filtered.put(found, Boolean.TRUE);
      return found;
    }

    /** What would show more than policies do, and cannot be put behind them. */
    private void refuse(LogicalPlan plan) {
      if (plan instanceof DescribeDeltaHistory && ((DescribeDeltaHistory) plan).child() instanceof ResolvedTable)
        requireHistory(((ResolvedTable) ((DescribeDeltaHistory) plan).child()).table(), "its history");
      if (plan instanceof DescribeDeltaHistoryCommand)
        requireHistory(((DescribeDeltaHistoryCommand) plan).table(), "its history");
      if (plan instanceof RestoreTableCommand)
        requireHistory(((RestoreTableCommand) plan).sourceTable(), "what it held before");
      if (plan instanceof CreateDeltaTableCommand && !((CreateDeltaTableCommand) plan).query().isEmpty())
        refuse((LogicalPlan) ((CreateDeltaTableCommand) plan).query().get());
      if (plan instanceof CloneTableCommand) {
        Protection protection = (Protection) governor.tables.get("delta:" + ((CloneTableCommand) plan).sourceTable().metadata().id());
        if (protection != null && protection.isInForce())
          throw new SecurityException("a clone of a table that policies protect is made by a statement of its own;"
              + " run CREATE TABLE … CLONE through spark.sql, so that the clone is protected, too");
      }
      if (plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation)
        refuseFiles(((HadoopFsRelation) ((LogicalRelation) plan).relation()).location());
      if (plan instanceof DataSourceV2Relation && ((DataSourceV2Relation) plan).table() instanceof FileTable)
        refuseFiles(((FileTable) ((DataSourceV2Relation) plan).table()).fileIndex());
    }

    /** A stream's batches are Delta's own reads: it may start where its user sees everything. */
    void refuseStreams(LogicalPlan plan) {
      List children = CollectionConverters.asJava(plan.children());
      for (int i = 0; i < children.size(); i++) refuseStreams((LogicalPlan) children.get(i));
      String place = null;
      if (plan instanceof StreamingRelation) {
        DataSource source = ((StreamingRelation) plan).dataSource();
        Option path = source.options().get("path");
        if (!path.isEmpty()) place = (String) path.get();
        else if (!source.catalogTable().isEmpty())
          place = ((org.apache.spark.sql.catalyst.catalog.CatalogTable) source.catalogTable().get()).location().toString();
      } else if (plan instanceof StreamingRelationV2 && ((StreamingRelationV2) plan).table() instanceof DeltaTableV2) {
        place = ((DeltaTableV2) ((StreamingRelationV2) plan).table()).path().toString();
      }
      if (place == null) return;
      for (Path folder = new Path(place); folder != null; folder = folder.getParent()) {
        String id = idAt(folder);
        Protection protection = id == null ? null : (Protection) governor.tables.get("delta:" + id);
        if (protection != null && !governor.showsAll(protection, governor.required(session)))
          throw new SecurityException("a stream would read " + protection.name + " as it is, and policies hide some of it;"
              + " read it in batches, or let a role start the stream that sees all of it");
      }
    }

    private void requireHistory(Object table, String what) {
      if (!(table instanceof DeltaTableV2)) return;
      String key = "delta:" + ((DeltaTableV2) table).initialSnapshot().metadata().id();
      Protection protection = (Protection) governor.tables.get(key);
      if (protection != null) requireHistory(protection, governor.required(session), what);
    }

    /** BigQuery: of a table that has, or has had, row-level access policies only its administrator sees the past. */
    private static void requireHistory(Protection protection, Identity who, String what) {
      if (protection.hadRows && !who.isAdmin)
        throw new SecurityException("table " + protection.name + " has, or had, a row access policy, and " + who.user
            + " may not see " + what + "; an administrator may (role ACCOUNTADMIN)");
    }

    /** Files of a protected table, or of its log, are not read one by one. */
    private void refuseFiles(FileIndex index) {
      if (index instanceof TahoeFileIndex || index instanceof DeltaLogFileIndex) return;
      Map folders = new HashMap();
      List roots = CollectionConverters.asJava(index.rootPaths());
      for (int i = 0; i < roots.size(); i++)
        for (Path folder = (Path) roots.get(i); folder != null; folder = folder.getParent()) folders.put(folder, Boolean.TRUE);
      String[] files = index.inputFiles();
      for (int i = 0; i < files.length; i++) {
        Path folder = new Path(java.net.URI.create(files[i])).getParent();
        while (folder != null && folders.put(folder, Boolean.TRUE) == null) folder = folder.getParent();
      }
      Iterator each = folders.keySet().iterator();
      while (each.hasNext()) {
        Path folder = (Path) each.next();
        String id = idAt(folder);
        Protection protection = id == null ? null : (Protection) governor.tables.get("delta:" + id);
        if (protection != null && protection.isInForce())
          throw new SecurityException("these are files of " + protection.name + ", which policies protect; read the table");
      }
    }

    /** The id of the Delta table at a folder; null for none. */
    private String idAt(Path folder) {
      try {
        Path log = new Path(folder, "_delta_log");
        if (!log.getFileSystem(session.sessionState().newHadoopConf()).exists(log)) return null;
        return DeltaLog.forTable(session, folder).unsafeVolatileSnapshot().metadata().id();
      } catch (java.io.IOException e) {
        throw new SecurityException("whether policies protect " + folder + " cannot be told: " + e.getMessage());
      }
    }

    private static boolean isOfThePast(LogicalPlan plan) {
      if (!(plan instanceof LogicalRelation)) return false;
      Object relation = ((LogicalRelation) plan).relation();
      if (relation instanceof CDCReader.DeltaCDFRelation) return true;
      if (!(relation instanceof HadoopFsRelation)) return false;
      Object index = ((HadoopFsRelation) relation).location();
      return index instanceof TahoeLogFileIndex && ((TahoeLogFileIndex) index).isTimeTravelQuery();
    }

    /** A condition of the user's above filtered rows: what may fail is not tried on rows that are hidden. Spark leaves
     *  in its place what is not deterministic. */
    private Expression heldBack(Expression condition) {
      if (condition instanceof And)
        return new And(heldBack(((And) condition).left()), heldBack(((And) condition).right()));
      if (!condition.deterministic() || isHarmless(condition)) return condition;
      return new IncrementMetric(condition, SQLMetrics.createMetric(session.sparkContext(), "held back"));
    }

    /** An inner join whose condition may fail on rows of one side, hidden there. */
    private LogicalPlan heldBack(Join join) {
      if (join.condition().isEmpty() || !(join.joinType() instanceof InnerLike)) return join;
      List parts = new ArrayList();
      split((Expression) join.condition().get(), parts);
      Expression stays = null, above = null;
      for (int i = 0; i < parts.size(); i++) {
        Expression part = (Expression) parts.get(i);
        boolean ofOne = part.references().subsetOf(join.left().outputSet()) || part.references().subsetOf(join.right().outputSet());
        if (ofOne && part.deterministic() && !isHarmless(part)) above = above == null ? part : new And(above, part);
        else stays = stays == null ? part : new And(stays, part);
      }
      if (above == null) return join;
      return new Filter(heldBack(above), join.copy(join.left(), join.right(), join.joinType(), Option.apply(stays), join.hint()));
    }

    private static void split(Expression condition, List into) {
      if (!(condition instanceof And)) {
        into.add(condition);
        return;
      }
      split(((And) condition).left(), into);
      split(((And) condition).right(), into);
    }

    private static boolean isHarmless(Expression e) {
      if (e.foldable()) return true; // it is worked out before any row is read
      boolean known = e instanceof Attribute || e instanceof Literal || e instanceof BinaryComparison || e instanceof And
          || e instanceof Or || e instanceof Not || e instanceof IsNull || e instanceof IsNotNull || e instanceof In
          || e instanceof InSet || e instanceof Like || e instanceof StartsWith || e instanceof EndsWith
          || e instanceof Contains || e instanceof Coalesce || e instanceof Upper || e instanceof Lower
          || (e instanceof Cast && Cast$.MODULE$.canUpCast(((Cast) e).child().dataType(), ((Cast) e).dataType()));
      if (!known) return false;
      List below = CollectionConverters.asJava(e.children());
      for (int i = 0; i < below.size(); i++) if (!isHarmless((Expression) below.get(i))) return false;
      return true;
    }

    // What a statement changes it reads by Delta's own means: its expressions see what policies show, its files
    // stay what they are.

    private LogicalPlan updated(UpdateCommand command) {
      Changed target = changed(command.target());
      if (target == null) return command;
      List output = CollectionConverters.asJava(command.target().output());
      List values = CollectionConverters.asJava(command.updateExpressions());
      for (int i = 0; i < values.size(); i++)
        target.requireUnmasked((Expression) values.get(i), ((Attribute) output.get(i)).name());
      return command.copy(command.tahoeFileIndex(), command.catalogTable(), command.target(), command.updateExpressions(),
          target.seen(command.condition(), true));
    }

    private LogicalPlan deleted(DeleteCommand command) {
      Changed target = changed(command.target());
      return target == null ? command : command.copy(command.deltaLog(), command.catalogTable(), command.target(),
          target.seen(command.condition(), true));
    }

    private LogicalPlan merged(MergeIntoCommand command) {
      Changed target = changed(command.target());
      if (target == null) return command;
      List matched = new ArrayList(), rest = new ArrayList();
      List clauses = CollectionConverters.asJava(command.matchedClauses());
      for (int i = 0; i < clauses.size(); i++) {
        if (clauses.get(i) instanceof DeltaMergeIntoMatchedUpdateClause) {
          DeltaMergeIntoMatchedUpdateClause one = (DeltaMergeIntoMatchedUpdateClause) clauses.get(i);
          target.requireUnmasked(one.actions());
          matched.add(one.copy(target.seen(one.condition(), false), one.actions()));
        } else {
          DeltaMergeIntoMatchedDeleteClause one = (DeltaMergeIntoMatchedDeleteClause) clauses.get(i);
          matched.add(one.copy(target.seen(one.condition(), false)));
        }
      }
      clauses = CollectionConverters.asJava(command.notMatchedBySourceClauses());
      for (int i = 0; i < clauses.size(); i++) {
        if (clauses.get(i) instanceof DeltaMergeIntoNotMatchedBySourceUpdateClause) {
          DeltaMergeIntoNotMatchedBySourceUpdateClause one = (DeltaMergeIntoNotMatchedBySourceUpdateClause) clauses.get(i);
          target.requireUnmasked(one.actions());
          rest.add(one.copy(target.seen(one.condition(), true), one.actions()));
        } else {
          DeltaMergeIntoNotMatchedBySourceDeleteClause one = (DeltaMergeIntoNotMatchedBySourceDeleteClause) clauses.get(i);
          rest.add(one.copy(target.seen(one.condition(), true)));
        }
      }
      return command.copy(command.source(), command.target(), command.catalogTable(), command.targetFileIndex(),
          (Expression) target.seen(Option.apply(command.condition()), true).get(), seq(matched), command.notMatchedClauses(),
          seq(rest), command.migratedSchema(), command.trackHighWaterMarks(), command.schemaEvolutionEnabled());
    }

    /** What a statement changes, where policies protect it; null where none does. */
    private Changed changed(LogicalPlan target) {
      LogicalPlan leaf = target;
      while (keyOf(leaf) == null && leaf.children().size() == 1) leaf = (LogicalPlan) leaf.children().head();
      String key = keyOf(leaf);
      Protection protection = key == null ? null : (Protection) governor.tables.get(key);
      return protection == null ? null : new Changed(governor, protection, leaf, governor.required(session));
    }

    /** A relation behind its policies: rows first, then masks. */
    private LogicalPlan behind(LogicalPlan relation, Protection protection, Identity who) {
      List output = CollectionConverters.asJava(relation.output());
      Map mapping = mappingOf(relation);
      Map masks = new LinkedHashMap();
      Map fresh = new HashMap();
      for (int i = 0; i < output.size(); i++) {
        Attribute column = (Attribute) output.get(i);
        Use use = (Use) protection.masks.get(columnKey(column, mapping));
        if (use == null || governor.isReal(use, who)) continue;
        masks.put(column.exprId(), use);
        fresh.put(column.exprId(), NamedExpression$.MODULE$.newExprId());
      }
      LogicalPlan below = (LogicalPlan) relation.makeCopy(arguments(relation));
      if (!fresh.isEmpty()) below = (LogicalPlan) below.transformAllExpressionsWithSubqueries(new Renaming(fresh, null, null));
      below.setTagValue(GOVERNED, Boolean.TRUE);
      Map columns = new HashMap();
      List raw = CollectionConverters.asJava(below.output());
      for (int i = 0; i < raw.size(); i++) columns.put(columnKey((Attribute) output.get(i), mapping), raw.get(i));

      Expression rows = governor.rows(protection, columns, who);
      LogicalPlan found = rows == null ? below : new Filter(rows, below);
      if (rows != null) filtered.put(found, Boolean.TRUE);
      if (masks.isEmpty()) return found;
      List shown = new ArrayList();
      for (int i = 0; i < output.size(); i++) {
        AttributeReference column = (AttributeReference) output.get(i);
        Use use = (Use) masks.get(column.exprId());
        if (use == null) {
          shown.add(raw.get(i));
          continue;
        }
        Expression value = as(governor.instance(use, columns, who), column.dataType());
        nullable |= value.nullable() && !column.nullable();
        shown.add(new Alias(value, column.name(), column.exprId(), column.qualifier(), Option.apply(column.metadata()),
            seq(new ArrayList())));
      }
      LogicalPlan masked = new Project(seq(shown), found);
      if (rows != null) filtered.put(masked, Boolean.TRUE);
      return masked;
    }
  }

  /** What a name stands for, as JSON: its key, its columns, those that part it. */
  public String describe(SparkSession session, String name) throws Exception {
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset) session.table(name)).queryExecution().analyzed();
    while (plan instanceof SubqueryAlias) plan = ((SubqueryAlias) plan).child();
    Map found = new HashMap();
    found.put("key", keyOf(plan));
    found.put("isView", Boolean.valueOf(plan instanceof View));
    TableIdentifier id = nameOf(plan);
    List parts = new ArrayList();
    found.put("name", parts);
    if (id != null) {
      parts.add(id.catalog().isEmpty() ? "spark_catalog" : (String) id.catalog().get());
      parts.add(id.database().isEmpty() ? "" : (String) id.database().get());
      parts.add(id.table());
    } else parts.add(name);
    List output = CollectionConverters.asJava(plan.output());
    List columns = new ArrayList();
    Map mapping = mappingOf(plan);
    found.put("columns", columns);
    for (int i = 0; i < output.size(); i++) {
      Attribute column = (Attribute) output.get(i);
      List one = new ArrayList();
      columns.add(one);
      one.add(column.name());
      one.add(columnKey(column, mapping));
      Metadata said = (Metadata) mapping.get(column.name());
      one.add(said != null && said.contains(MAPPED) ? (Object) Long.valueOf(said.getLong(MAPPED)) : null);
      one.add(column.dataType().sql());
    }
    return JSON.writeValueAsString(found);
  }

  /** A table that a statement changes: what its user sees of it. */
  static class Changed {
    final Map masks = new HashMap();
    final Expression rows;

    Changed(Governor governor, Protection protection, LogicalPlan leaf, Identity who) {
      List output = CollectionConverters.asJava(leaf.output());
      Map columns = new HashMap(), mapping = mappingOf(leaf);
      for (int i = 0; i < output.size(); i++) columns.put(columnKey((Attribute) output.get(i), mapping), output.get(i));
      for (int i = 0; i < output.size(); i++) {
        Attribute column = (Attribute) output.get(i);
        Use use = (Use) protection.masks.get(columnKey(column, mapping));
        if (use != null && !governor.isReal(use, who))
          masks.put(column.exprId(), as(governor.instance(use, columns, who), column.dataType()));
      }
      rows = governor.rows(protection, columns, who);
    }

    /** A condition as its user sees the rows; with `all` it has to hold back rows that they do not see. */
    Option seen(Option condition, boolean all) {
      Expression found = condition.isEmpty() ? null : (Expression) condition.get();
      if (found != null && refers(found)) found = (Expression) found.transformUp(new Renaming(null, masks, null));
      if (all && rows != null) found = found == null ? rows : new And(rows, found);
      if (found != null && SubqueryExpression.hasSubquery(found))
        throw new SecurityException("a row access policy that reads other tables protects what this statement changes:"
            + " Delta takes no subquery there; let a role change it that sees all of its rows");
      return Option.apply(found);
    }

    /** What is masked may stay where it is, and go nowhere else. */
    void requireUnmasked(Expression value, String column) {
      if (!refers(value)) return;
      Expression bare = value;
      while (bare instanceof Alias || bare instanceof Cast) bare = (Expression) bare.children().head();
      if (bare instanceof AttributeReference && ((AttributeReference) bare).name().equals(column)) return;
      throw new SecurityException("column " + column + " would be made of a masked column (" + value.sql()
          + "); let a role run it that sees the column as it is");
    }

    void requireUnmasked(scala.collection.immutable.Seq actions) {
      List every = CollectionConverters.asJava(actions);
      for (int i = 0; i < every.size(); i++) {
        if (!(every.get(i) instanceof DeltaMergeAction)) continue;
        DeltaMergeAction one = (DeltaMergeAction) every.get(i);
        requireUnmasked(one.expr(), (String) one.targetColNameParts().head());
      }
    }

    private boolean refers(Expression value) {
      List named = CollectionConverters.asJava(value.references().toSeq());
      for (int i = 0; i < named.size(); i++) if (masks.containsKey(((Attribute) named.get(i)).exprId())) return true;
      return false;
    }
  }

  /** What a relation is known by; null for what nothing can protect, and for what Delta reads for itself. */
  private static String keyOf(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      LogicalRelation leaf = (LogicalRelation) plan;
      Object relation = leaf.relation();
      if (relation instanceof CDCReader.DeltaCDFRelation)
        return "delta:" + ((CDCReader.DeltaCDFRelation) relation).snapshotWithSchemaMode().snapshot().metadata().id();
      if (relation instanceof HadoopFsRelation) {
        FileIndex index = ((HadoopFsRelation) relation).location();
        if (index instanceof TahoeLogFileIndex) return "delta:" + ((TahoeLogFileIndex) index).metadata().id();
        if (index instanceof TahoeFileIndex) return null;
      }
    }
    TableIdentifier name = nameOf(plan);
    return name == null ? null : "name:" + name.unquotedString().toLowerCase(Locale.ROOT);
  }

  /** What the catalog calls a relation; null for one by its path, and for a temporary view. */
  private static TableIdentifier nameOf(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      Option table = ((LogicalRelation) plan).catalogTable();
      return table.isEmpty() ? null : ((org.apache.spark.sql.catalyst.catalog.CatalogTable) table.get()).identifier();
    }
    if (plan instanceof View) return ((View) plan).isTempView() ? null : ((View) plan).desc().identifier();
    return plan instanceof HiveTableRelation ? ((HiveTableRelation) plan).tableMeta().identifier() : null;
  }

  /** What Delta's column mapping says of the columns of a relation, by their names. */
  private static Map mappingOf(LogicalPlan plan) {
    Map found = new HashMap();
    if (!(plan instanceof LogicalRelation)) return found;
    Object relation = ((LogicalRelation) plan).relation();
    StructType schema = null;
    if (relation instanceof CDCReader.DeltaCDFRelation)
      schema = ((CDCReader.DeltaCDFRelation) relation).snapshotWithSchemaMode().snapshot().metadata().schema();
    else if (relation instanceof HadoopFsRelation && ((HadoopFsRelation) relation).location() instanceof TahoeLogFileIndex)
      schema = ((TahoeLogFileIndex) ((HadoopFsRelation) relation).location()).metadata().schema();
    for (int i = 0; schema != null && i < schema.fields().length; i++)
      found.put(schema.fields()[i].name(), schema.fields()[i].metadata());
    return found;
  }

  /** What a column goes by whatever its name: its physical one. */
  private static String columnKey(Attribute column, Map mapping) {
    Metadata said = (Metadata) mapping.get(column.name());
    String name = said != null && said.contains(PHYSICAL_NAME) ? said.getString(PHYSICAL_NAME) : column.name();
    return name.toLowerCase(Locale.ROOT);
  }

  private static Object[] arguments(LogicalPlan plan) {
    List found = new ArrayList();
    scala.collection.Iterator each = plan.productIterator();
    while (each.hasNext()) found.add(each.next());
    return found.toArray();
  }

  // -- policies --------------------------------------------------------------------------------

  /** A body over its parameters, and what stands for them. */
  static class Policy {
    final String name, body, schema, returns;
    final List parameters;
    Expression resolved;
    List columns;

    Policy(Map said) {
      name = (String) said.get("name");
      body = (String) said.get("body");
      schema = (String) said.get("schema");
      returns = (String) said.get("returns");
      parameters = (List) said.get("parameters");
    }
  }

  /** A policy on the columns of a table. */
  static class Use {
    final String policy;
    final List columns;

    Use(List said) {
      policy = (String) said.get(0);
      columns = (List) said.get(1);
    }
  }

  static class Protection {
    /** Each is a list: one of its policies has to let a row through. */
    final List rows = new ArrayList();
    final Map masks = new HashMap();
    final String name;
    final boolean hadRows;

    Protection(Map said) {
      name = (String) said.get("name");
      hadRows = ((Boolean) said.get("hadRows")).booleanValue();
      List every = (List) said.get("rows");
      for (int i = 0; i < every.size(); i++) {
        List any = new ArrayList(), given = (List) every.get(i);
        for (int j = 0; j < given.size(); j++) any.add(new Use((List) given.get(j)));
        rows.add(any);
      }
      Iterator each = ((Map) said.get("masks")).entrySet().iterator();
      while (each.hasNext()) {
        Map.Entry entry = (Map.Entry) each.next();
        masks.put(entry.getKey(), new Use((List) entry.getValue()));
      }
    }

    boolean isInForce() { return !rows.isEmpty() || !masks.isEmpty(); }
  }

  static class Identity {
    final boolean isAdmin;
    final String user, role, account;
    final List roles = new ArrayList();
    /** What policies come to for them. */
    final Map answers = new ConcurrentHashMap();

    Identity(Map said) {
      user = (String) said.get("user");
      role = (String) said.get("role");
      account = (String) said.get("account");
      isAdmin = ((Boolean) said.get("isAdmin")).booleanValue();
      List held = (List) said.get("roles");
      for (int i = 0; i < held.size(); i++) roles.add(UTF8String.fromString((String) held.get(i)));
    }
  }

  private Policy policy(String name) {
    Policy found = (Policy) policies.get(name);
    if (found == null) throw new SecurityException("policy " + name + " is not there, and protects what is read");
    return found;
  }

  /** The body over attributes of its own, as its schema reads it. */
  private synchronized Expression resolved(Policy policy) {
    if (policy.resolved != null) return policy.resolved;
    List columns = new ArrayList();
    try {
      for (int i = 0; i < policy.parameters.size(); i++) {
        List parameter = (List) policy.parameters.get(i);
        DataType type = own.sessionState().sqlParser().parseDataType((String) parameter.get(1));
        columns.add(new AttributeReference((String) parameter.get(0), type, true, Metadata.empty(),
            NamedExpression$.MODULE$.newExprId(), seq(new ArrayList())));
      }
      Expression body = own.sessionState().sqlParser().parseExpression(policy.body);
      if (body instanceof Alias) // Spark reads `a AND` as a, by the name of AND
        throw new SecurityException("the body of policy " + policy.name + " cannot be read: it ends in a name");
      List values = new ArrayList();
      values.add(new Alias(body, "value", NamedExpression$.MODULE$.newExprId(), seq(new ArrayList()), Option.empty(),
          seq(new ArrayList())));
      LogicalPlan asked = new Project(seq(values), new LocalRelation(seq(columns), seq(new ArrayList()), false, Option.empty()));
      LogicalPlan answered = analyzed(asked, policy.schema);
      if (!(answered instanceof Project) || !(((Project) answered).child() instanceof LocalRelation))
        throw new SecurityException("the body of policy " + policy.name + " is no expression over one row");
      policy.columns = CollectionConverters.asJava(((Project) answered).child().output());
      Expression value = ((Alias) ((Project) answered).projectList().head()).child();
      DataType type = own.sessionState().sqlParser().parseDataType(policy.returns);
      if (!Cast$.MODULE$.canANSIStoreAssign(value.dataType(), type))
        throw new SecurityException("the body of policy " + policy.name + " gives " + value.dataType().sql()
            + ", and it returns " + policy.returns);
      // What a policy reads is behind no policy.
      policy.resolved = (Expression) as(value, type).transformUp(new Freeing());
    } catch (org.apache.spark.sql.catalyst.parser.ParseException e) {
      throw new SecurityException("the body of policy " + policy.name + " cannot be read: " + e.getMessage());
    }
    return policy.resolved;
  }

  private static Expression as(Expression value, DataType type) {
    if (DataType.equalsIgnoreNullability(value.dataType(), type)) return value;
    return new Cast(value, type, Option.apply(java.time.ZoneOffset.UTC.getId()));
  }

  private LogicalPlan analyzed(LogicalPlan plan, String schema) {
    Option active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(own);
    try {
      CatalogManager manager = own.sessionState().catalogManager();
      if (!schema.isEmpty()) manager.setCurrentNamespace(new String[] {schema});
      return own.sessionState().executePlan(plan, CommandExecutionMode.ALL()).analyzed();
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession((SparkSession) active.get());
    }
  }

  /** The body for somebody, over its parameters: what does not depend on the row is worked out. */
  private Expression answer(Policy policy, Identity who) {
    Expression found = (Expression) who.answers.get(policy);
    if (found == null) {
      Expression asked = (Expression) resolved(policy).transformUp(new Renaming(null, null, who));
      found = simplified((Expression) asked.transformUp(new Answering(who)), policy.columns);
      who.answers.put(policy, found);
    }
    return found;
  }

  private static Expression simplified(Expression value, List columns) {
    List values = new ArrayList();
    values.add(new Alias(value, "value", NamedExpression$.MODULE$.newExprId(), seq(new ArrayList()), Option.empty(),
        seq(new ArrayList())));
    LogicalPlan plan = new Project(seq(values), new LocalRelation(seq(columns), seq(new ArrayList()), false, Option.empty()));
    for (int i = 0; i < 3; i++) {
      plan = ConstantFolding$.MODULE$.apply(plan);
      plan = SimplifyConditionals$.MODULE$.apply(plan);
      plan = BooleanSimplification$.MODULE$.apply(plan);
    }
    return ((Alias) ((Project) plan).projectList().head()).child();
  }

  /** Whether a mask shows somebody the very value. */
  private boolean isReal(Use use, Identity who) {
    Policy policy = policy(use.policy);
    return answer(policy, who).semanticEquals((Attribute) policy.columns.get(0));
  }

  /** Whether policies hide nothing of a table from somebody. */
  private boolean showsAll(Protection protection, Identity who) {
    Iterator masks = protection.masks.values().iterator();
    while (masks.hasNext()) if (!isReal((Use) masks.next(), who)) return false;
    for (int i = 0; i < protection.rows.size(); i++) {
      List any = (List) protection.rows.get(i);
      boolean all = false;
      for (int j = 0; j < any.size(); j++)
        all |= answer(policy(((Use) any.get(j)).policy), who).equals(Literal$.MODULE$.TrueLiteral());
      if (!all) return false;
    }
    return true;
  }

  /** What a policy makes of the columns of a table. */
  private Expression instance(Use use, Map columns, Identity who) {
    Policy policy = policy(use.policy);
    Expression answer = answer(policy, who);
    Map given = new HashMap();
    for (int i = 0; i < use.columns.size(); i++) {
      Object column = columns.get(use.columns.get(i));
      if (column == null) throw new SecurityException("policy " + use.policy + " asks for column " + use.columns.get(i)
          + ", which is not there");
      Attribute parameter = (Attribute) policy.columns.get(i);
      given.put(parameter.exprId(), as((Expression) column, parameter.dataType()));
    }
    return (Expression) answer.transformUp(new Renaming(null, given, null));
  }

  /** The condition of all row access policies; null for none that hides anything. */
  private Expression rows(Protection protection, Map columns, Identity who) {
    Expression found = null;
    for (int i = 0; i < protection.rows.size(); i++) {
      List any = (List) protection.rows.get(i);
      Expression one = null;
      for (int j = 0; j < any.size(); j++) {
        Expression condition = instance((Use) any.get(j), columns, who);
        one = one == null ? condition : new Or(one, condition);
      }
      if (one == null || one.equals(Literal$.MODULE$.TrueLiteral())) continue;
      found = found == null ? one : new And(found, one);
    }
    return found;
  }

  // -- context functions -----------------------------------------------------------------------

  private static final String[][] ASKED = {{"current_role", "0"}, {"current_account", "0"}, {"is_role_in_session", "1"},
      {"is_account_group_member", "1"}, {"is_member", "1"}};

  /** Lets a session ask who runs it. */
  private void offer(SparkSession session) {
    for (int i = 0; i < ASKED.length; i++) {
      Asked asked = new Asked(this, session, ASKED[i][0], Integer.parseInt(ASKED[i][1]));
      session.sessionState().functionRegistry().createOrReplaceTempFunction(ASKED[i][0], asked, "scala_udf");
      // What is built in may stand in the text of a view; each session has its own of it, as above.
      FunctionRegistry$.MODULE$.builtin().createOrReplaceTempFunction(ASKED[i][0], asked, "built-in");
    }
  }

  private static Object said(String function, Identity who) {
    if (function.equals("current_role")) return who.role == null ? null : UTF8String.fromString(who.role);
    if (function.equals("current_account")) return UTF8String.fromString(who.account);
    throw new IllegalArgumentException(function);
  }

  /** Makes the placeholder of a context function: its answer is put in when the statement runs. */
  static class Asked extends AbstractFunction1 {
    final Governor governor;
    final SparkSession session;
    final String name;
    final int arity;

    Asked(Governor governor, SparkSession session, String name, int arity) {
      this.governor = governor;
      this.session = session;
      this.name = name;
      this.arity = arity;
    }

    public Object apply(Object arguments) {
      scala.collection.immutable.Seq given = (scala.collection.immutable.Seq) arguments;
      if (given.size() != arity) throw new IllegalArgumentException(name + " takes " + arity + " argument(s)");
      DataType type = arity == 0 ? DataTypes.StringType : DataTypes.BooleanType;
      Object question = arity == 0 ? (Object) new Now(this) : new Whether(this);
      return new ScalaUDF(question, type, given, seq(new ArrayList()), Option.empty(), Option.apply(name), true, true);
    }
  }

  /** Answers where Spark evaluates a placeholder while it resolves names. */
  static class Now extends AbstractFunction0 {
    final Asked asked;

    Now(Asked asked) { this.asked = asked; }

    public Object apply() {
      Object found = said(asked.name, asked.governor.required(asked.session));
      return found == null ? null : found.toString();
    }
  }

  static class Whether extends AbstractFunction1 {
    final Asked asked;

    Whether(Asked asked) { this.asked = asked; }

    public Object apply(Object role) {
      if (role == null) return null;
      Identity who = asked.governor.required(asked.session);
      return Boolean.valueOf(who.roles.contains(UTF8String.fromString(role.toString().toUpperCase(Locale.ROOT))));
    }
  }

  // -- functions over expressions --------------------------------------------------------------

  /** Puts the answers about somebody in the place of the questions. */
  static class Answering extends AbstractPartialFunction {
    final Identity who;

    Answering(Identity who) { this.who = who; }

    public boolean isDefinedAt(Object e) {
      return e instanceof CurrentUser || (e instanceof ScalaUDF && askedBy((ScalaUDF) e) != null);
    }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      if (!isDefinedAt(e)) return otherwise.apply(e);
      if (e instanceof CurrentUser) return new Literal(UTF8String.fromString(who.user), ((CurrentUser) e).dataType());
      ScalaUDF call = (ScalaUDF) e;
      String[] asked = askedBy(call);
      if (asked[1].equals("0")) return new Literal(said(asked[0], who), call.dataType());
      Object[] roles = who.roles.toArray();
      Literal held = new Literal(new org.apache.spark.sql.catalyst.util.GenericArrayData(roles),
          new ArrayType(DataTypes.StringType, false));
      return new ArrayContains(held, new Upper((Expression) call.children().head()));
    }

    /** The question that a placeholder stands for, whichever Governor of this JVM has made it; null for none. */
    private static String[] askedBy(ScalaUDF call) {
      if (call.udfName().isEmpty() || !call.function().getClass().getName().startsWith("Gov" + "ernor")) return null;
      for (int i = 0; i < ASKED.length; i++) if (ASKED[i][0].equals(call.udfName().get())) return ASKED[i];
      return null;
    }
  }

  /** Gives columns other ids, or other expressions. Inside subqueries everything that is not from outside gets ids of
   *  its own where `fresh` is given. */
  static class Renaming extends AbstractPartialFunction {
    final Map ids, given;
    final Identity who;

    Renaming(Map ids, Map given, Identity who) {
      this.ids = ids;
      this.given = given;
      this.who = who;
    }

    public boolean isDefinedAt(Object e) {
      return e instanceof AttributeReference || e instanceof OuterReference || e instanceof SubqueryExpression
          || (ids != null && e instanceof Alias && ids.containsKey(((Alias) e).exprId()));
    }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      if (!isDefinedAt(e)) return otherwise.apply(e);
      if (e instanceof Alias) return ((Alias) e).withExprId((ExprId) ids.get(((Alias) e).exprId()));
      if (e instanceof AttributeReference) return of((AttributeReference) e);
      if (e instanceof OuterReference) {
        NamedExpression outer = ((OuterReference) e).e();
        Object found = outer instanceof AttributeReference ? of((AttributeReference) outer) : outer;
        if (!(found instanceof NamedExpression))
          throw new SecurityException("a policy that reads other tables asks for column " + outer.name()
              + " as another type than the column's");
        return found == outer ? e : new OuterReference((NamedExpression) found);
      }
      SubqueryExpression subquery = (SubqueryExpression) e;
      LogicalPlan plan = (LogicalPlan) subquery.plan();
      if (who != null) return subquery.withNewPlan((LogicalPlan) plan.transformAllExpressionsWithSubqueries(new Answering(who)));
      if (given == null) return e; // a walk over a plan comes by here itself
      LogicalPlan own = (LogicalPlan) plan.transformAllExpressionsWithSubqueries(new Freshening(given));
      return subquery.withNewPlan((LogicalPlan) own.transformAllExpressionsWithSubqueries(new Renaming(null, given, null)));
    }

    private Object of(AttributeReference column) {
      if (given != null) return given.containsKey(column.exprId()) ? given.get(column.exprId()) : column;
      ExprId id = ids == null ? null : (ExprId) ids.get(column.exprId());
      return id == null ? column : column.withExprId(id);
    }
  }

  /** Everything that a subquery names for itself gets ids of this use; what comes from `outside` keeps its own. */
  static class Freshening extends AbstractPartialFunction {
    final Map outside;
    final Map ids = new HashMap();

    Freshening(Map outside) { this.outside = outside; }

    public boolean isDefinedAt(Object e) {
      return e instanceof AttributeReference || e instanceof Alias || e instanceof OuterReference;
    }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      if (!isDefinedAt(e)) return otherwise.apply(e);
      if (e instanceof Alias) return ((Alias) e).withExprId(id(((Alias) e).exprId()));
      if (e instanceof AttributeReference) return of((AttributeReference) e);
      NamedExpression outer = ((OuterReference) e).e();
      if (!(outer instanceof AttributeReference)) return e;
      return new OuterReference((NamedExpression) of((AttributeReference) outer));
    }

    private Attribute of(AttributeReference column) {
      return outside.containsKey(column.exprId()) ? column : column.withExprId(id(column.exprId()));
    }

    private ExprId id(ExprId old) {
      ExprId found = (ExprId) ids.get(old);
      if (found == null) {
        found = NamedExpression$.MODULE$.newExprId();
        ids.put(old, found);
      }
      return found;
    }
  }

  /** Marks what the subqueries of an expression read as governed already. */
  static class Freeing extends AbstractPartialFunction {
    public boolean isDefinedAt(Object e) { return e instanceof SubqueryExpression || e instanceof LogicalPlan; }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      if (e instanceof SubqueryExpression) {
        LogicalPlan plan = (LogicalPlan) ((SubqueryExpression) e).plan();
        return ((SubqueryExpression) e).withNewPlan((LogicalPlan) plan.transformUpWithSubqueries(this));
      }
      if (!(e instanceof LogicalPlan) || keyOf((LogicalPlan) e) == null) return otherwise.apply(e);
      LogicalPlan read = (LogicalPlan) ((LogicalPlan) e).makeCopy(arguments((LogicalPlan) e));
      read.setTagValue(GOVERNED, Boolean.TRUE);
      return read;
    }
  }

  /** Collects what the subqueries of an expression read. */
  static class Keys extends AbstractPartialFunction {
    final List keys = new ArrayList();

    public boolean isDefinedAt(Object e) { return e instanceof SubqueryExpression || e instanceof LogicalPlan; }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      if (e instanceof SubqueryExpression)
        ((LogicalPlan) ((SubqueryExpression) e).plan()).transformUpWithSubqueries(this);
      else if (e instanceof LogicalPlan && keyOf((LogicalPlan) e) != null) keys.add(keyOf((LogicalPlan) e));
      return otherwise.apply(e);
    }
  }

  static class Nulls extends AbstractPartialFunction {
    final Map known;

    Nulls(Map known) { this.known = known; }

    public boolean isDefinedAt(Object e) {
      return e instanceof AttributeReference && !((AttributeReference) e).nullable()
          && known.containsKey(((AttributeReference) e).exprId());
    }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      return isDefinedAt(e) ? ((AttributeReference) e).withNullability(true) : otherwise.apply(e);
    }
  }

  /** Goes on inside the subqueries of an expression. */
  static class Inside extends AbstractPartialFunction {
    final Walk walk;

    Inside(Walk walk) { this.walk = walk; }

    public boolean isDefinedAt(Object e) { return e instanceof SubqueryExpression; }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      if (!isDefinedAt(e)) return otherwise.apply(e);
      LogicalPlan plan = (LogicalPlan) ((SubqueryExpression) e).plan();
      LogicalPlan found = walk.over(plan);
      return found == plan ? e : ((SubqueryExpression) e).withNewPlan(found);
    }
  }

  // -- Spark's side ----------------------------------------------------------------------------

  static class Obeying extends Rule {
    final Governor governor;
    final SparkSession session;

    Obeying(Governor governor, SparkSession session) {
      this.governor = governor;
      this.session = session;
    }

    public TreeNode apply(TreeNode plan) { return governor.governed((LogicalPlan) plan, session); }
  }

  static class Making extends AbstractFunction1 {
    final Governor governor;

    Making(Governor governor) { this.governor = governor; }

    public Object apply(Object session) { return new Obeying(governor, (SparkSession) session); }
  }

  private static scala.collection.immutable.Seq seq(List values) {
    return CollectionConverters.asScala(values).toSeq();
  }
}
