import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.SQLScalarFunction;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** Gives columns other ids, or other expressions. Inside subqueries everything that is not from outside gets ids of
 *  its own where `fresh` is given. */
class Renaming extends AbstractPartialFunction {
  final Map ids, given;
  final Identity who;

  Renaming(Map ids, Map given, Identity who) {
    this.ids = ids;
    this.given = given;
    this.who = who;
  }

  public boolean isDefinedAt(Object e) {
    return e instanceof AttributeReference || e instanceof OuterReference || e instanceof SubqueryExpression
        || (ids != null && e instanceof Alias && ids.containsKey(((Alias) e).exprId()));
  }

  public Object applyOrElse(Object e, scala.Function1 otherwise) {
    if (!isDefinedAt(e)) return otherwise.apply(e);
    if (e instanceof Alias) return ((Alias) e).withExprId((ExprId) ids.get(((Alias) e).exprId()));
    if (e instanceof AttributeReference) return of((AttributeReference) e);
    if (e instanceof OuterReference) {
      NamedExpression outer = ((OuterReference) e).e();
      Object found = outer instanceof AttributeReference ? of((AttributeReference) outer) : outer;
      if (!(found instanceof NamedExpression))
        throw new SecurityException("a policy that reads other tables asks for column " + outer.name()
            + " as another type than the column's");
      return found == outer ? e : new OuterReference((NamedExpression) found);
    }
    SubqueryExpression subquery = (SubqueryExpression) e;
    LogicalPlan plan = (LogicalPlan) subquery.plan();
    if (who != null) return subquery.withNewPlan((LogicalPlan) plan.transformAllExpressionsWithSubqueries(new Answering(who)));
    if (given == null) return e; // a walk over a plan comes by here itself
    LogicalPlan own = (LogicalPlan) plan.transformAllExpressionsWithSubqueries(new Freshening(given));
    return subquery.withNewPlan((LogicalPlan) own.transformAllExpressionsWithSubqueries(new Renaming(null, given, null)));
  }

  /** A value with its attributes given: `transformUp` does nothing else where no subquery is, and takes longer. */
  static Expression given(Expression value, Map given) {
    if (value.containsPattern(TreePattern.PLAN_EXPRESSION())) return (Expression) value.transformUp(new Renaming(null, given, null));
    if (value instanceof AttributeReference) {
      Object found = given.get(((AttributeReference) value).exprId());
      return found == null ? value : (Expression) found;
    }
    List children = CollectionConverters.asJava(value.children()), now = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < children.size(); i++) {
      Expression child = given((Expression) children.get(i), given);
      changed |= child != children.get(i);
      now.add(child);
    }
    return changed ? (Expression) value.withNewChildren(Relations.seq(now)) : value;
  }

  private Object of(AttributeReference column) {
    if (given != null) return given.containsKey(column.exprId()) ? given.get(column.exprId()) : column;
    ExprId id = ids == null ? null : (ExprId) ids.get(column.exprId());
    return id == null ? column : column.withExprId(id);
  }
}

/** Everything that a subquery names for itself gets ids of this use; what comes from `outside` keeps its own. */
class Freshening extends AbstractPartialFunction {
  final Map outside;
  final Map ids = new HashMap();

  Freshening(Map outside) { this.outside = outside; }

  public boolean isDefinedAt(Object e) {
    return e instanceof AttributeReference || e instanceof Alias || e instanceof OuterReference;
  }

  public Object applyOrElse(Object e, scala.Function1 otherwise) {
    if (!isDefinedAt(e)) return otherwise.apply(e);
    if (e instanceof Alias) return ((Alias) e).withExprId(id(((Alias) e).exprId()));
    if (e instanceof AttributeReference) return of((AttributeReference) e);
    NamedExpression outer = ((OuterReference) e).e();
    if (!(outer instanceof AttributeReference)) return e;
    return new OuterReference((NamedExpression) of((AttributeReference) outer));
  }

