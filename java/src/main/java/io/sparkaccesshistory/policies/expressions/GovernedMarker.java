package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.NodeFunction;
import io.sparkaccesshistory.policies.model.Relations;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Marks what the subqueries of an expression read as governed already. */
public class GovernedMarker extends NodeFunction<Expression> {
  @Override
  public boolean isDefinedAt(Expression e) {
    return e instanceof SubqueryExpression;
  }

  @Override
  public Expression replaced(Expression e) {
    SubqueryExpression subquery = (SubqueryExpression) e;
    return subquery.withNewPlan(subquery.plan().transformUpWithSubqueries(new OfPlan()));
  }

  private static final class OfPlan extends NodeFunction<LogicalPlan> {
    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      return Relations.keyOf(plan) != null;
    }

    @Override
    public LogicalPlan replaced(LogicalPlan plan) {
      LogicalPlan read = plan.makeCopy(Relations.arguments(plan));
      read.setTagValue(Relations.GOVERNED, Boolean.TRUE);
      return read;
    }
  }
}
