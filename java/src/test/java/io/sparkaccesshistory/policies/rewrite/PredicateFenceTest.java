package io.sparkaccesshistory.policies.rewrite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.sparkaccesshistory.NodeFunction;
import io.sparkaccesshistory.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestamp;
import org.apache.spark.sql.catalyst.expressions.Divide;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Option;

class PredicateFenceTest {
  private final AttributeReference hidden = column("h", DataTypes.IntegerType);
  private final AttributeReference shown = column("s", DataTypes.IntegerType);
  private final AttributeReference text = column("t", DataTypes.StringType);

  private static AttributeReference column(String name, DataType type) {
    return new AttributeReference(
        name, type, true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.none());
  }

  private final class Resolving extends NodeFunction<Expression> {
    @Override
    public boolean isDefinedAt(Expression e) {
      return e instanceof UnresolvedAttribute;
    }

    @Override
    public Expression replaced(Expression e) {
      for (AttributeReference one : List.of(hidden, shown, text))
        if (one.name().equals(((UnresolvedAttribute) e).name())) return one;
      throw new IllegalArgumentException(e.toString());
    }
  }

  private Expression parsed(String sql) throws ParseException {
    return CatalystSqlParser$.MODULE$.parseExpression(sql).transformUp(new Resolving());
  }

  private PredicateFence fence() {
    PredicateFence found = new PredicateFence(null);
    found.addHiddenColumns(List.of(hidden, text));
    return found;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "h = 1 | false",
        "h IS NULL OR h > 3 | false",
        "1 / h > 0 | true",
        "1 / s > 0 | false",
        "h + 1 > 0 | true",
        "s + 1 > 0 | false",
        "h IN (1, 2) | false",
        "CAST(h AS BIGINT) = 1 | false",
        "CAST(t AS INT) = 1 | true",
        "t LIKE 'a%' | false",
        "t LIKE t | true",
        "h = 1 AND 1 / s > 0 | true",
        "s = 1 AND 1 / s > 0 | false",
        "NOT (h <=> 1) | false"
      })
  void tellsWhatMayFailOnHiddenRows(String sql, boolean mayFail) throws ParseException {
    assertEquals(mayFail, fence().mayFail(parsed(sql)), sql);
  }

  /**
   * The time is known when the statement runs: whether its text is a number is left to the rows.
   */
  @Test
  void whatIsNotKnownYetIsNotWorkedOut() throws ParseException {
    Expression time = new Cast(new CurrentTimestamp(), DataTypes.IntegerType, Option.empty());
    Expression value =
        new If(
            parsed("h = 1"),
            new Divide(Literal.create(1, DataTypes.IntegerType), time),
            Literal.create(0, DataTypes.IntegerType));
    assertEquals(true, fence().mayFail(value));
  }

  @Test
  void aConditionThatCannotFailIsTheSameObject() throws ParseException {
    Expression condition = parsed("h = 1 AND s = 2");
    assertSame(condition, fence().fenceCondition(condition));
  }

  @Test
  void withoutHiddenColumnsNothingMayFail() throws ParseException {
    assertEquals(false, new PredicateFence(null).mayFail(parsed("1 / h > 0")));
  }
}
