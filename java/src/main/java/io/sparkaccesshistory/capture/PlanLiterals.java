package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.NodeFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Spark's rendering of a plan with a question mark in the place of each literal. */
public final class PlanLiterals extends NodeFunction<Expression> {
  private static final Literal HIDDEN = Literal$.MODULE$.apply("?");

  public String textWithout(LogicalPlan plan) {
    return plan.transformAllExpressionsWithSubqueries(this).toString();
  }

  @Override
  public boolean isDefinedAt(Expression expression) {
    return expression instanceof Literal;
  }

  @Override
  public Expression replaced(Expression literal) {
    return HIDDEN;
  }
}
