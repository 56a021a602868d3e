import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.SQLFunctionNode;
import org.apache.spark.sql.catalyst.analysis.SQLScalarFunction;
import org.apache.spark.sql.catalyst.catalog.SQLFunction;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** One walk over a plan, from the leaves up: each read of what is protected goes behind its policies. */
class Walk {
  static final TreeNodeTag GOVERNED = new TreeNodeTag("audit.governed");

  static final String PAST = "what it held before";

  final Governor governor;
  final SparkSession session;
  final Bodies bodies;
  final Hidden hidden;
  private final Files files;
  private final Commands commands;
  private boolean nullable = false;
  /** Who owns the view or function that the walk is inside of; null outside. */
  private Principal owner;
  /** The same of what subqueries in functions read. */
  private final Map owners = new IdentityHashMap();

  Walk(Governor governor, SparkSession session) {
    this.governor = governor;
    this.session = session;
    bodies = governor.bodies;
    hidden = new Hidden(session);
    files = new Files(governor, session);
    commands = new Commands(this, files);
  }

  LogicalPlan of(LogicalPlan plan) {
    LogicalPlan found = over(plan);
    return nullable ? nullable(found) : found;
  }

  LogicalPlan over(LogicalPlan plan) {
    LogicalPlan found = plan;
    List children = CollectionConverters.asJava(plan.children());
    List now = new ArrayList();
    boolean changed = false;
    Principal outer = owner;
    if (plan instanceof View && !((View) plan).isTempView())
      enter(Securable.of("view", Relations.keyOf(plan), ((View) plan).desc().identifier()));
    else if (plan instanceof SQLFunctionNode) enter(((SQLFunctionNode) plan).function());
    for (int i = 0; i < children.size(); i++) {
      LogicalPlan child = over((LogicalPlan) children.get(i));
      changed |= child != children.get(i);
      now.add(child);
    }
    if (owner != outer) {
      changed |= answered(now);
      owner = outer;
    }
    if (changed) found = (LogicalPlan) found.withNewChildren(Relations.seq(now));
    if (plan.containsPattern(TreePattern.PLAN_EXPRESSION())) { // not of `found`, which would have to work it out
      List expressions = CollectionConverters.asJava(found.expressions());
      for (int i = 0; i < expressions.size(); i++) owners((Expression) expressions.get(i), owner);
      found = (LogicalPlan) found.transformExpressionsUp(new Inside(this));
    }
    if (found instanceof Command) return commands.of(found);
    files.refuse(found);
    found = hidden.held(found);
    Protection protection = governor.protection(found);
    boolean isPast = Relations.isOfThePast(found) && found.getTagValue(GOVERNED).isEmpty();
    Protection today = isPast ? governor.protection(Relations.keyOfToday(found), session) : null;
    // What was replaced had another id, and policies of its own; its history is that of the table.
    if (today != null) requireHistory(today, governor.required(session), PAST);
    if (protection != null && found.getTagValue(GOVERNED).isEmpty()) {
      if (protection.sealed)
        throw new SecurityException(protection.name + " is being replaced, and its policies with it; read it again in a moment,"
            + " and where that does not help, an administrator may run CREATE OR REPLACE VIEW again");
      Identity who = governor.required(session);
      if (isPast) requireHistory(protection, who, PAST);
      found = behind(found, protection, who.inside(owner));
    }
    return found;
  }

  /** A subquery, of a function with its owner. */
  LogicalPlan inside(LogicalPlan subquery) {
    Principal outer = owner;
    if (owners.containsKey(subquery)) owner = (Principal) owners.get(subquery);
    try {
      return over(subquery);
    } finally {
      owner = outer;
    }
  }

  private void owners(Expression value, Principal outer) {
    Principal inside = outer;
    if (value instanceof SQLScalarFunction && !((SQLScalarFunction) value).function().name().database().isEmpty())
      inside = governor.grants.ownerOf(Securable.function(((SQLScalarFunction) value).function().name()), outer);
    if (value instanceof SubqueryExpression && inside != owner) owners.put(((SubqueryExpression) value).plan(), inside);
    List children = CollectionConverters.asJava(value.children());
    for (int i = 0; i < children.size(); i++) owners((Expression) children.get(i), inside);
  }

  private void enter(SQLFunction function) {
    if (!function.name().database().isEmpty()) enter(Securable.function(function.name()));
  }

  private void enter(Securable on) { owner = governor.grants.ownerOf(on, owner); }

  /** Asks in the text of a view who invokes it: its owner. */
  private boolean answered(List plans) {
    Identity who = governor.identity(session);
    boolean changed = false;
    for (int i = 0; who != null && i < plans.size(); i++) {
      LogicalPlan plan = (LogicalPlan) plans.get(i);
      if (!plan.containsPattern(TreePattern.SCALA_UDF()) && !plan.containsPattern(TreePattern.PLAN_EXPRESSION())) continue;
      plans.set(i, plan.transformAllExpressionsWithSubqueries(new Answering(who.inside(owner))));
      changed |= plans.get(i) != plan;
    }
    return changed;
  }

  /** BigQuery: of a table that has, or has had, row-level access policies only its administrator sees the past. */
  static void requireHistory(Protection protection, Identity who, String what) {
    if (protection.hadRows && !who.isAdmin)
      throw new SecurityException("table " + protection.name + " has, or had, a row access policy, and " + who.user
          + " may not see " + what + "; an administrator may (role ACCOUNTADMIN)");
  }

