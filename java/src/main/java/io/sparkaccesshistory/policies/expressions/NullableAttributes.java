package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.NodeFunction;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** Makes references to columns nullable that may be null now. */
public class NullableAttributes extends NodeFunction<Expression> {
  private final Set<ExprId> nullable;

  public NullableAttributes(Set<ExprId> nullable) {
    this.nullable = nullable;
  }

  @Override
  public boolean isDefinedAt(Expression e) {
    return e instanceof AttributeReference
        && !((AttributeReference) e).nullable()
        && nullable.contains(((AttributeReference) e).exprId());
  }

  @Override
  public Expression replaced(Expression e) {
    return ((AttributeReference) e).withNullability(true);
  }
}
