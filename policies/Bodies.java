import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.optimizer.BooleanSimplification$;
import org.apache.spark.sql.catalyst.optimizer.ConstantFolding$;
import org.apache.spark.sql.catalyst.optimizer.SimplifyConditionals$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What policies say: their bodies, resolved once, and what these come to for somebody. */
class Bodies {
  final Map policies = new ConcurrentHashMap();
  /** The ids of the policies whose bodies may look something up, and what is not known yet. */
  private final Map unread = new ConcurrentHashMap();
  /** The ids of the policies that read a table or view, by its key. */
  private final Map readers = new ConcurrentHashMap();
  /** How often each policy protects something, by its id. */
  private final Map uses = new ConcurrentHashMap();
  /** What a body reads may be dropped and made again, under the same name: it is looked up again after so long. */
  private static final long STALE = 10000000000L;

  private final SparkSession own;

  /** `own` resolves the bodies of policies. */
  Bodies(SparkSession own) { this.own = own; }

  /** A policy by its id; null takes it away. */
  synchronized void define(String id, Policy policy) {
    Policy before = (Policy) (policy == null ? policies.remove(id) : policies.put(id, policy));
    if (before != null) reads(before, new ArrayList());
    if (policy != null) policy.id = id;
    await(id);
  }

  /** What a policy reads is to be found out where it protects something, and only there. */
  private void await(Object id) {
    Policy policy = (Policy) policies.get(id);
    if (policy != null && policy.reads == null && uses.containsKey(id) && policy.mayLookUp) unread.put(id, Boolean.TRUE);
    else unread.remove(id);
  }

  private void reads(Policy policy, List keys) {
    for (int i = 0; i < keys.size(); i++) {
      if (!readers.containsKey(keys.get(i))) readers.put(keys.get(i), new ConcurrentHashMap());
      ((Map) readers.get(keys.get(i))).put(policy.id, Boolean.TRUE);
    }
    for (int i = 0; policy.reads != null && i < policy.reads.size(); i++)
      if (!keys.contains(policy.reads.get(i))) ((Map) readers.get(policy.reads.get(i))).remove(policy.id);
    policy.reads = keys;
  }

  /** An object is protected by other policies than before; null for none. */
  synchronized void protect(Protection before, Protection now) {
    count(now, 1);
    count(before, -1);
  }

  private void count(Protection protection, int more) {
    Iterator each = protection == null ? new ArrayList().iterator() : protection.used().iterator();
    while (each.hasNext()) {
      Object policy = each.next();
      Integer known = (Integer) uses.get(policy);
      int found = (known == null ? 0 : known.intValue()) + more;
      if (found == 0) uses.remove(policy);
      else uses.put(policy, Integer.valueOf(found));
      await(policy);
    }
  }

  synchronized void forget() {
    policies.clear();
    unread.clear();
    readers.clear();
    uses.clear();
  }

  /** A policy of a protected object whose body reads a table or view, by its key; null for none. Every command asks. */
  String readerOf(String key) {
    Iterator each = unread.keySet().iterator();
    while (each.hasNext()) findOut((Policy) policies.get(each.next()));
    Map found = (Map) readers.get(key);
    each = found == null ? new ArrayList().iterator() : found.keySet().iterator();
    while (each.hasNext()) {
      Object id = each.next();
      Policy policy = uses.containsKey(id) ? (Policy) policies.get(id) : null;
      if (policy != null) return policy.name;
    }
    return null;
  }

  private void findOut(Policy policy) {
    try {
      if (policy != null) resolved(policy);
    } catch (Exception e) {
      // What cannot be resolved now, with its schema gone, hides all that it protects, and reads nothing.
    }
  }

  Policy policy(String name) {
    Policy found = (Policy) policies.get(name);
    if (found == null) throw new SecurityException("policy " + name + " is not there, and protects what is read");
    return found;
  }

