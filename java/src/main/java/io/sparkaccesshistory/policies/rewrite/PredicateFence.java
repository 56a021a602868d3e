package io.sparkaccesshistory.policies.rewrite;

import io.sparkaccesshistory.Scala;
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
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.Concat;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.ExplodeBase;
import org.apache.spark.sql.catalyst.expressions.ExprId;
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
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
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
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LateralJoin;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnaryNode;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.metric.IncrementMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.VariantType;
import scala.runtime.AbstractFunction1;

/**
 * Columns of tables some of whose rows are hidden: what may fail on them is not tried on those
 * rows, or its error would tell of them. The optimizer moves conditions down to the files, past the
 * filter of a policy; it leaves in its place what is not deterministic
 * (PushPredicateThroughNonJoin, PushPredicateThroughJoin, Spark 4.2), and so such a condition is
 * wrapped in Delta's IncrementMetric, which counts and is otherwise what it holds.
 */
public class PredicateFence {
  private final SparkSession session;
  private final Set<ExprId> hiddenColumns = new HashSet<>();

  /** Those among them that are made by what may fail. */
  private final Set<ExprId> failingColumns = new HashSet<>();

  /** The outputs of common table expressions, by their ids. */
  private final Map<Long, List<Attribute>> cteOutputs = new HashMap<>();

  public PredicateFence(SparkSession session) {
    this.session = session;
  }

  public void addHiddenColumns(List<? extends Attribute> attributes) {
    for (var one : attributes) hiddenColumns.add(one.exprId());
  }

  /**
   * Spark reads a part of a variant in the files, where a cast may fail (PushVariantIntoScan, Spark
   * 4.2): not through what is not deterministic.
   */
  public LogicalPlan fenceVariants(LogicalPlan filtered) {
    for (Attribute one : Scala.list(filtered.output()))
      if (one.dataType().existsRecursively(new IsVariant())) return fenceAll(filtered);
    return filtered;
  }

  private static final class IsVariant extends AbstractFunction1<DataType, Object> {
    @Override
    public Object apply(DataType type) {
      return type instanceof VariantType;
    }
  }

  private LogicalPlan fenceAll(LogicalPlan plan) {
    return new Filter(nondeterministic(Literal$.MODULE$.TrueLiteral()), plan);
  }

  /** Keeps expressions that can throw above the row-policy filter. */
  public LogicalPlan fencePlan(LogicalPlan plan) {
    if (plan instanceof CTERelationDef)
      cteOutputs.put(((CTERelationDef) plan).id(), Scala.list(plan.output()));
    if (hiddenColumns.isEmpty()) return plan;
    LogicalPlan found = plan;
    if (plan instanceof Filter) {
      found = fenceFilter((Filter) plan);
    } else if (plan instanceof Join && !((Join) plan).condition().isEmpty()) {
      Join join = (Join) plan;
      Set<ExprId> at = new HashSet<>();
      collectFailing(join.condition().get(), at);
      LogicalPlan left = at.isEmpty() ? join.left() : fenceColumns(join.left(), at);
      LogicalPlan right = at.isEmpty() ? join.right() : fenceColumns(join.right(), at);
      if (left != join.left() || right != join.right())
        found = join.copy(left, right, join.joinType(), join.condition(), join.hint());
    } else if (plan instanceof LateralJoin) {
      LogicalPlan left = fenceColumns(((LateralJoin) plan).left(), hiddenColumns);
      if (left != ((LateralJoin) plan).left())
        found = plan.withNewChildren(Scala.seq(List.of(left)));
    } else if (plan instanceof Generate && ((Generate) plan).generator() instanceof ExplodeBase) {
      found = fenceGenerate((Generate) plan);
    } else if (plan instanceof UnaryNode && plan.containsPattern(TreePattern.PLAN_EXPRESSION())) {
      found = fenceBelowSubqueries(plan);
    } else if (!evaluatesInPlace(plan)) {
      found = fenceChildren(plan);
    }
    trackOutput(found);
    return found;
  }

  /**
   * Whether Spark makes no condition of what a plan works out: it is worked out there, over what
   * the filter of a policy has left. Any other plan is taken for one that becomes a join, as the
   * set operations do.
   */
  private static boolean evaluatesInPlace(LogicalPlan plan) {
    String kind = plan.getClass().getSimpleName();
    return plan instanceof UnaryNode
        ? !(plan instanceof Filter) && !kind.endsWith("Join")
        : plan instanceof LeafNode
            || plan instanceof Union
            || plan instanceof Join
            || plan instanceof Command
            || kind.equals("WithCTE");
  }

