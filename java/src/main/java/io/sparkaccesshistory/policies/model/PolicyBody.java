package io.sparkaccesshistory.policies.model;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * What a body is over its columns, as Spark has resolved it, or as it answers somebody: then it is
 * `of` the former.
 */
public class PolicyBody {
  public final Expression value;
  public final List<AttributeReference> columns;
  public final PolicyBody of;
  private Boolean isFirst;

  public PolicyBody(Expression value, List<AttributeReference> columns, PolicyBody of) {
    this.value = value;
    this.columns = columns;
    this.of = of;
  }

  /** Whether it gives its first column as it is. */
  public boolean isFirst() {
    if (isFirst == null) isFirst = value.semanticEquals(columns.get(0));
    return isFirst;
  }
}
