package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.NodeFunction;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.OuterReference;

/**
 * Gives all that a subquery names itself new ids, for one use of it; what comes from `outside`
 * keeps its own.
 */
public class FreshAttributeIds extends NodeFunction<Expression> {
  private final Set<ExprId> outside;
  private final Map<ExprId, ExprId> ids = new HashMap<>();

  public FreshAttributeIds(Set<ExprId> outside) {
    this.outside = outside;
  }

  @Override
  public boolean isDefinedAt(Expression e) {
    return e instanceof AttributeReference || e instanceof Alias || e instanceof OuterReference;
  }

  @Override
  public Expression replaced(Expression e) {
    if (e instanceof Alias) return ((Alias) e).withExprId(id(((Alias) e).exprId()));
    if (e instanceof AttributeReference) return of((AttributeReference) e);
    NamedExpression outer = ((OuterReference) e).e();
    return outer instanceof AttributeReference
        ? new OuterReference(of((AttributeReference) outer))
        : e;
  }

  private Attribute of(AttributeReference column) {
    return outside.contains(column.exprId()) ? column : column.withExprId(id(column.exprId()));
  }

  private ExprId id(ExprId old) {
    return ids.computeIfAbsent(old, any -> NamedExpression$.MODULE$.newExprId());
  }
}
