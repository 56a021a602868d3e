package io.sparkaccesshistory.reading;

import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import scala.collection.immutable.Seq;

/** Plans of the first rows in an order, and the order by what lies below some columns. */
final class FirstRows {
  private FirstRows() {}

  /** The first rows of a plan. */
  static LogicalPlan of(Expression number, List<SortOrder> orders, LogicalPlan plan) {
    return limited(number, new Sort(Scala.seq(orders), true, plan, scala.Option.empty()));
  }

  /** Some rows of a plan. */
  static LogicalPlan limited(Expression number, LogicalPlan plan) {
    return new GlobalLimit(number, new LocalLimit(number, plan));
  }

  /** What each of some columns is below, of those that are there as they are. */
  static Map<ExprId, Attribute> passed(Seq<NamedExpression> named) {
    Map<ExprId, Attribute> found = new HashMap<>();
    for (NamedExpression column : Scala.list(named)) {
      Expression value = column instanceof Alias ? ((Alias) column).child() : (Expression) column;
      if (value instanceof Attribute) found.put(column.exprId(), (Attribute) value);
    }
    return found;
  }

  /** The order by the columns below; null where one of them is worked out above. */
  static List<SortOrder> renamed(List<SortOrder> orders, Map<ExprId, Attribute> columns) {
    List<SortOrder> found = new ArrayList<>();
    for (SortOrder order : orders) {
      if (!(order.child() instanceof Attribute)) return null;
      Attribute below = columns.get(((Attribute) order.child()).exprId());
      if (below == null) return null;
      found.add(
          new SortOrder(below, order.direction(), order.nullOrdering(), Scala.<Expression>none()));
    }
    return found;
  }
}