  /** The body over attributes of its own, as its schema reads it. */
  synchronized Body resolved(Policy policy) {
    boolean isOld = policy.reads != null && !policy.reads.isEmpty() && System.nanoTime() - policy.time > STALE;
    if (policy.resolved != null && !isOld) return policy.resolved;
    List columns = new ArrayList();
    try {
      for (int i = 0; i < policy.parameters.size(); i++) {
        List parameter = (List) policy.parameters.get(i);
        DataType type = own.sessionState().sqlParser().parseDataType((String) parameter.get(1));
        columns.add(new AttributeReference((String) parameter.get(0), type, true, Metadata.empty(),
            NamedExpression$.MODULE$.newExprId(), Relations.seq(new ArrayList())));
      }
      Expression body = own.sessionState().sqlParser().parseExpression(policy.body);
      if (body instanceof Alias) // Spark reads `a AND` as a, by the name of AND
        throw new SecurityException("the body of policy " + policy.name + " cannot be read: it ends in a name");
      List values = new ArrayList();
      values.add(new Alias(body, "value", NamedExpression$.MODULE$.newExprId(), Relations.seq(new ArrayList()), Option.empty(),
          Relations.seq(new ArrayList())));
      LogicalPlan asked = new Project(Relations.seq(values), new LocalRelation(Relations.seq(columns), Relations.seq(new ArrayList()), false, Option.empty()));
      LogicalPlan answered = analyzed(asked, policy.schema);
      Expression value = overOneRow(answered, policy);
      DataType type = own.sessionState().sqlParser().parseDataType(policy.returns);
      if (!Cast$.MODULE$.canANSIStoreAssign(value.dataType(), type))
        throw new SecurityException("the body of policy " + policy.name + " gives " + value.dataType().sql()
            + ", and it returns " + policy.returns);
      // What a policy reads is behind no policy.
      Keys read = new Keys();
      value.transformUp(read);
      policy.time = System.nanoTime();
      if (policy.id != null && policies.get(policy.id) == policy) {
        reads(policy, read.keys);
        unread.remove(policy.id);
      } else policy.reads = read.keys; // is tried out, or was replaced
      policy.resolved = new Body((Expression) as(value, type).transformUp(new Freeing()), columns, null);
    } catch (org.apache.spark.sql.catalyst.parser.ParseException e) {
      throw new SecurityException("the body of policy " + policy.name + " cannot be read: " + e.getMessage());
    }
    return policy.resolved;
  }

  /** What a body comes to over its own columns: Spark gives the arguments of functions in SQL a projection of their own. */
  private static Expression overOneRow(LogicalPlan answered, Policy policy) {
    Expression value = null;
    LogicalPlan plan = answered;
    for (; plan instanceof Project; plan = ((Project) plan).child()) {
      List columns = CollectionConverters.asJava(((Project) plan).projectList());
      if (value == null) {
        value = ((Alias) columns.get(0)).child();
        continue;
      }
      Map given = new HashMap();
      for (int i = 0; i < columns.size(); i++)
        if (columns.get(i) instanceof Alias) given.put(((Alias) columns.get(i)).exprId(), argument((Alias) columns.get(i), policy));
      if (!given.isEmpty()) value = Renaming.given(value, given);
    }
    if (value == null || !(plan instanceof LocalRelation))
      throw new SecurityException("the body of policy " + policy.name + " is no expression over one row");
    return value;
  }

  private static Expression argument(Alias column, Policy policy) {
    if (column.child().deterministic()) return column.child();
    throw new SecurityException("the body of policy " + policy.name + " gives a function " + column.child().sql()
        + ", which is another value at every use");
  }

