package io.sparkaccesshistory.policies.rewrite;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.BackupGuard;
import io.sparkaccesshistory.policies.Governance;
import io.sparkaccesshistory.policies.RawFileGuard;
import io.sparkaccesshistory.policies.expressions.AttributeReplacement;
import io.sparkaccesshistory.policies.expressions.ContextAnswers;
import io.sparkaccesshistory.policies.expressions.NullableAttributes;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.PolicyUse;
import io.sparkaccesshistory.policies.model.Principal;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import io.sparkaccesshistory.policies.model.Securable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.SQLFunctionNode;
import org.apache.spark.sql.catalyst.analysis.SQLScalarFunction;
import org.apache.spark.sql.catalyst.catalog.SQLFunction;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;

/**
 * One walk over a plan, from the leaves up: each read of what is protected goes behind its
 * policies.
 */
public class PolicyRewriter {
  private final Governance governance;
  private final SparkSession session;
  private final PolicyBodies bodies;
  private final ColumnMasks masks;
  private final PredicateFence fence;
  private final RawFileGuard files;
  private final BackupGuard backups;
  private final CommandRewriter commands;
  private boolean isNullabilityChanged = false;

  /** Who owns the view or function that the walk is inside of; null outside. */
  private Principal owner;

  /** The same of what subqueries in functions read. */
  private final Map<LogicalPlan, Principal> subqueryOwners = new IdentityHashMap<>();

  public PolicyRewriter(Governance governance, SparkSession session) {
    this.governance = governance;
    this.session = session;
    bodies = governance.bodies;
    masks = new ColumnMasks(bodies);
    fence = new PredicateFence(session);
    files = new RawFileGuard(governance, session);
    backups = new BackupGuard(governance, session);
    commands = new CommandRewriter(governance, session, fence, files);
  }

  public LogicalPlan rewrite(LogicalPlan plan) {
    LogicalPlan found = applyPolicies(plan);
    return isNullabilityChanged ? withNullableReferences(found) : found;
  }

  private LogicalPlan applyPolicies(LogicalPlan plan) {
    LogicalPlan found = plan;
    var children = Scala.list(plan.children());
    List<LogicalPlan> now = new ArrayList<>();
    boolean changed = false;
    Principal outer = owner;
    if (plan instanceof View && !((View) plan).isTempView())
      enterObject(Securable.of("view", Relations.keyOf(plan), ((View) plan).desc().identifier()));
    else if (plan instanceof SQLFunctionNode) enterFunction(((SQLFunctionNode) plan).function());
    for (var one : children) {
      LogicalPlan child = applyPolicies(one);
      changed |= child != one;
      now.add(child);
    }
    if (owner != outer) {
      changed |= answerInvoker(now);
      owner = outer;
    }
    if (changed) found = found.withNewChildren(Scala.seq(now));
    if (plan.containsPattern(
        TreePattern.PLAN_EXPRESSION())) { // not of `found`, which would have to work it out
      var expressions = Scala.list(found.expressions());
      for (var one : expressions) noteSubqueryOwners(one, owner);
      found = found.transformExpressionsUp(new SubqueryRewriter(this::rewriteSubquery));
    }
    if (found instanceof Command) return commands.rewrite(found);
    files.refuse(found);
    found = fence.fencePlan(found);
    Protection protection = governance.protections.of(found);
    boolean isPast =
        (Relations.isOfThePast(found) || backups.isBackup(found))
            && found.getTagValue(Relations.GOVERNED).isEmpty();
    Protection today =
        isPast ? governance.protections.of(Relations.keyOfToday(found), session) : null;
    // What was replaced had another id, and policies of its own; its history is that of the table.
    if (today != null)
      Governance.requireHistory(today, governance.identities.require(session), Governance.PAST);
    if (protection != null && found.getTagValue(Relations.GOVERNED).isEmpty()) {
      if (protection.sealed)
        throw new SecurityException(
            protection.name
                + " is being replaced, and its policies with it; read it again in a moment, and"
                + " where that does not help, an administrator may run CREATE OR REPLACE VIEW"
                + " again");
      Identity who = governance.identities.require(session);
      if (isPast) Governance.requireHistory(protection, who, Governance.PAST);
      found = applyProtection(found, protection, who.inside(owner));
    }
    return found;
  }

  /** A subquery, of a function with its owner. */
  private LogicalPlan rewriteSubquery(LogicalPlan subquery) {
    Principal outer = owner;
    if (subqueryOwners.containsKey(subquery)) owner = subqueryOwners.get(subquery);
    try {
      return applyPolicies(subquery);
    } finally {
      owner = outer;
    }
  }

