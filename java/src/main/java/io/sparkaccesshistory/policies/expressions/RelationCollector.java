package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.policies.model.Relations;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.SQLScalarFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Collects what a plan, or the subqueries of an expression, read. */
public class RelationCollector {
  public final List<String> keys = new ArrayList<>();
  public final List<LogicalPlan> plans = new ArrayList<>();

  /** The functions in SQL that an expression calls, outside of subqueries. */
  public final List<String> functions = new ArrayList<>();

  public boolean hasSubqueries = false;

  public static RelationCollector of(LogicalPlan plan) {
    RelationCollector found = new RelationCollector();
    plan.transformUpWithSubqueries(found.new OfPlan());
    return found;
  }

  public static RelationCollector of(Expression value) {
    RelationCollector found = new RelationCollector();
    value.transformUp(found.new OfExpression());
    return found;
  }

  private final class OfExpression extends NodeFunction<Expression> {
    @Override
    public boolean isDefinedAt(Expression e) {
      return e instanceof SubqueryExpression || e instanceof SQLScalarFunction;
    }

    @Override
    public Expression replaced(Expression e) {
      if (e instanceof SQLScalarFunction) {
        functions.add(((SQLScalarFunction) e).function().name().unquotedString());
      } else {
        hasSubqueries = true;
        ((SubqueryExpression) e).plan().transformUpWithSubqueries(new OfPlan());
      }
      return e;
    }
  }

  private final class OfPlan extends NodeFunction<LogicalPlan> {
    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      return Relations.keyOf(plan) != null;
    }

    @Override
    public LogicalPlan replaced(LogicalPlan plan) {
      keys.add(Relations.keyOf(plan));
      plans.add(plan);
      return plan;
    }
  }
}
