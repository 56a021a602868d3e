package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Relations;
import io.sparkaccesshistory.policies.model.Securable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.CatalogManager$;
import scala.Option;

/**
 * The names of the tables, views and functions in the text of an expression, before they are
 * resolved.
 */
public final class NamesRead {
  private final List<String> keys = new ArrayList<>();
  private final String schema;

  private NamesRead(String schema) {
    this.schema = schema;
  }

  /** Their keys; a name without a schema is one of `schema`. */
  public static List<String> of(Expression value, String schema) {
    NamesRead found = new NamesRead(schema);
    found.collect(value);
    return found.keys;
  }

  private void collect(Expression value) {
    if (value instanceof PlanExpression
        && ((PlanExpression<?>) value).plan() instanceof LogicalPlan)
      collect((LogicalPlan) ((PlanExpression<?>) value).plan());
    if (value instanceof UnresolvedFunction && !LookUpFinder.isBuiltIn((UnresolvedFunction) value))
      keys.add(functionKey(Scala.list(((UnresolvedFunction) value).nameParts())));
    for (Expression one : Scala.list(value.children())) collect(one);
  }

  private void collect(LogicalPlan plan) {
    if (plan instanceof UnresolvedRelation)
      keys.add(
          Relations.keyOf(named(Scala.list(((UnresolvedRelation) plan).multipartIdentifier()))));
    if (plan instanceof UnresolvedTableValuedFunction)
      keys.add(functionKey(Scala.list(((UnresolvedTableValuedFunction) plan).name())));
    for (Expression one : Scala.list(plan.expressions())) collect(one);
    for (LogicalPlan one : Scala.list(plan.children())) collect(one);
    for (var one : Scala.list(plan.innerChildren()))
      if (one instanceof LogicalPlan) collect((LogicalPlan) one);
  }

  private TableIdentifier named(List<String> parts) {
    int size = parts.size();
    String catalog =
        size > 2 ? parts.get(size - 3) : CatalogManager$.MODULE$.SESSION_CATALOG_NAME();
    String in = size > 1 ? parts.get(size - 2) : schema;
    return TableIdentifier.apply(parts.get(size - 1), Option.apply(in), Option.apply(catalog));
  }

  private String functionKey(List<String> parts) {
    TableIdentifier name = named(parts);
    return Securable.function(new FunctionIdentifier(name.table(), name.database(), name.catalog()))
        .key;
  }
}