  private void noteSubqueryOwners(Expression value, Principal outer) {
    Principal inside = outer;
    if (value instanceof SQLScalarFunction
        && !((SQLScalarFunction) value).function().name().database().isEmpty())
      inside =
          governance.grants.ownerOf(
              Securable.function(((SQLScalarFunction) value).function().name()), outer);
    if (value instanceof SubqueryExpression && inside != owner)
      subqueryOwners.put(((SubqueryExpression) value).plan(), inside);
    var children = Scala.list(value.children());
    for (var one : children) noteSubqueryOwners(one, inside);
  }

  private void enterFunction(SQLFunction function) {
    if (!function.name().database().isEmpty()) enterObject(Securable.function(function.name()));
  }

  private void enterObject(Securable on) {
    owner = governance.grants.ownerOf(on, owner);
  }

  /** Asks in the text of a view who invokes it: its owner. */
  private boolean answerInvoker(List<LogicalPlan> plans) {
    Identity who = governance.identities.of(session);
    boolean changed = false;
    for (int i = 0; who != null && i < plans.size(); i++) {
      LogicalPlan plan = plans.get(i);
      if (!plan.containsPattern(TreePattern.SCALA_UDF())
          && !plan.containsPattern(TreePattern.PLAN_EXPRESSION())) continue;
      plans.set(
          i, plan.transformAllExpressionsWithSubqueries(new ContextAnswers(who.inside(owner))));
      changed |= plans.get(i) != plan;
    }
    return changed;
  }

  /** A relation behind its policies: rows first, then masks. */
  private LogicalPlan applyProtection(LogicalPlan relation, Protection protection, Identity who) {
    var output = Scala.list(relation.output());
    List<String> keys = protection.keys(relation, output);
    var masks = this.masks.masksOf(relation, output, keys, protection, who);
    Map<ExprId, ExprId> fresh = new HashMap<>();
    for (ExprId one : masks.keySet()) fresh.put(one, NamedExpression$.MODULE$.newExprId());
    LogicalPlan below = withColumnIds(relation, fresh);
    below.setTagValue(Relations.GOVERNED, Boolean.TRUE);
    var raw = Scala.list(below.output());
    var columns = ColumnMasks.columnsByKey(output, keys, raw, protection);

    Expression rows = bodies.rowFilter(protection, columns, who);
    LogicalPlan found = rows == null ? below : new Filter(rows, below);
    if (rows != null) {
      fence.addHiddenColumns(raw);
      found = fence.fenceVariants(found);
    }
    if (masks.isEmpty()) return found;
    List<NamedExpression> shown = new ArrayList<>();
    for (int i = 0; i < output.size(); i++) {
      AttributeReference column = (AttributeReference) output.get(i);
      PolicyUse use = masks.get(column.exprId());
      if (use == null) {
        shown.add(raw.get(i));
        continue;
      }
      Expression value =
          PolicyBodies.castTo(bodies.instantiate(use, columns, who), column.dataType());
      isNullabilityChanged |= value.nullable() && !column.nullable();
      shown.add(
          new Alias(
              value,
              column.name(),
              column.exprId(),
              column.qualifier(),
              Option.apply(column.metadata()),
              Scala.none()));
    }
    LogicalPlan masked = new Project(Scala.seq(shown), found);
    fence.fencePlan(masked);
    return masked;
  }

  /** Another plan of the same, some of whose columns have other ids. */
  private static LogicalPlan withColumnIds(LogicalPlan plan, Map<ExprId, ExprId> ids) {
    if (plan
        instanceof
        LogicalRelation) { // nearly all of them, and copies by reflection were half of the
      // governing
      LogicalRelation relation = (LogicalRelation) plan;
      var output = Scala.list(relation.output());
      List<AttributeReference> now = new ArrayList<>();
      for (AttributeReference column : output) {
        ExprId id = ids.get(column.exprId());
        now.add(id == null ? column : column.withExprId(id));
      }
      LogicalPlan found =
          new LogicalRelation(
              relation.relation(),
              Scala.seq(now),
              relation.catalogTable(),
              relation.isStreaming(),
              relation.stream());
      found.copyTagsFrom(plan);
      return found;
    }
    LogicalPlan found = plan.makeCopy(Relations.arguments(plan));
    return ids.isEmpty()
        ? found
        : found.transformAllExpressionsWithSubqueries(AttributeReplacement.byId(ids));
  }

  /** References follow what is nullable now: a mask may give null where the column has none. */
  private static LogicalPlan withNullableReferences(LogicalPlan plan) {
    List<LogicalPlan> children = new ArrayList<>();
    Set<ExprId> known = new HashSet<>();
    var below = Scala.list(plan.children());
    for (var one : below) {
      LogicalPlan child = withNullableReferences(one);
      children.add(child);
      var output = Scala.list(child.output());
      for (Attribute column : output) if (column.nullable()) known.add(column.exprId());
    }
    LogicalPlan found = children.isEmpty() ? plan : plan.withNewChildren(Scala.seq(children));
    return found.transformExpressionsUp(new NullableAttributes(known));
  }
}
