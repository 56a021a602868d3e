import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.CreateView;
import org.apache.spark.sql.catalyst.plans.logical.DeserializeToObject;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** Holds what is protected, and puts each read of it behind its policies, for whoever reads it.
 *
 *  It works on what Spark has resolved, before Spark looks into its caches or optimises anything: a rule of
 *  normalisation. So text, views, functions, scripts, DataFrames, paths and versions are one way in, and the plan
 *  that is recorded stays what the user has written. Compiled by Janino at run time, with the classes beside it: no
 *  lambdas, no generics. */
public class Governor {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String IDENTITY = "spark.audit.identity";
  private static final String SESSION = "spark.audit.session";
  private static final String EXEMPT = "spark.audit.exempt";
  private static final String GENERATED = "delta.generationExpression";

  Bodies bodies;
  final Grants grants = new Grants();
  private final Map tables = new ConcurrentHashMap();
  private final Map identities = new ConcurrentHashMap();
  private final Map sessions = new ConcurrentHashMap();
  /** The schemas with tags that Delta tables are in, by their keys. */
  private final Map homes = new ConcurrentHashMap();
  private final List ours = new ArrayList();
  private SparkSession own;
  private String exempt;
  private volatile boolean ended = false;
  private volatile boolean enforces = false;
  /** Whether it matters who owns what a statement makes. */
  private volatile boolean notes = false;
  /** What plans have waited for it. */
  final LongAdder nanoseconds = new LongAdder();
  /** How many schemas have tags that mask. */
  private volatile int schemas = 0;

  /** `own` resolves the bodies of policies; a session whose settings hold `exempt` is the system's own; nobody else
   *  writes to `ours`, one folder a line. */
  public void begin(SparkSession own, String exempt, String ours) {
    this.own = own;
    this.exempt = exempt;
    bodies = new Bodies(own);
    exempt(own);
    Questions.offer(this, own);
    String[] folders = ours.split("\n");
    for (int i = 0; i < folders.length; i++) this.ours.add(Relations.qualified(own, new Path(folders[i])));
  }

  /** Every statement asks for its privileges from now on. */
  public void enforce() {
    enforces = true;
    notes = true;
  }

  /** Who makes something is noted from now on. */
  public void note() { notes = true; }

  /** What a session of the system's own, or a clone of it, reads is as it is. */
  public void exempt(SparkSession session) { session.sessionState().conf().setConfString(EXEMPT, exempt); }

