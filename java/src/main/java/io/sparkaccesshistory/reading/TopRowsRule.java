package io.sparkaccesshistory.reading;

import io.sparkaccesshistory.NodeFunction;
import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.optimizer.CollapseProject$;
import org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * Chooses the rows of `ORDER BY … LIMIT n` over audit tables before their columns are worked out.
 *
 * <p>A view of a million rows with forty columns is asked for its newest thousand. Spark works all
 * columns of all rows out and sorts those. With this rule it sorts what lies below the columns, in
 * each part of a UNION ALL and on the left of a LEFT JOIN, and works the columns out for the rows
 * that stay. The answer is the same: columns are worked out row by row, a row of a UNION ALL comes
 * from one of its parts, and each row on the left of a LEFT JOIN stays at least once.
 *
 * <p>It looks at plans over tables alone that are partitioned as those of the audit are: other
 * statements are as before.
 */
public final class TopRowsRule extends Rule<LogicalPlan> {
  /** The columns that audit tables are partitioned by. */
  private static final Set<String> PARTITIONS = Set.of("query_date", "as_of");

  /** More rows than these Spark sorts by another way, which keeps no rows in memory. */
  private static final int MOST = 10_000;

  /** Gives the rule to all sessions that are built with these extensions. */
  public static void inject(SparkSessionExtensions extensions) {
    extensions.injectPreCBORule(new Builder());
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.containsPattern(TreePattern.LIMIT()) ? plan.transformUp(new TopRows()) : plan;
  }

  /** `GlobalLimit(LocalLimit(Sort(…)))`, which Spark plans as one operator. */
  private static final class TopRows extends NodeFunction<LogicalPlan> {
    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      Sort sort = sortOf(plan);
      return sort != null && readsAuditTables(sort.child());
    }

