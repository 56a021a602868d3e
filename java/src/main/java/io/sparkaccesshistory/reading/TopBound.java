package io.sparkaccesshistory.reading;

import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.optimizer.ColumnPruning$;
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/**
 * The bound on a time that the first rows of an order have: Spark then leaves the other rows where
 * they are.
 *
 * <p>Lists of objects are dear: Spark copies those of each row before it looks at the row's time.
 * The times alone are asked for first, without the lists, and say from when on rows are wanted. Of
 * groups by a time, by lists and by other columns there are at least as many as by the time and the
 * other columns.
 */
final class TopBound {
  private TopBound() {}

  /** A plan, of which only rows come that may be among the first ones. */
  static LogicalPlan of(Expression number, SortOrder order, LogicalPlan plan) {
    Expression key = order.child();
    if (!(key instanceof Attribute) || !key.dataType().equals(DataTypes.TimestampType)) return plan;
    if (plan instanceof Aggregate) return ofGroups(number, order, (Aggregate) plan);
    List<Attribute> columns = Scala.list(plan.output());
    if (!isScan(plan) || narrow(columns).size() == columns.size()) return plan;
    return bounded(order, plan, FirstRows.of(number, List.of(order), times(order, plan)));
  }

  private static LogicalPlan ofGroups(Expression number, SortOrder order, Aggregate plan) {
    List<Attribute> keys = new ArrayList<>();
    for (Expression key : Scala.list(plan.groupingExpressions()))
      if (key instanceof Attribute) keys.add((Attribute) key);
      else return plan;
    List<Attribute> narrow = narrow(keys);
    List<SortOrder> below =
        FirstRows.renamed(List.of(order), FirstRows.passed(plan.aggregateExpressions()));
    if (narrow.size() == keys.size() || below == null) return plan;
    LogicalPlan groups =
        new Aggregate(
            Scala.seq(List.<Expression>copyOf(narrow)),
            Scala.seq(List.<NamedExpression>copyOf(narrow)),
            plan.child(),
            scala.Option.empty());
    LogicalPlan first = FirstRows.of(number, below, groups);
    LogicalPlan rows = bounded(below.get(0), plan.child(), first);
    return plan.withNewChildren(Scala.seq(List.of(rows)));
  }

  private static LogicalPlan times(SortOrder order, LogicalPlan plan) {
    return new Project(Scala.seq(List.of((NamedExpression) order.child())), plan);
  }

  /** The rows of a plan up to the last one of the first times. Rows without a time stay. */
  private static LogicalPlan bounded(SortOrder order, LogicalPlan plan, LogicalPlan firstTimes) {
    Expression time = order.child();
    boolean isAscending = order.direction() == Ascending$.MODULE$;
    AggregateFunction last = isAscending ? new Max(time) : new Min(time);
    NamedExpression named =
        new Alias(
            last.toAggregateExpression(),
            "bound",
            NamedExpression$.MODULE$.newExprId(),
            Scala.none(),
            scala.Option.empty(),
            Scala.none());
    LogicalPlan found =
        new Aggregate(Scala.none(), Scala.seq(List.of(named)), firstTimes, scala.Option.empty());
    Expression bound =
        new ScalarSubquery(
            ColumnPruning$.MODULE$.apply(found),
            Scala.none(),
            NamedExpression$.MODULE$.newExprId(),
            Scala.none(),
            scala.Option.empty(),
            scala.Option.empty(),
            scala.Option.empty());
    Expression isWithin =
        isAscending ? new LessThanOrEqual(time, bound) : new GreaterThanOrEqual(time, bound);
    boolean isThere = !time.nullable() || plan.constraints().contains(new IsNotNull(time));
    // Without the OR Spark leaves out whole groups of rows of a file.
    Expression kept = isThere ? isWithin : new Or(new IsNull(time), isWithin);
    return PushDownPredicates$.MODULE$.apply(new Filter(kept, plan));
  }

  /** Whether a plan is rows of one table. */
  private static boolean isScan(LogicalPlan plan) {
    boolean isRow = plan instanceof Filter || plan instanceof Project;
    return isRow ? isScan(Scala.list(plan.children()).get(0)) : plan instanceof LogicalRelation;
  }

  /** The columns that are neither lists nor structs nor maps. */
  private static List<Attribute> narrow(List<Attribute> columns) {
    List<Attribute> found = new ArrayList<>();
    for (Attribute column : columns) {
      DataType type = column.dataType();
      if (!(type instanceof ArrayType || type instanceof StructType || type instanceof MapType))
        found.add(column);
    }
    return found;
  }
}