  /** Has a session, and those that come from it, obey. */
  public void install(SparkSession session) throws Exception {
    Questions.offer(this, session);
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
      bodies.define((String) entry.getKey(), entry.getValue() == null ? null : new Policy((Map) entry.getValue()));
    }
    each = ((Map) said.get("tables")).entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      Protection now = entry.getValue() == null ? null : new Protection((Map) entry.getValue());
      bodies.protect(protection((String) entry.getKey()), now);
      if (now == null) tables.remove(entry.getKey());
      else tables.put(entry.getKey(), now);
    }
    int found = 0;
    each = tables.keySet().iterator();
    while (each.hasNext()) if (((String) each.next()).startsWith("schema:")) found++;
    schemas = found;
    homes.clear();
  }

  /** Privileges by object and holder, owners, members of roles, as JSON. */
  public void learnGrants(String json) throws Exception { grants.learn(read(json)); }

  /** A Delta table that this thread's statement makes, by Delta's id. */
  public void making(String id) { if (notes) grants.note("delta:" + id, required(own)); }

  /** A schema that this thread's statement makes, past any plan, with all that it holds by now. */
  public void makingSchema(String name) throws Exception {
    Identity who = required(own);
    SessionCatalog catalog = own.sessionState().catalog();
    grants.note(Securable.schema(TableIdentifier.apply("", Option.apply(name))), false, who);
    if (!catalog.databaseExists(name)) return;
    List every = CollectionConverters.asJava(catalog.listTables(name));
    for (int i = 0; i < every.size(); i++) {
      TableIdentifier id = (TableIdentifier) every.get(i);
      if (id.database().isEmpty()) continue; // a temporary view
      boolean isView = catalog.getTableMetadata(id).tableType().name().endsWith("VIEW");
      grants.note(Securable.of(isView ? "view" : "table", Relations.keyOf(id), catalog.qualifyIdentifier(id)), false, who);
    }
    List functions = CollectionConverters.asJava(catalog.listFunctions(name));
    for (int i = 0; i < functions.size(); i++) {
      FunctionIdentifier function = (FunctionIdentifier) ((scala.Tuple2) functions.get(i))._1();
      if (!function.database().isEmpty()) grants.note(Securable.function(function), false, who);
    }
  }

  /** What the statement that has just run on this thread has made, as JSON; each has: noun, name, key, whether it has
   *  replaced something. What is not there has not been made. */
  public String made(SparkSession session) throws Exception {
    List made = grants.made(), found = new ArrayList();
    for (int i = 0; i < made.size(); i++) {
      Securable on = (Securable) ((Object[]) made.get(i))[0];
      String key = Relations.keyNow(session, on);
      if (key == null) continue;
      List one = new ArrayList();
      found.add(one);
      one.add(on.noun);
      one.add(on.name());
      one.add(key);
      one.add(((Object[]) made.get(i))[1]);
    }
    return JSON.writeValueAsString(found);
  }

  /** Somebody with their roles, by a token that nobody can guess. */
  public void know(String token, String json) throws Exception { identities.put(token, new Identity(read(json))); }

  /** Who runs what a session runs, where the thread says nothing else. */
  public void belongs(String session, String token) { sessions.put(session, token); }

  private static Map read(String json) throws Exception { return (Map) JSON.readValue(json, Map.class); }

  /** Refuses a stream over what policies hide from whoever starts it. */
  public void checkStream(SparkSession session, LogicalPlan plan) {
    if (isExempt(session)) return;
    if (enforces) new Rights(this, session).reads(plan);
    if (!tables.isEmpty()) new Files(this, session).refuseStreams(plan);
  }

  /** Refuses a stream into what is the audit's own, or not its user's; `table` names the sink where its path does not. */
  public void checkSink(SparkSession session, Object writer, String path, String table) throws Exception {
    if (isExempt(session)) return;
    Field field = writer.getClass().getDeclaredField("extraOptions");
    field.setAccessible(true);
    Option option = ((scala.collection.immutable.Map) field.get(writer)).get("path");
    String place = path != null || option.isEmpty() ? path : (String) option.get();
    TableIdentifier name = null;
    if (table != null) {
      name = session.sessionState().catalog().qualifyIdentifier(session.sessionState().sqlParser().parseTableIdentifier(table));
      if (session.sessionState().catalog().tableExists(name))
        place = session.sessionState().catalog().getTableMetadata(name).location().toString();
    }
    Field mode = writer.getClass().getDeclaredField("outputMode");
    mode.setAccessible(true);
    boolean appends = String.valueOf(mode.get(writer)).equals("Append");
    if (notes && (name != null || place != null))
      new Rights(this, session).sink(name, name == null ? Relations.qualified(session, new Path(place)) : null, appends);
    if (place == null) return;
    Files files = new Files(this, session);
    Path folder = Relations.qualified(session, new Path(place));
    if (!tables.isEmpty() && Relations.at(session, folder) == null) files.refuseUnder(folder);
    Protection protection = tables.isEmpty() ? null : files.at(folder);
    if (protection != null && !appends && !bodies.showsAll(protection, required(session)))
      throw new SecurityException("this stream replaces what " + protection.name + " holds, and policies hide some of it; append");
    if (isOurs(folder))
      throw new SecurityException("the audit's own table " + place + " is changed by the audit alone; write elsewhere");
  }

  /** Refuses the files of a protected table. */
  public void checkFiles(SparkSession session, String place) {
    if (!tables.isEmpty() && !isExempt(session)) new Files(this, session).refuseUnder(new Path(place));
  }

  /** Refuses what tells of whole tables that a plan reads, where policies hide something of them: `what`. */
  public void requireAllShown(SparkSession session, LogicalPlan plan, String what) {
    if (tables.isEmpty() || isExempt(session)) return;
    Keys read = new Keys();
    plan.transformUpWithSubqueries(read);
    for (int i = 0; i < read.keys.size(); i++) {
      Protection protection = protection((LogicalPlan) read.plans.get(i));
      if (protection != null && !bodies.showsAll(protection, required(session)))
        throw new SecurityException(what + " of " + protection.name + " tell what policies hide; read the table");
    }
  }

  /** Refuses what a table held before to whoever runs this thread, and may not see it. */
  public void checkPast(String id) {
    Protection protection = protection("delta:" + id);
    if (protection != null) Walk.requireHistory(protection, required(own), Walk.PAST);
  }

  /** Refuses the history of a table by its place to who may not see it. */
  public void checkHistory(SparkSession session, String location) {
    if (tables.isEmpty() || isExempt(session)) return;
    Protection protection = protection(Relations.keyOf(DeltaLog.forTable(session, location).unsafeVolatileSnapshot()), session);
    if (protection != null) Walk.requireHistory(protection, required(session), "its history");
  }

  /** Nobody obeys any longer. */
  public void end() {
    ended = true;
    tables.clear();
    bodies.forget();
    identities.clear();
    sessions.clear();
  }

  /** The same query as another Dataset, which nothing has planned yet; what has run is not run again. */
  public Dataset anew(Dataset dataset) {
    return Dataset$.MODULE$.ofRows(dataset.queryExecution().sparkSession(), dataset.queryExecution().commandExecuted());
  }

  /** How long plans have waited to be governed so far, in nanoseconds. */
  public long nanoseconds() { return nanoseconds.sum(); }

  /** Resolves the body of a policy as it will be; an error where that cannot be. */
  public void check(String json) throws Exception { bodies.resolved(new Policy(read(json))); }

  /** Whether a policy, as it was, may change what somebody sees, by their token; null for nobody known. */
  public Boolean changes(String token, String id, String json, boolean isMask) throws Exception {
    Identity who = (Identity) identities.get(token);
    return who == null ? null : Boolean.valueOf(bodies.changes(new Policy(read(json)), id, isMask, who));
  }

  /** The keys of what the body of a policy reads, one a line; whether it has subqueries, and calls functions in SQL. */
  public String reads(String json) throws Exception {
    Keys found = new Keys();
    bodies.resolved(new Policy(read(json))).value.transformUp(found);
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < found.keys.size(); i++) lines.append(found.keys.get(i)).append('\n');
    if (found.asks) lines.append("subquery:\n");
    for (int i = 0; i < found.functions.size(); i++) lines.append("function:").append(found.functions.get(i)).append('\n');
    return lines.toString();
  }

  private Protection protection(String key) { return (Protection) tables.get(key); }

  /** What protects a table by its key: by itself, and by the tags of the schema that it is in. */
  Protection protection(String key, SparkSession session) {
    Protection found = protection(key);
    if (schemas == 0 || !key.startsWith("delta:")) return found;
    Protection schema = protection(schemaOf(key, session));
    return schema == null ? found : new Protection(found, schema, found == null ? schema.name + ".*" : found.name);
  }

  /** The schema with tags that a Delta table is in, by their keys; "" for none. A table that is not known yet makes all
   *  tables of these schemas known. */
  private synchronized String schemaOf(String key, SparkSession session) {
    Object found = homes.get(key);
    if (found == null) {
      Iterator each = tables.keySet().iterator();
      while (each.hasNext()) {
        String schema = (String) each.next();
        if (schema.startsWith("schema:")) settle(schema, session);
      }
      homes.putIfAbsent(key, "");
      found = homes.get(key);
    }
    return (String) found;
  }

  private void settle(String schema, SparkSession session) {
    String name = schema.substring(schema.indexOf('.') + 1);
    if (name.startsWith("`")) name = name.substring(1, name.length() - 1).replace("``", "`");
    SessionCatalog catalog = own.sessionState().catalog();
    if (!catalog.databaseExists(name)) return;
    List every = CollectionConverters.asJava(catalog.listTables(name));
    for (int i = 0; i < every.size(); i++) {
      TableIdentifier table = (TableIdentifier) every.get(i);
      if (table.database().isEmpty()) continue;
      Option location = tableOf(catalog, table);
      Snapshot snapshot = location.isEmpty() ? null : Relations.at(own, new Path((java.net.URI) location.get()));
      if (snapshot != null) homes.put(Relations.keyOf(snapshot), schema);
    }
  }

  private static Option tableOf(SessionCatalog catalog, TableIdentifier name) {
    try {
      return catalog.getTableMetadata(name).storage().locationUri();
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchTableException e) {
      return Option.empty();
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException e) {
      return Option.empty();
    }
  }

  /** The name of the schema whose tags protect a table, by Delta's id; "" for none. */
  public String schemaOf(String id) { return schemas == 0 ? "" : schemaOf("delta:" + id, own); }

  /** What protects a relation, by itself and by the tags of its schema; null for nothing. */
  Protection protection(LogicalPlan relation) {
    String key = Relations.keyOf(relation);
    if (key == null) return null;
    if (schemas == 0) return protection(key);
    TableIdentifier name = Relations.nameOf(relation);
    Protection schema = name == null ? null : protection(Relations.schemaOf(name));
    if (schema == null) return protection(key, own);
    if (key.startsWith("delta:")) homes.put(key, Relations.schemaOf(name));
    return new Protection(protection(key), schema, name.unquotedString());
  }

  boolean protectsAny() { return !tables.isEmpty(); }

  boolean enforces() { return enforces; }

  boolean notes() { return notes; }

  /** Whether a folder has one of the audit's own inside. */
  boolean holdsOurs(Path path) {
    for (int i = 0; i < ours.size(); i++) if (Relations.isIn((Path) ours.get(i), path)) return true;
    return false;
  }

  /** What policies read is changed by administrators alone, or whoever changes it changes what they see. */
  void requireNotRead(String key, SparkSession session) {
    String policy = bodies.readerOf(key);
    if (policy == null || required(session).isAdmin) return;
    throw new SecurityException("policy " + policy + " reads what this statement changes, and " + required(session).user
        + " is no administrator; let one change it (role ACCOUNTADMIN)");
  }

  boolean isOurs(Path path) {
    for (int i = 0; i < ours.size(); i++) if (Relations.isIn(path, (Path) ours.get(i))) return true;
    return false;
  }

  Identity identity(SparkSession session) {
    String token = session.sparkContext().getLocalProperty(IDENTITY);
    if (token == null) token = (String) sessions.get(session.sessionState().conf().getConfString(SESSION, ""));
    return token == null ? null : (Identity) identities.get(token);
  }

  Identity required(SparkSession session) {
    Identity who = identity(session);
    if (who != null) return who;
    throw new SecurityException("this session reads what policies protect, and nobody is known to run it:"
        + " call audit.attach(spark) for it first");
  }

  private boolean isExempt(SparkSession session) {
    SQLConf conf = session.sessionState().conf();
    return conf.contains(EXEMPT) && exempt.equals(conf.getConfString(EXEMPT, ""));
  }

  // -- the way of a plan -----------------------------------------------------------------------

  LogicalPlan governed(LogicalPlan plan, SparkSession session) {
    if (ended) return plan;
    boolean asks = Questions.areIn(plan);
    if ((tables.isEmpty() && !asks && !enforces && !(plan instanceof Command)) || isExempt(session)) return plan;
    if (enforces && !(plan instanceof Command)) require(plan, session);
    LogicalPlan found = plan;
    boolean reads = plan.containsPattern(TreePattern.PLAN_EXPRESSION()) || reads(plan);
    if (reads && (!tables.isEmpty() || asks || plan instanceof Command)) {
      found = new Walk(this, session).of(plan);
      if (found != plan && isOneRelation(plan) && isAskedForByCaches()) return plan;
    }
    Identity who = asks ? identity(session) : null;
    return who == null ? found : (LogicalPlan) found.transformAllExpressionsWithSubqueries(new Answering(who));
  }

  /** Whether a plan reads, or does, anything but what is in memory: Delta asks its own of each table that a statement
   *  reads, and for nothing else are plans so many. */
  private static boolean reads(LogicalPlan plan) {
    if (plan instanceof LogicalRDD || plan instanceof LocalRelation) return false;
    boolean isPlain = plan instanceof Project || plan instanceof Filter || plan instanceof Aggregate
        || plan instanceof DeserializeToObject || plan instanceof SerializeFromObject;
    return !isPlain || reads((LogicalPlan) plan.children().head());
  }

  private void require(LogicalPlan plan, SparkSession session) {
    try {
      new Rights(this, session).reads(plan);
    } catch (SecurityException e) {
      if (!isAskedForByCaches()) throw e;
    }
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

  /** What a name stands for, as JSON: its key, its columns, those that part it, what generates one. */
  public String describe(SparkSession session, String name) throws Exception {
    LogicalPlan plan = ((Dataset) session.table(name)).queryExecution().analyzed();
    while (plan instanceof SubqueryAlias) plan = ((SubqueryAlias) plan).child();
    Map found = new HashMap();
    found.put("key", Relations.keyOf(plan));
    found.put("isView", Boolean.valueOf(plan instanceof View));
    TableIdentifier id = Relations.nameOf(plan);
    List parts = new ArrayList();
    found.put("name", parts);
    if (id != null) {
      parts.add(id.catalog().isEmpty() ? "spark_catalog" : (String) id.catalog().get());
      parts.add(id.database().isEmpty() ? "" : (String) id.database().get());
      parts.add(id.table());
    } else parts.add(name);
    List output = CollectionConverters.asJava(plan.output());
    List columns = new ArrayList();
    Map mapping = Relations.mappingOf(plan), generated = new HashMap();
    found.put("columns", columns);
    found.put("partitions", Relations.partitionsOf(plan));
    found.put("generated", generated);
    for (int i = 0; i < output.size(); i++) {
      Attribute column = (Attribute) output.get(i);
      List one = new ArrayList();
      columns.add(one);
      one.add(column.name());
      one.add(Relations.columnKey(column, mapping));
      Metadata said = (Metadata) mapping.get(column.name());
      one.add(said != null && said.contains(Relations.MAPPED) ? (Object) Long.valueOf(said.getLong(Relations.MAPPED)) : null);
      one.add(column.dataType().sql());
      if (said != null && said.contains(GENERATED)) generated.put(column.name(), said.getString(GENERATED));
    }
    return JSON.writeValueAsString(found);
  }

  /** What a CREATE VIEW defines, as JSON: as `describe` tells of a view, and whether it may be there, and be replaced.
   *  Nothing runs, and no view is made. */
  public String defines(SparkSession session, String text) throws Exception {
    LogicalPlan plan = session.sessionState().sqlParser().parsePlan(text);
    if (!(plan instanceof CreateView) || !(((CreateView) plan).child() instanceof UnresolvedIdentifier)) return "null";
    CreateView view = (CreateView) plan;
    List parts = new ArrayList(CollectionConverters.asJava(((UnresolvedIdentifier) view.child()).nameParts()));
    CatalogManager catalogs = session.sessionState().catalogManager();
    if (parts.size() == 1) parts.add(0, String.join(".", catalogs.currentNamespace()));
    if (parts.size() == 2) parts.add(0, catalogs.currentCatalog().name());
    StructType schema = Dataset$.MODULE$.ofRows(session, view.query()).schema();
    List named = CollectionConverters.asJava(view.userSpecifiedColumns()), columns = new ArrayList();
    if (!named.isEmpty() && named.size() != schema.fields().length)
      throw new SecurityException("view " + String.join(".", parts) + " names " + named.size() + " columns, and its query has "
          + schema.fields().length + "; name each column of the query");
    for (int i = 0; i < schema.fields().length; i++) {
      String column = named.isEmpty() ? schema.fields()[i].name() : (String) ((scala.Tuple2) named.get(i))._1();
      List one = new ArrayList();
      columns.add(one);
      one.add(column);
      one.add(column.toLowerCase(Locale.ROOT));
      one.add(null);
      one.add(schema.fields()[i].dataType().sql());
    }
    Map found = new HashMap();
    found.put("key", "name:" + String.join(".", parts).toLowerCase(Locale.ROOT));
    found.put("isView", Boolean.TRUE);
    found.put("name", parts);
    found.put("columns", columns);
    found.put("partitions", new ArrayList());
    found.put("generated", new HashMap());
    found.put("ifNotExists", Boolean.valueOf(view.allowExisting()));
    found.put("replaces", Boolean.valueOf(view.replace()));
    return JSON.writeValueAsString(found);
  }

  /** All that the catalog knows of a table or view, as text; "" for none. */
  public String known(SparkSession session, String schema, String name) throws Exception {
    SessionCatalog catalog = session.sessionState().catalog();
    TableIdentifier table = new TableIdentifier(name, Option.apply(schema));
    return catalog.tableExists(table) ? catalog.getTableMetadata(table).toString() : "";
  }

  static class Obeying extends Rule {
    final Governor governor;
    final SparkSession session;

    Obeying(Governor governor, SparkSession session) {
      this.governor = governor;
      this.session = session;
    }

    public TreeNode apply(TreeNode plan) {
      long began = System.nanoTime();
      try {
        return governor.governed((LogicalPlan) plan, session);
      } finally {
        governor.nanoseconds.add(System.nanoTime() - began);
      }
    }
  }

  static class Making extends AbstractFunction1 {
    final Governor governor;

    Making(Governor governor) { this.governor = governor; }

    public Object apply(Object session) { return new Obeying(governor, (SparkSession) session); }
  }
}