  /** Nothing moves below a plan into those of its children that have a column that may fail. */
  private LogicalPlan fenceChildren(LogicalPlan plan) {
    Set<ExprId> at = new HashSet<>(failingColumns);
    for (var one : Scala.list(plan.expressions())) collectFailing(one, at);
    List<LogicalPlan> now = new ArrayList<>();
    boolean changed = false;
    for (LogicalPlan child : Scala.list(plan.children())) {
      LogicalPlan fenced = fenceColumns(child, at);
      changed |= fenced != child;
      now.add(fenced);
    }
    return changed ? plan.withNewChildren(Scala.seq(now)) : plan;
  }

  /** Nothing moves from above down into a plan that has one of some columns. */
  private LogicalPlan fenceColumns(LogicalPlan plan, Set<ExprId> at) {
    var output = Scala.list(plan.output());
    for (var one : output) if (at.contains(one.exprId())) return fenceAll(plan);
    return plan;
  }

  /**
   * A condition that joins a subquery with the plan around it becomes that of a join, which works
   * out nothing that is not deterministic; one over a map or a variant cannot be left in the
   * subquery, either (DecorrelateInnerQuery, Spark 4.2). So it is not wrapped: the fence is below.
   */
  private LogicalPlan fenceFilter(Filter plan) {
    Expression rest = null, correlated = null;
    Set<ExprId> at = new HashSet<>();
    for (Expression one : conjuncts(plan.condition())) {
      Set<ExprId> failing = new HashSet<>();
      if (isCorrelated(one)) collectFailing(one, failing);
      at.addAll(failing);
      if (failing.isEmpty()) rest = rest == null ? one : new And(rest, one);
      else correlated = correlated == null ? one : new And(correlated, one);
    }
    if (correlated == null) {
      Expression condition = fenceCondition(plan.condition());
      return condition == plan.condition() ? plan : new Filter(condition, plan.child());
    }
    LogicalPlan below =
        rest == null ? plan.child() : new Filter(fenceCondition(rest), plan.child());
    return new Filter(correlated, fenceColumns(below, at));
  }

  /** What a subquery joins with a plan stays above that plan. */
  private LogicalPlan fenceBelowSubqueries(LogicalPlan plan) {
    Set<ExprId> at = new HashSet<>();
    for (Expression one : Scala.list(plan.expressions()))
      if (isCorrelated(one)) collectFailing(one, at);
    LogicalPlan below = ((UnaryNode) plan).child(), child = fenceColumns(below, at);
    return child == below ? plan : plan.withNewChildren(Scala.seq(List.of(child)));
  }

  /**
   * Whether an expression is a part of a subquery that refers to the plan around, or has one: the
   * patterns of a subquery's expression are those of its plan, too (PlanExpression, Spark 4.2).
   */
  private static boolean isCorrelated(Expression e) {
    return e.containsPattern(TreePattern.OUTER_REFERENCE());
  }

  private static List<Expression> conjuncts(Expression condition) {
    if (!(condition instanceof And)) return List.of(condition);
    List<Expression> found = new ArrayList<>(conjuncts(((And) condition).left()));
    found.addAll(conjuncts(((And) condition).right()));
    return found;
  }

  /** A condition whose parts stay where they are if they may fail on hidden rows. */
  public Expression fenceCondition(Expression condition) {
    if (condition instanceof And) {
      Expression left = fenceCondition(((And) condition).left()),
          right = fenceCondition(((And) condition).right());
      return left == ((And) condition).left() && right == ((And) condition).right()
          ? condition
          : new And(left, right);
    }
    boolean stays = mayFail(condition) || (canThrow(condition) && condition.references().isEmpty());
    return stays && condition.deterministic() ? nondeterministic(condition) : condition;
  }

