package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.Scala;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.ExpressionWithUnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;

/** Tells whether an expression may read a table or view, before it is resolved. */
public final class LookUpFinder {
  private LookUpFinder() {}

  /** Whether it has a subquery, or calls what may be a function in SQL, whose body may have one. */
  public static boolean finds(Expression value) {
    if (value instanceof PlanExpression || value instanceof ExpressionWithUnresolvedIdentifier)
      return true;
    if (value instanceof UnresolvedFunction && !isBuiltIn((UnresolvedFunction) value)) return true;
    for (Expression child : Scala.list(value.children())) if (finds(child)) return true;
    return false;
  }

  static boolean isBuiltIn(UnresolvedFunction call) {
    var parts = Scala.list(call.nameParts());
    // Without a schema, a built-in function comes before one of the catalog (Spark 4.2).
    return parts.size() == 1
        && FunctionRegistry$.MODULE$.builtin().functionExists(new FunctionIdentifier(parts.get(0)));
  }
}
