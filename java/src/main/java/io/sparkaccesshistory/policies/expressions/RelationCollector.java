package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.NodeFunction;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Relations;
import io.sparkaccesshistory.policies.model.Securable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.SQLFunctionNode;
import org.apache.spark.sql.catalyst.analysis.SQLScalarFunction;
import org.apache.spark.sql.catalyst.catalog.SQLFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Collects what a plan, or the subqueries of an expression, read. */
public class RelationCollector {
  public final List<String> keys = new ArrayList<>();
  public final List<LogicalPlan> plans = new ArrayList<>();

  /** The functions in SQL that an expression calls, outside of subqueries. */
  public final List<String> functions = new ArrayList<>();

  /** The keys of all of them, those in subqueries and in functions of tables as well. */
  public final List<String> functionKeys = new ArrayList<>();

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
        add(((SQLScalarFunction) e).function());
      } else {
        hasSubqueries = true;
        ((SubqueryExpression) e).plan().transformUpWithSubqueries(new OfPlan());
      }
      return e;
    }
  }

  private void add(SQLFunction function) {
    if (function.name().database().isDefined())
      functionKeys.add(Securable.function(function.name()).key);
  }

  private void addFunctions(Expression value) {
    if (value instanceof SQLScalarFunction) add(((SQLScalarFunction) value).function());
    for (Expression one : Scala.list(value.children())) addFunctions(one);
  }

  private final class OfPlan extends NodeFunction<LogicalPlan> {
    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      return true;
    }

    @Override
    public LogicalPlan replaced(LogicalPlan plan) {
      if (plan instanceof SQLFunctionNode) add(((SQLFunctionNode) plan).function());
      for (Expression one : Scala.list(plan.expressions())) addFunctions(one);
      String key = Relations.keyOf(plan);
      if (key != null) {
        keys.add(key);
        plans.add(plan);
      }
      return plan;
    }
  }
}