  /** A relation behind its policies: rows first, then masks. */
  private LogicalPlan behind(LogicalPlan relation, Protection protection, Identity who) {
    List output = CollectionConverters.asJava(relation.output()), keys = protection.keys(relation, output);
    Map masks = masks(relation, output, keys, protection, who);
    Map fresh = new HashMap();
    Iterator each = masks.keySet().iterator();
    while (each.hasNext()) fresh.put(each.next(), NamedExpression$.MODULE$.newExprId());
    LogicalPlan below = copied(relation, fresh);
    below.setTagValue(GOVERNED, Boolean.TRUE);
    List raw = CollectionConverters.asJava(below.output());
    Map columns = columns(output, keys, raw, protection);

    Expression rows = bodies.rows(protection, columns, who);
    LogicalPlan found = rows == null ? below : new Filter(rows, below);
    if (rows != null) hidden.note(raw);
    if (masks.isEmpty()) return found;
    List shown = new ArrayList();
    for (int i = 0; i < output.size(); i++) {
      AttributeReference column = (AttributeReference) output.get(i);
      Use use = (Use) masks.get(column.exprId());
      if (use == null) {
        shown.add(raw.get(i));
        continue;
      }
      Expression value = Bodies.as(bodies.instance(use, columns, who), column.dataType());
      nullable |= value.nullable() && !column.nullable();
      shown.add(new Alias(value, column.name(), column.exprId(), column.qualifier(), Option.apply(column.metadata()),
          Relations.seq(new ArrayList())));
    }
    LogicalPlan masked = new Project(Relations.seq(shown), found);
    hidden.held(masked);
    return masked;
  }

  /** Another plan of the same, some of whose columns have other ids. */
  private static LogicalPlan copied(LogicalPlan plan, Map ids) {
    if (plan instanceof LogicalRelation) { // nearly all of them, and copies by reflection were half of the governing
      LogicalRelation relation = (LogicalRelation) plan;
      List output = CollectionConverters.asJava(relation.output()), now = new ArrayList();
      for (int i = 0; i < output.size(); i++) {
        AttributeReference column = (AttributeReference) output.get(i);
        Object id = ids.get(column.exprId());
        now.add(id == null ? column : column.withExprId((ExprId) id));
      }
      LogicalPlan found = new LogicalRelation(relation.relation(), Relations.seq(now), relation.catalogTable(),
          relation.isStreaming(), relation.stream());
      found.copyTagsFrom(plan);
      return found;
    }
    LogicalPlan found = (LogicalPlan) plan.makeCopy(Relations.arguments(plan));
    return ids.isEmpty() ? found : (LogicalPlan) found.transformAllExpressionsWithSubqueries(new Renaming(ids, null, null));
  }

  /** What masks the columns of a relation for somebody, by the id of the column. A column that is masked and cannot be
   *  found might go by another name now: nobody reads it whom it is masked for. */
  Map masks(LogicalPlan relation, Protection protection, Identity who) {
    List output = CollectionConverters.asJava(relation.output());
    return masks(relation, output, protection.keys(relation, output), protection, who);
  }

  private Map masks(LogicalPlan relation, List output, List keys, Protection protection, Identity who) {
    Map columns = columns(output, keys, output, protection);
    Map found = new LinkedHashMap();
    Iterator each = protection.masks.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      Use use = (Use) entry.getValue();
      if (bodies.isReal(use, who)) continue;
      Attribute column = (Attribute) columns.get(entry.getKey());
      if (column != null) put(column, use, relation, protection, found);
      else if (!Relations.isOfThePast(relation))
        throw new SecurityException("column " + protection.names.get(entry.getKey()) + " of " + protection.name
            + " is masked, and is not there any longer; an administrator may UNSET its MASKING POLICY");
    }
    if (protection.tagged.isEmpty()) return found;
    for (int i = 0; i < output.size(); i++) {
      Attribute column = (Attribute) output.get(i);
      String key = (String) keys.get(i);
      String policy = (String) protection.tagged.get(Protection.kindOf(column.dataType()));
      if (policy == null || protection.masks.containsKey(key) || found.containsKey(column.exprId())) continue;
      Use use = Use.of(policy, key);
      if (!bodies.isReal(use, who)) put(column, use, relation, protection, found);
    }
    return found;
  }

  /** The values of a column that parts the files stand in the names of these (`_metadata`, input_file_name()). */
  private static void put(Attribute column, Use use, LogicalPlan relation, Protection protection, Map into) {
    if (Relations.partitionsOf(relation).contains(column.name().toLowerCase(java.util.Locale.ROOT)))
      throw new SecurityException(protection.name + " is partitioned by " + column.name() + ", which a tag masks, and its"
          + " values stand in the names of the files; an administrator may tag other columns, or part the table by another");
    into.put(column.exprId(), use);
  }

  /** The columns of a relation by the keys that policies know them by; `given` stand for its output. A key that is gone
   *  (column mapping was taken off, the schema was overwritten) falls back to the name that the column had. */
  static Map columns(LogicalPlan relation, List given, Protection protection) {
    List output = CollectionConverters.asJava(relation.output());
    return columns(output, protection.keys(relation, output), given, protection);
  }

  private static Map columns(List output, List keys, List given, Protection protection) {
    Map found = new HashMap();
    for (int i = 0; i < output.size(); i++) found.put(keys.get(i), given.get(i));
    Iterator each = protection.names.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (found.containsKey(entry.getKey())) continue;
      String was = ((String) entry.getValue()).toLowerCase(java.util.Locale.ROOT);
      for (int i = 0; i < output.size(); i++)
        if (((Attribute) output.get(i)).name().toLowerCase(java.util.Locale.ROOT).equals(was)) found.put(entry.getKey(), given.get(i));
    }
    return found;
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
    LogicalPlan found = children.isEmpty() ? plan : (LogicalPlan) plan.withNewChildren(Relations.seq(children));
    return (LogicalPlan) found.transformExpressionsUp(new Nulls(known));
  }
}
