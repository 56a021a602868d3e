import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.Concat;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.ExplodeBase;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Generator;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Length;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.Substring;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LateralJoin;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.metric.IncrementMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import scala.jdk.javaapi.CollectionConverters;

/** Columns of tables some of whose rows are hidden: what may fail on them is not tried on those rows, or its error
 *  would tell of them. The optimizer moves conditions down to the files, past the filter of a policy; it leaves in its
 *  place what is not deterministic (PushPredicateThroughNonJoin, PushPredicateThroughJoin, Spark 4.2), and so such a
 *  condition is wrapped in Delta's IncrementMetric, which counts and is otherwise what it holds. */
class Hidden {
  private final SparkSession session;
  private final Set columns = new HashSet();
  /** Those among them that are made by what may fail. */
  private final Set failing = new HashSet();
  /** The outputs of common table expressions, by their ids. */
  private final Map named = new HashMap();

  Hidden(SparkSession session) { this.session = session; }

  void note(List attributes) {
    for (int i = 0; i < attributes.size(); i++) columns.add(((Attribute) attributes.get(i)).exprId());
  }

  /** A plan over hidden rows, with what may fail kept above their filters. */
  LogicalPlan held(LogicalPlan plan) {
    if (plan instanceof CTERelationDef)
      named.put(Long.valueOf(((CTERelationDef) plan).id()), CollectionConverters.asJava(plan.output()));
    if (columns.isEmpty()) return plan;
    LogicalPlan found = plan;
    if (plan instanceof Filter) {
      Expression condition = held(((Filter) plan).condition());
      if (condition != ((Filter) plan).condition()) found = new Filter(condition, ((Filter) plan).child());
    } else if (plan instanceof Join && !((Join) plan).condition().isEmpty()) {
      Join join = (Join) plan;
      Set at = new HashSet();
      failing((Expression) join.condition().get(), at);
      LogicalPlan left = at.isEmpty() ? join.left() : fenced(join.left(), at);
      LogicalPlan right = at.isEmpty() ? join.right() : fenced(join.right(), at);
      if (left != join.left() || right != join.right())
        found = join.copy(left, right, join.joinType(), join.condition(), join.hint());
    } else if (plan instanceof LateralJoin) {
      LogicalPlan left = fenced(((LateralJoin) plan).left(), columns);
      List children = new ArrayList();
      children.add(left);
      if (left != ((LateralJoin) plan).left()) found = (LogicalPlan) plan.withNewChildren(Relations.seq(children));
    } else if (plan instanceof Generate && ((Generate) plan).generator() instanceof ExplodeBase) {
      found = held((Generate) plan);
    }
    follow(found);
    return found;
  }

  /** Nothing moves from above down into a plan that has one of some columns. */
  private LogicalPlan fenced(LogicalPlan plan, Set at) {
    List output = CollectionConverters.asJava(plan.output());
    for (int i = 0; i < output.size(); i++)
      if (at.contains(((Attribute) output.get(i)).exprId())) return new Filter(inPlace(Literal$.MODULE$.TrueLiteral()), plan);
    return plan;
  }

  /** A condition whose parts stay where they are if they may fail on hidden rows. */
  Expression held(Expression condition) {
    if (condition instanceof And) {
      Expression left = held(((And) condition).left()), right = held(((And) condition).right());
      return left == ((And) condition).left() && right == ((And) condition).right() ? condition : new And(left, right);
    }
    boolean stays = mayFail(condition) || (isRisky(condition) && condition.references().isEmpty());
    return stays && condition.deterministic() ? inPlace(condition) : condition;
  }

  /** Spark infers of an exploded array that it is not empty, and asks that of the files. */
  private LogicalPlan held(Generate plan) {
    if (!mayFail((Expression) plan.generator())) return plan;
    List inputs = new ArrayList(), now = new ArrayList();
    inputs.addAll(CollectionConverters.asJava(((Expression) plan.generator()).children()));
    for (int i = 0; i < inputs.size(); i++) now.add(inPlace((Expression) inputs.get(i)));
    Generator generator = (Generator) ((Expression) plan.generator()).withNewChildren(Relations.seq(now));
    return plan.copy(generator, plan.unrequiredChildIndex(), plan.outer(), plan.qualifier(), plan.generatorOutput(), plan.child());
  }