  private Attribute of(AttributeReference column) {
    return outside.containsKey(column.exprId()) ? column : column.withExprId(id(column.exprId()));
  }

  private ExprId id(ExprId old) {
    ExprId found = (ExprId) ids.get(old);
    if (found == null) {
      found = NamedExpression$.MODULE$.newExprId();
      ids.put(old, found);
    }
    return found;
  }
}

/** Marks what the subqueries of an expression read as governed already. */
class Freeing extends AbstractPartialFunction {
  public boolean isDefinedAt(Object e) { return e instanceof SubqueryExpression || e instanceof LogicalPlan; }

  public Object applyOrElse(Object e, scala.Function1 otherwise) {
    if (e instanceof SubqueryExpression) {
      LogicalPlan plan = (LogicalPlan) ((SubqueryExpression) e).plan();
      return ((SubqueryExpression) e).withNewPlan((LogicalPlan) plan.transformUpWithSubqueries(this));
    }
    if (!(e instanceof LogicalPlan) || Relations.keyOf((LogicalPlan) e) == null) return otherwise.apply(e);
    LogicalPlan read = (LogicalPlan) ((LogicalPlan) e).makeCopy(Relations.arguments((LogicalPlan) e));
    read.setTagValue(Walk.GOVERNED, Boolean.TRUE);
    return read;
  }
}

/** Collects what the subqueries of an expression read. */
class Keys extends AbstractPartialFunction {
  final List keys = new ArrayList();
  final List plans = new ArrayList();
  /** The functions in SQL that it calls, outside of subqueries. */
  final List functions = new ArrayList();
  boolean asks = false;

  public boolean isDefinedAt(Object e) {
    return e instanceof SubqueryExpression || e instanceof LogicalPlan || e instanceof SQLScalarFunction;
  }

  public Object applyOrElse(Object e, scala.Function1 otherwise) {
    if (e instanceof SQLScalarFunction) functions.add(((SQLScalarFunction) e).function().name().unquotedString());
    else if (e instanceof SubqueryExpression) {
      asks = true;
      ((LogicalPlan) ((SubqueryExpression) e).plan()).transformUpWithSubqueries(this);
    }
    else if (e instanceof LogicalPlan && Relations.keyOf((LogicalPlan) e) != null) {
      keys.add(Relations.keyOf((LogicalPlan) e));
      plans.add(e);
    }
    return otherwise.apply(e);
  }
}

class Nulls extends AbstractPartialFunction {
  final Map known;

  Nulls(Map known) { this.known = known; }

  public boolean isDefinedAt(Object e) {
    return e instanceof AttributeReference && !((AttributeReference) e).nullable()
        && known.containsKey(((AttributeReference) e).exprId());
  }

  public Object applyOrElse(Object e, scala.Function1 otherwise) {
    return isDefinedAt(e) ? ((AttributeReference) e).withNullability(true) : otherwise.apply(e);
  }
}

/** Goes on inside the subqueries of an expression. */
class Inside extends AbstractPartialFunction {
  final Walk walk;

  Inside(Walk walk) { this.walk = walk; }

  public boolean isDefinedAt(Object e) { return e instanceof SubqueryExpression; }

  public Object applyOrElse(Object e, scala.Function1 otherwise) {
    if (!isDefinedAt(e)) return otherwise.apply(e);
    LogicalPlan plan = (LogicalPlan) ((SubqueryExpression) e).plan();
    LogicalPlan found = walk.inside(plan);
    return found == plan ? e : ((SubqueryExpression) e).withNewPlan(found);
  }
}

/** Puts nothing in the place of what Spark fills in later: the time, the user. */
class Blanks extends AbstractPartialFunction {
  public boolean isDefinedAt(Object e) { return e instanceof Unevaluable && ((Expression) e).foldable(); }

  public Object applyOrElse(Object e, scala.Function1 otherwise) {
    return isDefinedAt(e) ? new Literal(null, ((Expression) e).dataType()) : otherwise.apply(e);
  }
}
