package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.NodeFunction;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Identity;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.CurrentUser;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** Puts the answers about somebody in the place of the context functions. */
public class ContextAnswers extends NodeFunction<Expression> {
  private final Identity who;

  public ContextAnswers(Identity who) {
    this.who = who;
  }

  @Override
  public boolean isDefinedAt(Expression e) {
    return e instanceof CurrentUser
        || (e instanceof ScalaUDF && ContextFunctions.calledBy((ScalaUDF) e) != null);
  }

  @Override
  public Expression replaced(Expression e) {
    if (e instanceof CurrentUser) return new Literal(UTF8String.fromString(who.user), e.dataType());
    ScalaUDF call = (ScalaUDF) e;
    String function = ContextFunctions.calledBy(call);
    if (ContextFunctions.isValue(function))
      return new Literal(ContextFunctions.answer(function, who), call.dataType());
    Literal held =
        new Literal(
            new GenericArrayData(who.roles.toArray()), new ArrayType(DataTypes.StringType, false));
    return new ArrayContains(held, new Upper(Scala.list(call.children()).get(0)));
  }
}
