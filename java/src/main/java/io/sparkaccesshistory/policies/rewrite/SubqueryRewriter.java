package io.sparkaccesshistory.policies.rewrite;

import io.sparkaccesshistory.NodeFunction;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Puts what the subqueries of an expression read behind its policies. */
public class SubqueryRewriter extends NodeFunction<Expression> {
  private final UnaryOperator<LogicalPlan> walk;

  /** `walk` puts what a subquery reads behind its policies. */
  public SubqueryRewriter(UnaryOperator<LogicalPlan> walk) {
    this.walk = walk;
  }

  @Override
  public boolean isDefinedAt(Expression e) {
    return e instanceof SubqueryExpression;
  }

  @Override
  public Expression replaced(Expression e) {
    LogicalPlan plan = ((SubqueryExpression) e).plan();
    LogicalPlan found = walk.apply(plan);
    return found == plan ? e : ((SubqueryExpression) e).withNewPlan(found);
  }
}