  /** Spark infers of an exploded array that it is not empty, and asks that of the files. */
  private LogicalPlan fenceGenerate(Generate plan) {
    if (!mayFail((Expression) plan.generator())) return plan;
    List<Expression> inputs = Scala.list(((Expression) plan.generator()).children()),
        now = new ArrayList<>();
    for (var one : inputs) now.add(nondeterministic(one));
    Generator generator =
        (Generator) ((Expression) plan.generator()).withNewChildren(Scala.seq(now));
    return plan.copy(
        generator,
        plan.unrequiredChildIndex(),
        plan.outer(),
        plan.qualifier(),
        plan.generatorOutput(),
        plan.child());
  }

  private Expression nondeterministic(Expression value) {
    return new IncrementMetric(
        value, SQLMetrics.createMetric(session.sparkContext(), "held in place"));
  }

  public boolean mayFail(Expression value) {
    Set<ExprId> at = new HashSet<>();
    collectFailing(value, at);
    return !at.isEmpty();
  }

  /** The hidden columns on which it depends whether an expression fails. */
  private void collectFailing(Expression e, Set<ExprId> at) {
    if (e instanceof OuterReference) {
      collectFailing((Expression) ((OuterReference) e).e(), at);
    } else if (e instanceof RuntimeReplaceable) {
      collectFailing(((RuntimeReplaceable) e).replacement(), at);
    } else if (e instanceof Attribute) {
      if (failingColumns.contains(((Attribute) e).exprId())) at.add(((Attribute) e).exprId());
    } else if (e instanceof SubqueryExpression) {
      collectFailingInChildren(e, at);
      collectFailingInOutput(((SubqueryExpression) e).plan(), at);
      collectFailingInOuterReferences(((SubqueryExpression) e).plan(), at);
    } else if (!neverThrows(e) || (isConditional(e) && canThrow(e))) {
      if (!foldsWithoutError(e)) collectHidden(e, at);
    } else {
      collectFailingInChildren(e, at);
    }
  }

  /**
   * What is foldable is worked out before any row is read, unless that fails: then it is left to
   * the rows.
   */
  private static boolean foldsWithoutError(Expression e) {
    if (!e.foldable()) return false;
    try {
      e.eval(null);
      return true;
    } catch (Exception failed) {
      return false;
    }
  }

  /** What looks at one part to decide whether to work out another, or names one part in another. */
  private static boolean isConditional(Expression e) {
    return e instanceof If
        || e instanceof CaseWhen
        || e instanceof Coalesce
        || e instanceof And
        || e instanceof Or
        || e instanceof In
        || e instanceof InSet
        || e instanceof With;
  }

  /** Whether any part may fail, whatever on. */
  private boolean canThrow(Expression e) {
    if (e instanceof OuterReference) return canThrow((Expression) ((OuterReference) e).e());
    if (e instanceof RuntimeReplaceable)
      return canThrow(((RuntimeReplaceable) e).replacement()); // BETWEEN, say
    if (e instanceof Attribute) return failingColumns.contains(((Attribute) e).exprId());
    if (!(e instanceof SubqueryExpression) && !neverThrows(e)) return !foldsWithoutError(e);
    var children = Scala.list(e.children());
    for (var one : children) if (canThrow(one)) return !foldsWithoutError(e);
    return false;
  }

  private void collectFailingInChildren(Expression e, Set<ExprId> at) {
    var children = Scala.list(e.children());
    for (var one : children) collectFailing(one, at);
  }

  /** What a subquery yields becomes a side of a join, which Spark infers conditions from. */
  private void collectFailingInOutput(LogicalPlan plan, Set<ExprId> at) {
    var output = Scala.list(plan.output());
    for (var one : output) collectFailing(one, at);
  }

  /**
   * What a subquery says of the plan around it moves with the condition that it is part of; the
   * rest of it has been kept above its own filters, and stays there.
   */
  private void collectFailingInOuterReferences(LogicalPlan plan, Set<ExprId> at) {
    var expressions = Scala.list(plan.expressions());
    for (Expression e : expressions) {
      if (e.containsPattern(TreePattern.OUTER_REFERENCE())
          || e.containsPattern(TreePattern.PLAN_EXPRESSION())) collectFailing(e, at);
    }
    var children = Scala.list(plan.children());
    for (var one : children) collectFailingInOuterReferences(one, at);
  }

  private void collectFailingInPlan(LogicalPlan plan, Set<ExprId> at) {
    var expressions = Scala.list(plan.expressions());
    for (var one : expressions) collectFailing(one, at);
    var children = Scala.list(plan.children());
    for (var one : children) collectFailingInPlan(one, at);
  }

