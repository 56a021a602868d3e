package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.NodeFunction;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Identity;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;

/**
 * Gives columns other ids, or other expressions, or answers the context functions in subqueries:
 * one of the three.
 */
public class AttributeReplacement extends NodeFunction<Expression> {
  private final Map<ExprId, ExprId> ids;
  private final Map<ExprId, Expression> given;
  private final Identity who;

  private AttributeReplacement(
      Map<ExprId, ExprId> ids, Map<ExprId, Expression> given, Identity who) {
    this.ids = ids;
    this.given = given;
    this.who = who;
  }

  /** Other ids for columns. Spark's own walk over a plan visits its subqueries. */
  public static AttributeReplacement byId(Map<ExprId, ExprId> ids) {
    return new AttributeReplacement(ids, null, null);
  }

  /**
   * Other expressions for columns, in subqueries as well, where all that they name themselves gets
   * new ids.
   */
  public static AttributeReplacement byExpression(Map<ExprId, Expression> given) {
    return new AttributeReplacement(null, given, null);
  }

  /** In subqueries the answers for somebody, in the place of the context functions. */
  public static AttributeReplacement answering(Identity who) {
    return new AttributeReplacement(null, null, who);
  }

  @Override
  public boolean isDefinedAt(Expression e) {
    return e instanceof AttributeReference
        || e instanceof OuterReference
        || e instanceof SubqueryExpression
        || (ids != null && e instanceof Alias && ids.containsKey(((Alias) e).exprId()));
  }

  @Override
  public Expression replaced(Expression e) {
    if (e instanceof Alias) return ((Alias) e).withExprId(ids.get(((Alias) e).exprId()));
    if (e instanceof AttributeReference) return of((AttributeReference) e);
    if (e instanceof OuterReference) {
      NamedExpression outer = ((OuterReference) e).e();
      if (!(outer instanceof AttributeReference)) return e;
      Expression found = of((AttributeReference) outer);
      if (!(found instanceof NamedExpression))
        throw new SecurityException(
            "a policy that reads other tables asks for column "
                + outer.name()
                + " as another type than the column's");
      return found == outer ? e : new OuterReference((NamedExpression) found);
    }
    SubqueryExpression subquery = (SubqueryExpression) e;
    LogicalPlan plan = subquery.plan();
    if (who != null)
      return subquery.withNewPlan(
          plan.transformAllExpressionsWithSubqueries(new ContextAnswers(who)));
    if (given == null) return e;
    LogicalPlan own =
        plan.transformAllExpressionsWithSubqueries(new FreshAttributeIds(given.keySet()));
    return subquery.withNewPlan(own.transformAllExpressionsWithSubqueries(byExpression(given)));
  }

  /** A value with its attributes given. Without a subquery this is `transformUp`, only quicker. */
  public static Expression given(Expression value, Map<ExprId, Expression> given) {
    if (value.containsPattern(TreePattern.PLAN_EXPRESSION()))
      return value.transformUp(byExpression(given));
    if (value instanceof AttributeReference)
      return given.getOrDefault(((AttributeReference) value).exprId(), value);
    List<Expression> now = new ArrayList<>();
    boolean changed = false;
    for (Expression child : Scala.list(value.children())) {
      now.add(given(child, given));
      changed |= now.get(now.size() - 1) != child;
    }
    return changed ? value.withNewChildren(Scala.seq(now)) : value;
  }

  private Expression of(AttributeReference column) {
    if (given != null) return given.getOrDefault(column.exprId(), column);
    ExprId id = ids == null ? null : ids.get(column.exprId());
    return id == null ? column : column.withExprId(id);
  }
}