    @Override
    public LogicalPlan replaced(LogicalPlan plan) {
      Sort sort = sortOf(plan);
      // Else Spark finds later that a part has no rows, and sorts what is left of a UNION ALL
      // twice.
      LogicalPlan child = PropagateEmptyRelation$.MODULE$.apply(sort.child());
      return pushed(((GlobalLimit) plan).limitExpr(), orders(sort), child);
    }
  }

  /** The sort of a plan that is the first rows of one; null for others. */
  private static Sort sortOf(LogicalPlan plan) {
    if (!(plan instanceof GlobalLimit)) return null;
    GlobalLimit limit = (GlobalLimit) plan;
    if (!(limit.limitExpr() instanceof Literal) || !(limit.child() instanceof LocalLimit))
      return null;
    Object number = ((Literal) limit.limitExpr()).value();
    LogicalPlan sorted = ((LocalLimit) limit.child()).child();
    boolean isTop =
        number instanceof Integer
            && (Integer) number <= MOST
            && sorted instanceof Sort
            && ((Sort) sorted).global();
    return isTop ? (Sort) sorted : null;
  }

  private static boolean readsAuditTables(LogicalPlan plan) {
    boolean found = false;
    for (LogicalPlan leaf : Scala.list(plan.collectLeaves())) {
      if (leaf instanceof LocalRelation) continue;
      if (!(leaf instanceof LogicalRelation)) return false;
      Object relation = ((LogicalRelation) leaf).relation();
      if (!(relation instanceof HadoopFsRelation)) return false;
      String[] columns = ((HadoopFsRelation) relation).partitionSchema().fieldNames();
      if (columns.length != 1 || !PARTITIONS.contains(columns[0])) return false;
      found = true;
    }
    return found;
  }

  /** The first rows of a plan, chosen as far below as can be. */
  private static LogicalPlan pushed(Expression number, List<SortOrder> orders, LogicalPlan plan) {
    if (plan instanceof Project) return ofColumns(number, orders, (Project) plan);
    if (plan instanceof Aggregate && isDistinct((Aggregate) plan))
      return ofColumns(number, orders, overDistinct((Aggregate) plan));
    if (plan instanceof Union) return first(number, orders, ofParts(number, orders, (Union) plan));
    if (plan instanceof Join) return first(number, orders, ofLeft(number, orders, (Join) plan));
    return first(number, orders, plan);
  }

  private static LogicalPlan ofColumns(Expression number, List<SortOrder> orders, Project project) {
    List<SortOrder> below = FirstRows.renamed(orders, FirstRows.passed(project.projectList()));
    LogicalPlan child = project.child();
    boolean isLast = isChoice(project) && !isGrown(child);
    if (below == null || !project.deterministic() || isLast) return first(number, orders, project);
    LogicalPlan top =
        isGrown(child) ? pushed(number, below, child) : first(number, below, needed(project));
    LogicalPlan inner = ((LocalLimit) ((GlobalLimit) top).child()).child();
    LogicalPlan columns = project.withNewChildren(Scala.seq(List.of(inner)));
    // Limit, columns, sort: these three Spark plans as one operator.
    return FirstRows.limited(number, CollapseProject$.MODULE$.apply(columns, true));
  }

  /** Whether there is more to do below columns. */
  private static boolean isGrown(LogicalPlan child) {
    return child instanceof Project || child instanceof Union || child instanceof Join;
  }

  /** Whether columns are those below, as they are. */
  private static boolean isChoice(Project project) {
    for (NamedExpression column : Scala.list(project.projectList()))
      if (!(column instanceof Attribute)) return false;
    return true;
  }

  /** What lies below columns, without what these do not need. */
  private static LogicalPlan needed(Project project) {
    LogicalPlan child = project.child();
    List<Attribute> below = Scala.list(child.output());
    List<NamedExpression> found = new ArrayList<>();
    for (Attribute column : below) if (project.references().contains(column)) found.add(column);
    return found.size() == below.size() ? child : new Project(Scala.seq(found), child);
  }

  /** Whether a plan is a DISTINCT, with columns that are worked out of its own. */
  private static boolean isDistinct(Aggregate plan) {
    for (Expression key : Scala.list(plan.groupingExpressions()))
      if (!(key instanceof Attribute)) return false;
    for (NamedExpression column : Scala.list(plan.aggregateExpressions()))
      if (((Expression) column).exists(e -> e instanceof AggregateExpression)) return false;
    return true;
  }

  /** The columns of a DISTINCT over what it keeps apart. */
  @SuppressWarnings("unchecked") // of attributes alone
  private static Project overDistinct(Aggregate plan) {
    Seq<NamedExpression> keys = (Seq<NamedExpression>) (Seq<?>) plan.groupingExpressions();
    return new Project(
        plan.aggregateExpressions(),
        new Aggregate(plan.groupingExpressions(), keys, plan.child(), plan.hint()));
  }

  private static LogicalPlan ofParts(Expression number, List<SortOrder> orders, Union union) {
    List<LogicalPlan> parts = new ArrayList<>();
    List<Attribute> output = Scala.list(union.output());
    for (LogicalPlan part : Scala.list(union.children())) {
      Map<ExprId, Attribute> columns = new HashMap<>();
      List<Attribute> own = Scala.list(part.output());
      for (int i = 0; i < own.size(); i++) columns.put(output.get(i).exprId(), own.get(i));
      List<SortOrder> below = FirstRows.renamed(orders, columns);
      if (below == null) return union;
      parts.add(pushed(number, below, part));
    }
    return union.withNewChildren(Scala.seq(parts));
  }

  private static LogicalPlan ofLeft(Expression number, List<SortOrder> orders, Join join) {
    if (join.joinType() != LeftOuter$.MODULE$) return join;
    Map<ExprId, Attribute> columns = new HashMap<>();
    for (Attribute column : Scala.list(join.left().output())) columns.put(column.exprId(), column);
    List<SortOrder> below = FirstRows.renamed(orders, columns);
    if (below == null) return join;
    return join.withNewChildren(
        Scala.seq(List.of(pushed(number, below, join.left()), join.right())));
  }

  /** The first rows of a plan, without a look below it. */
  private static LogicalPlan first(Expression number, List<SortOrder> orders, LogicalPlan plan) {
    return FirstRows.of(number, orders, TopBound.of(number, orders.get(0), plan));
  }

  private static List<SortOrder> orders(Sort sort) {
    return Scala.list(sort.order());
  }

  /** Makes the rule of a session that is being built. */
  private static final class Builder
      extends AbstractFunction1<org.apache.spark.sql.SparkSession, Rule<LogicalPlan>> {
    @Override
    public Rule<LogicalPlan> apply(org.apache.spark.sql.SparkSession session) {
      return new TopRowsRule();
    }
  }
}