  private Expression inPlace(Expression value) {
    return new IncrementMetric(value, SQLMetrics.createMetric(session.sparkContext(), "held in place"));
  }

  boolean mayFail(Expression value) {
    Set at = new HashSet();
    failing(value, at);
    return !at.isEmpty();
  }

  /** The hidden columns on which it depends whether an expression fails. */
  private void failing(Expression e, Set at) {
    if (e instanceof OuterReference) {
      failing((Expression) ((OuterReference) e).e(), at);
    } else if (e instanceof RuntimeReplaceable) {
      failing(((RuntimeReplaceable) e).replacement(), at);
    } else if (e instanceof Attribute) {
      if (failing.contains(((Attribute) e).exprId())) at.add(((Attribute) e).exprId());
    } else if (e instanceof SubqueryExpression) {
      below(e, at);
      compared((LogicalPlan) ((SubqueryExpression) e).plan(), at);
      correlated((LogicalPlan) ((SubqueryExpression) e).plan(), at);
    } else if (!isHarmless(e) || (isConditional(e) && isRisky(e))) {
      if (!isWorkedOut(e)) mentioned(e, at);
    } else {
      below(e, at);
    }
  }

  /** What is foldable is worked out before any row is read, unless that fails: then it is left to the rows. */
  private static boolean isWorkedOut(Expression e) {
    if (!e.foldable()) return false;
    try {
      ((Expression) e.transformUp(new Blanks())).eval(null);
      return true;
    } catch (Exception failed) {
      return false;
    }
  }

  /** What looks at one part to decide whether to work out another, or names one part in another. */
  private static boolean isConditional(Expression e) {
    return e instanceof If || e instanceof CaseWhen || e instanceof Coalesce || e instanceof And || e instanceof Or
        || e instanceof In || e instanceof InSet || e instanceof With;
  }

  /** Whether any part may fail, whatever on. */
  private boolean isRisky(Expression e) {
    if (e instanceof OuterReference) return isRisky((Expression) ((OuterReference) e).e());
    if (e instanceof RuntimeReplaceable) return isRisky(((RuntimeReplaceable) e).replacement()); // BETWEEN, say
    if (e instanceof Attribute) return failing.contains(((Attribute) e).exprId());
    if (!(e instanceof SubqueryExpression) && !isHarmless(e)) return !isWorkedOut(e);
    List children = CollectionConverters.asJava(e.children());
    for (int i = 0; i < children.size(); i++) if (isRisky((Expression) children.get(i))) return !isWorkedOut(e);
    return false;
  }

  private void below(Expression e, Set at) {
    List children = CollectionConverters.asJava(e.children());
    for (int i = 0; i < children.size(); i++) failing((Expression) children.get(i), at);
  }

  /** What a subquery yields becomes a side of a join, which Spark infers conditions from. */
  private void compared(LogicalPlan plan, Set at) {
    List output = CollectionConverters.asJava(plan.output());
    for (int i = 0; i < output.size(); i++) failing((Attribute) output.get(i), at);
  }

  /** What a subquery says of the plan around it moves with the condition that it is part of; the rest of it has been
   *  kept above its own filters, and stays there. */
  private void correlated(LogicalPlan plan, Set at) {
    List expressions = CollectionConverters.asJava(plan.expressions());
    for (int i = 0; i < expressions.size(); i++) {
      Expression e = (Expression) expressions.get(i);
      if (e.containsPattern(TreePattern.OUTER_REFERENCE()) || e.containsPattern(TreePattern.PLAN_EXPRESSION())) failing(e, at);
    }
    List children = CollectionConverters.asJava(plan.children());
    for (int i = 0; i < children.size(); i++) correlated((LogicalPlan) children.get(i), at);
  }

  private void inside(LogicalPlan plan, Set at) {
    List expressions = CollectionConverters.asJava(plan.expressions());
    for (int i = 0; i < expressions.size(); i++) failing((Expression) expressions.get(i), at);
    List children = CollectionConverters.asJava(plan.children());
    for (int i = 0; i < children.size(); i++) inside((LogicalPlan) children.get(i), at);
  }

