package io.sparkaccesshistory.policies.expressions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Identity;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CurrentUser;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;
import scala.Option;

class AttributeReplacementTest {
  private static final Identity ANN =
      new Identity(new Identity.Claim("ann", null, "acc", List.of("USER ann"), List.of()));

  private final AttributeReference a = column("a"), b = column("b");

  private static AttributeReference column(String name) {
    return new AttributeReference(
        name,
        DataTypes.StringType,
        true,
        Metadata.empty(),
        NamedExpression$.MODULE$.newExprId(),
        Scala.none());
  }

  @Test
  void aColumnBecomesTheGivenExpression() {
    Expression value = new GreaterThan(a, b);
    Expression upper = new Upper(b);
    assertEquals(
        new GreaterThan(upper, b), AttributeReplacement.given(value, Map.of(a.exprId(), upper)));
  }

  @Test
  void anExpressionWithoutTheColumnIsTheSameObject() {
    Expression value = new Upper(b);
    assertSame(value, AttributeReplacement.given(value, Map.of(a.exprId(), b)));
  }

  @Test
  void anOuterReferenceStaysOne() {
    Expression outer = new OuterReference(a);
    Expression found = outer.transformUp(AttributeReplacement.byExpression(Map.of(a.exprId(), b)));
    assertEquals(b.exprId(), ((AttributeReference) ((OuterReference) found).e()).exprId());
  }

  @Test
  void anOuterReferenceToWhatIsNoColumnIsRefused() {
    var replacement = AttributeReplacement.byExpression(Map.of(a.exprId(), new Upper(b)));
    Exception refused =
        assertThrows(SecurityException.class, () -> new OuterReference(a).transformUp(replacement));
    assertTrue(refused.getMessage().contains("asks for column a"), refused.getMessage());
  }

  @Test
  void idsAreReplacedInAliasesToo() {
    var fresh = NamedExpression$.MODULE$.newExprId();
    Alias alias = new Alias(b, "x", a.exprId(), Scala.none(), Option.empty(), Scala.none());
    Expression found = alias.transformUp(AttributeReplacement.byId(Map.of(a.exprId(), fresh)));
    assertEquals(fresh, ((Alias) found).exprId());
  }

  @Test
  void eachUseOfASubqueryHasIdsOfItsOwn() {
    var names = new FreshAttributeIds(Set.of(a.exprId()));
    assertSame(a, names.replaced(a));
    Attribute first = (Attribute) names.replaced(b);
    assertNotEquals(b.exprId(), first.exprId());
    assertEquals(first.exprId(), ((Attribute) names.replaced(b)).exprId());
    assertNotEquals(
        first.exprId(), ((Attribute) new FreshAttributeIds(Set.of()).replaced(b)).exprId());
  }

  @Test
  void whatMayBeNullNowIsNullable() {
    AttributeReference required = a.withNullability(false);
    assertTrue(
        ((Attribute) required.transformUp(new NullableAttributes(Set.of(a.exprId())))).nullable());
    assertSame(required, required.transformUp(new NullableAttributes(Set.of(b.exprId()))));
  }

  @Test
  void currentUserIsWhoeverAsks() {
    Expression answered = new CurrentUser().transformUp(new ContextAnswers(ANN));
    assertEquals("ann", ((Literal) answered).value().toString());
  }
}