  static Expression as(Expression value, DataType type) {
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
  Body answer(Policy policy, Identity who) {
    Body body = resolved(policy), found = (Body) who.answers.get(policy);
    if (found == null || found.of != body) {
      Expression asked = (Expression) body.value.transformUp(new Renaming(null, null, who));
      found = new Body(simplified((Expression) asked.transformUp(new Answering(who)), body.columns), body.columns, body);
      who.answers.put(policy, found);
    }
    return found;
  }

  private static Expression simplified(Expression value, List columns) {
    List values = new ArrayList();
    values.add(new Alias(value, "value", NamedExpression$.MODULE$.newExprId(), Relations.seq(new ArrayList()), Option.empty(),
        Relations.seq(new ArrayList())));
    LogicalPlan plan = new Project(Relations.seq(values), new LocalRelation(Relations.seq(columns), Relations.seq(new ArrayList()), false, Option.empty()));
    for (int i = 0; i < 3; i++) {
      plan = ConstantFolding$.MODULE$.apply(plan);
      plan = SimplifyConditionals$.MODULE$.apply(plan);
      plan = BooleanSimplification$.MODULE$.apply(plan);
    }
    return ((Alias) ((Project) plan).projectList().head()).child();
  }

  /** Whether a mask shows somebody the very value. */
  boolean isReal(Use use, Identity who) { return isReal(policy(use.policy), who); }

  private boolean isReal(Policy policy, Identity who) {
    return answer(policy, who).isFirst();
  }

  /** Whether a row access policy shows somebody every row. */
  private boolean showsRows(Policy policy, Identity who) {
    return answer(policy, who).value.equals(Literal$.MODULE$.TrueLiteral());
  }

  /** Whether a policy as it was may change what somebody sees: the body in force answers where it is still the same. */
  boolean changes(Policy said, String id, boolean isMask, Identity who) {
    Policy known = (Policy) policies.get(id);
    try {
      Policy policy = said.isSame(known) ? known : said;
      return !(isMask ? isReal(policy, who) : showsRows(policy, who));
    } finally {
      who.answers.remove(said);
    }
  }

  /** Whether policies hide nothing of a table from somebody. */
  boolean showsAll(Protection protection, Identity who) {
    Iterator masks = protection.masks.values().iterator();
    while (masks.hasNext()) if (!isReal((Use) masks.next(), who)) return false;
    Iterator tagged = protection.tagged.values().iterator();
    while (tagged.hasNext()) if (!isReal(Use.of((String) tagged.next(), ""), who)) return false;
    for (int i = 0; i < protection.rows.size(); i++) {
      List any = (List) protection.rows.get(i);
      boolean all = false;
      for (int j = 0; j < any.size(); j++)
        all |= showsRows(policy(((Use) any.get(j)).policy), who);
      if (!all) return false;
    }
    return true;
  }

  /** What a policy makes of the columns of a table. */
  Expression instance(Use use, Map columns, Identity who) {
    Body answer = answer(policy(use.policy), who);
    Map given = new HashMap();
    for (int i = 0; i < use.columns.size(); i++) {
      Object column = columns.get(use.columns.get(i));
      if (column == null) throw new SecurityException("policy " + use.policy + " asks for column " + use.columns.get(i)
          + ", which is not there");
      Attribute parameter = (Attribute) answer.columns.get(i);
      given.put(parameter.exprId(), as((Expression) column, parameter.dataType()));
    }
    return Renaming.given(answer.value, given);
  }

  /** The condition of all row access policies; null for none that hides anything. */
  Expression rows(Protection protection, Map columns, Identity who) {
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
}

/** A body over its parameters, and what stands for them. */
class Policy {
  final String name, body, schema, returns;
  final List parameters;
  /** Whether its body has a query, or what looks like one. */
  final boolean mayLookUp;
  /** Null for one that is only tried out. */
  String id;
  Body resolved;
  /** The keys of what the body reads, and when that was found out (nanoseconds); null before. */
  List reads;
  long time;

  Policy(Map said) {
    name = (String) said.get("name");
    body = (String) said.get("body");
    schema = (String) said.get("schema");
    returns = (String) said.get("returns");
    parameters = (List) said.get("parameters");
    mayLookUp = body.toUpperCase(Locale.ROOT).indexOf("SELECT") >= 0;
  }

  /** Whether two say the same, whatever they are called. */
  boolean isSame(Policy other) {
    return other != null && body.equals(other.body) && schema.equals(other.schema) && returns.equals(other.returns)
        && parameters.equals(other.parameters);
  }
}

/** What a body is over its columns, as Spark has resolved it, or as it answers somebody: then it is `of` the former. */
class Body {
  final Expression value;
  final List columns;
  final Body of;
  private Boolean isFirst;

  Body(Expression value, List columns, Body of) {
    this.value = value;
    this.columns = columns;
    this.of = of;
  }

  /** Whether it gives its first column as it is. */
  boolean isFirst() {
    if (isFirst == null) isFirst = Boolean.valueOf(value.semanticEquals((Attribute) columns.get(0)));
    return isFirst.booleanValue();
  }
}

/** A policy on the columns of a table. */
class Use {
  final String policy;
  final List columns;

  Use(List said) {
    policy = (String) said.get(0);
    columns = (List) said.get(1);
  }

  static Use of(String policy, String column) {
    List columns = new ArrayList();
    columns.add(column);
    List said = new ArrayList();
    said.add(policy);
    said.add(columns);
    return new Use(said);
  }
}

class Protection {
  /** Each is a list: one of its policies has to let a row through. */
  final List rows = new ArrayList();
  final Map masks = new HashMap();
  /** What the columns that policies name were called, by their keys. */
  final Map names;
  final String name;
  final boolean hadRows, isView;
  /** It is being replaced, and its policies with it. */
  final boolean sealed;
  /** What masks a column of a type that no mask of its own has, by `kindOf`: what the tags of the object come to. */
  final Map tagged = new HashMap();
  /** What the keys of its columns follow from, and these by the names that the columns have: of the last who asked. */
  private volatile Object[] known = new Object[] {null, new ConcurrentHashMap()};

  Protection(Map said) {
    name = (String) said.get("name");
    names = (Map) said.get("names");
    isView = ((Boolean) said.get("isView")).booleanValue();
    if (said.get("tagged") != null) tagged.putAll((Map) said.get("tagged"));
    hadRows = ((Boolean) said.get("hadRows")).booleanValue();
    sealed = Boolean.TRUE.equals(said.get("sealed"));
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

  /** A table and the schema that it is in, whose tags it has; null for one that nothing protects. */
  Protection(Protection table, Protection schema, String name) {
    this.name = name;
    hadRows = table != null && table.hadRows;
    isView = table != null && table.isView;
    sealed = table != null && table.sealed;
    names = table == null ? new HashMap() : table.names;
    tagged.putAll(schema.tagged);
    if (table == null) return;
    rows.addAll(table.rows);
    masks.putAll(table.masks);
    tagged.putAll(table.tagged);
  }

  /** The keys of the columns that a relation has. */
  List keys(LogicalPlan relation, List output) {
    Object metadata = Relations.metadataOf(relation);
    Object[] now = known;
    if (now[0] != metadata) known = now = new Object[] {metadata, new ConcurrentHashMap()};
    Map names = (Map) now[1], mapping = null;
    List found = new ArrayList();
    for (int i = 0; i < output.size(); i++) {
      Attribute column = (Attribute) output.get(i);
      Object key = names.get(column.name());
      if (key == null) {
        if (mapping == null) mapping = Relations.mappingOf(relation);
        key = Relations.columnKey(column, mapping);
        names.put(column.name(), key);
      }
      found.add(key);
    }
    return found;
  }

  /** The policies at work on it. */
  List used() {
    List found = new ArrayList(tagged.values());
    Iterator each = masks.values().iterator();
    while (each.hasNext()) found.add(((Use) each.next()).policy);
    for (int i = 0; i < rows.size(); i++)
      for (int j = 0; j < ((List) rows.get(i)).size(); j++) found.add(((Use) ((List) rows.get(i)).get(j)).policy);
    return found;
  }

  /** Whether a column has a mask of its own, by the name that it had. */
  boolean hasMasked(String column) {
    Iterator each = masks.keySet().iterator();
    while (each.hasNext()) if (column.equalsIgnoreCase((String) names.get(each.next()))) return true;
    return false;
  }

  boolean isInForce() { return sealed || !rows.isEmpty() || !masks.isEmpty() || !tagged.isEmpty(); }

  /** A type as policies of tags know it: its text, and one word for all decimals. */
  static String kindOf(DataType type) {
    return type instanceof DecimalType ? "decimal" : type.sql().toLowerCase(Locale.ROOT).replace(" ", "");
  }
}

class Identity extends Principal {
  /** `invoker` is the role that runs what reads: of a view or function its owner's; null where a user owns it. */
  final String user, role, account, invoker;
  /** Upper case, for SQL. */
  final List roles = new ArrayList();
  /** What policies come to for them. */
  final Map answers = new ConcurrentHashMap();
  private final Map invoked = new ConcurrentHashMap();

  Identity(Map said) {
    super("USER " + said.get("user"), (List) said.get("holders"));
    user = (String) said.get("user");
    role = (String) said.get("role");
    account = (String) said.get("account");
    invoker = role;
    List held = (List) said.get("roles");
    for (int i = 0; i < held.size(); i++) roles.add(UTF8String.fromString((String) held.get(i)));
  }

  private Identity(Identity caller, String invoker) {
    super(caller.holder, new ArrayList(caller.holders));
    user = caller.user;
    role = caller.role;
    account = caller.account;
    this.invoker = invoker;
    roles.addAll(caller.roles);
  }

  /** The same inside of what somebody owns. */
  Identity inside(Principal owner) {
    if (owner == null || owner == this) return this;
    Object key = owner.role() == null ? "" : owner.role();
    Identity found = (Identity) invoked.get(key);
    if (found == null) {
      found = new Identity(this, owner.role());
      invoked.put(key, found);
    }
    return found;
  }
}