  private void mentioned(Expression e, Set at) {
    if (e instanceof OuterReference) mentioned((Expression) ((OuterReference) e).e(), at);
    if (e instanceof Attribute && columns.contains(((Attribute) e).exprId())) at.add(((Attribute) e).exprId());
    if (e instanceof SubqueryExpression) inside((LogicalPlan) ((SubqueryExpression) e).plan(), at);
    List children = CollectionConverters.asJava(e.children());
    for (int i = 0; i < children.size(); i++) mentioned((Expression) children.get(i), at);
  }

  /** A pattern that is made of a column may end in the character that escapes the next. */
  private static boolean isPlainLike(Expression e) { return e instanceof Like && isWorkedOut(((Like) e).right()); }

  private static boolean isHarmless(Expression e) {
    return e instanceof Literal || e instanceof Alias || e instanceof BinaryComparison || e instanceof And || e instanceof Or
        || e instanceof Not || e instanceof IsNull || e instanceof IsNotNull || e instanceof In || e instanceof InSet
        || e instanceof InSubquery || isPlainLike(e) || e instanceof StartsWith || e instanceof EndsWith
        || e instanceof Contains || e instanceof Coalesce || e instanceof Upper || e instanceof Lower || e instanceof If
        || e instanceof CaseWhen || e instanceof Concat || e instanceof Substring || e instanceof Length || e instanceof With
        || e instanceof CommonExpressionDef || e instanceof CommonExpressionRef
        || (e instanceof Cast && Cast$.MODULE$.canUpCast(((Cast) e).child().dataType(), ((Cast) e).dataType()));
  }

  /** Whether a plan makes no column, and gives those below it as they are. */
  private static boolean handsOn(LogicalPlan plan) {
    return plan instanceof Filter || plan instanceof SubqueryAlias || plan instanceof Sort || plan instanceof GlobalLimit
        || plan instanceof LocalLimit || (plan instanceof Join && !(((Join) plan).joinType() instanceof ExistenceJoin));
  }

  /** What a plan makes of hidden columns is hidden, too. */
  private void follow(LogicalPlan plan) {
    if (handsOn(plan)) return;
    List output = CollectionConverters.asJava(plan.output());
    if (plan instanceof CTERelationRef) {
      // One that refers to itself is not known yet.
      Object of = named.get(Long.valueOf(((CTERelationRef) plan).cteId()));
      for (int i = 0; i < output.size(); i++) follow((Attribute) (of == null ? null : ((List) of).get(i)), (Attribute) output.get(i));
      return;
    }
    List children = CollectionConverters.asJava(plan.children());
    Set passed = new HashSet();
    boolean isOver = false;
    for (int i = 0; i < children.size(); i++) {
      List below = CollectionConverters.asJava(((LogicalPlan) children.get(i)).output());
      for (int j = 0; j < below.size(); j++) {
        isOver |= columns.contains(((Attribute) below.get(j)).exprId());
        passed.add(((Attribute) below.get(j)).exprId());
        if (plan instanceof Union) follow((Attribute) below.get(j), (Attribute) output.get(j));
      }
    }
    if (!isOver) return;
    Map made = new HashMap();
    List expressions = CollectionConverters.asJava(plan.expressions());
    for (int i = 0; i < expressions.size(); i++)
      if (expressions.get(i) instanceof Alias) made.put(((Alias) expressions.get(i)).exprId(), expressions.get(i));
    for (int i = 0; i < output.size(); i++) {
      Attribute column = (Attribute) output.get(i);
      if (plan instanceof Union || passed.contains(column.exprId())) continue;
      Alias by = (Alias) made.get(column.exprId());
      Set at = new HashSet();
      if (by != null) mentioned(by, at);
      if (by != null && at.isEmpty()) continue;
      // No condition on what is made of many rows moves below where it is made, and so to hidden rows.
      if (by != null && plan instanceof Aggregate && by.containsPattern(TreePattern.AGGREGATE_EXPRESSION())) continue;
      columns.add(column.exprId());
      if (by == null || mayFail(by)) failing.add(column.exprId());
    }
  }

  private void follow(Attribute from, Attribute to) {
    if (from == null || columns.contains(from.exprId())) columns.add(to.exprId());
    if (from == null || failing.contains(from.exprId())) failing.add(to.exprId());
  }
}