  private void collectHidden(Expression e, Set<ExprId> at) {
    if (e instanceof OuterReference) collectHidden((Expression) ((OuterReference) e).e(), at);
    if (e instanceof Attribute && hiddenColumns.contains(((Attribute) e).exprId()))
      at.add(((Attribute) e).exprId());
    if (e instanceof SubqueryExpression) collectFailingInPlan(((SubqueryExpression) e).plan(), at);
    var children = Scala.list(e.children());
    for (var one : children) collectHidden(one, at);
  }

  /** A pattern that is made of a column may end in the character that escapes the next. */
  private static boolean isPlainLike(Expression e) {
    return e instanceof Like && foldsWithoutError(((Like) e).right());
  }

  private static boolean neverThrows(Expression e) {
    return e instanceof Literal
        || e instanceof Alias
        || e instanceof BinaryComparison
        || e instanceof And
        || e instanceof Or
        || e instanceof Not
        || e instanceof IsNull
        || e instanceof IsNotNull
        || e instanceof In
        || e instanceof InSet
        || e instanceof InSubquery
        || isPlainLike(e)
        || e instanceof StartsWith
        || e instanceof EndsWith
        || e instanceof Contains
        || e instanceof Coalesce
        || e instanceof Upper
        || e instanceof Lower
        || e instanceof If
        || e instanceof CaseWhen
        || e instanceof Concat
        || e instanceof Substring
        || e instanceof Length
        || e instanceof With
        || e instanceof CommonExpressionDef
        || e instanceof CommonExpressionRef
        || (e instanceof Cast
            && Cast$.MODULE$.canUpCast(((Cast) e).child().dataType(), ((Cast) e).dataType()));
  }

  /** Whether a plan makes no column, and gives those below it as they are. */
  private static boolean passesColumnsOn(LogicalPlan plan) {
    return plan instanceof Filter
        || plan instanceof SubqueryAlias
        || plan instanceof Sort
        || plan instanceof GlobalLimit
        || plan instanceof LocalLimit
        || (plan instanceof Join && !(((Join) plan).joinType() instanceof ExistenceJoin));
  }

  /** What a plan makes of hidden columns is hidden, too. */
  private void trackOutput(LogicalPlan plan) {
    if (passesColumnsOn(plan)) return;
    var output = Scala.list(plan.output());
    if (plan instanceof CTERelationRef) {
      // One that refers to itself is not known yet.
      List<Attribute> of = cteOutputs.get(((CTERelationRef) plan).cteId());
      for (int i = 0; i < output.size(); i++)
        trackColumn(of == null ? null : of.get(i), output.get(i));
      return;
    }
    var children = Scala.list(plan.children());
    Set<ExprId> passed = new HashSet<>();
    boolean isOver = false;
    for (var one : children) {
      var below = Scala.list(one.output());
      for (int j = 0; j < below.size(); j++) {
        isOver |= hiddenColumns.contains(below.get(j).exprId());
        passed.add(below.get(j).exprId());
        if (plan instanceof Union) trackColumn(below.get(j), output.get(j));
      }
    }
    if (!isOver) return;
    Map<ExprId, Alias> made = new HashMap<>();
    var expressions = Scala.list(plan.expressions());
    for (var one : expressions)
      if (one instanceof Alias) made.put(((Alias) one).exprId(), (Alias) one);
    for (Attribute column : output) {
      if (plan instanceof Union || passed.contains(column.exprId())) continue;
      Alias by = made.get(column.exprId());
      Set<ExprId> at = new HashSet<>();
      if (by != null) collectHidden(by, at);
      if (by != null && at.isEmpty()) continue;
      // No condition on what is made of many rows moves below where it is made, and so to hidden
      // rows.
      if (by != null
          && plan instanceof Aggregate
          && by.containsPattern(TreePattern.AGGREGATE_EXPRESSION())) continue;
      hiddenColumns.add(column.exprId());
      if (by == null || mayFail(by)) failingColumns.add(column.exprId());
    }
  }

  private void trackColumn(Attribute from, Attribute to) {
    if (from == null || hiddenColumns.contains(from.exprId())) hiddenColumns.add(to.exprId());
    if (from == null || failingColumns.contains(from.exprId())) failingColumns.add(to.exprId());
  }
}
