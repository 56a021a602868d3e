package io.sparkaccesshistory.policies.rewrite;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.Governance;
import io.sparkaccesshistory.policies.expressions.AttributeReplacement;
import io.sparkaccesshistory.policies.expressions.RelationCollector;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.PolicyUse;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeAction;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoMatchedClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoMatchedDeleteClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoMatchedUpdateClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoNotMatchedBySourceClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoNotMatchedBySourceDeleteClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoNotMatchedBySourceUpdateClause;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommand;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import scala.Option;

/**
 * What a statement changes it reads by Delta's own means: its conditions see what policies show,
 * its files stay what they are, and nothing that a policy makes of a value is stored in the place
 * of the value.
 */
public class DmlRewriter {
  private final Governance governance;
  private final SparkSession session;
  private final PolicyBodies bodies;
  private final ColumnMasks columnMasks;
  private final PredicateFence fence;

  /** `fence` keeps conditions off the rows that policies hide. */
  public DmlRewriter(Governance governance, SparkSession session, PredicateFence fence) {
    this.governance = governance;
    this.session = session;
    this.fence = fence;
    bodies = governance.bodies;
    columnMasks = new ColumnMasks(bodies);
  }

  public LogicalPlan rewriteUpdate(UpdateCommand command) {
    ChangedTable target = changedTable(command.target());
    if (target == null) return command;
    var output = Scala.list(command.target().output());
    var values = Scala.list(command.updateExpressions());
    for (int i = 0; i < values.size(); i++) {
      target.requireUnmasked(values.get(i), output.get(i).name());
      target.requireUndecided(values.get(i), output.get(i).name());
    }
    target.requireUnchecked();
    return command.copy(
        command.tahoeFileIndex(),
        command.catalogTable(),
        command.target(),
        command.updateExpressions(),
        target.visibleCondition(command.condition(), true));
  }

  public LogicalPlan rewriteDelete(DeleteCommand command) {
    ChangedTable target = changedTable(command.target());
    return target == null
        ? command
        : command.copy(
            command.deltaLog(),
            command.catalogTable(),
            command.target(),
            target.visibleCondition(command.condition(), true));
  }

  public LogicalPlan rewriteMerge(MergeIntoCommand command) {
    ChangedTable target = changedTable(command.target());
    if (target == null) return command;
    target.source = command.source();
    target.requireUnchecked();
    List<DeltaMergeIntoMatchedClause> matched = new ArrayList<>();
    List<DeltaMergeIntoNotMatchedBySourceClause> rest = new ArrayList<>();
    var clauses = Scala.list(command.matchedClauses());
    for (var item : clauses) {
      if (item instanceof DeltaMergeIntoMatchedUpdateClause) {
        DeltaMergeIntoMatchedUpdateClause one = (DeltaMergeIntoMatchedUpdateClause) item;
        target.requireUnmasked(one.actions());
        target.requireUndecided(one.actions());
        matched.add(one.copy(target.visibleCondition(one.condition()), one.actions()));
      } else {
        DeltaMergeIntoMatchedDeleteClause one = (DeltaMergeIntoMatchedDeleteClause) item;
        matched.add(one.copy(target.visibleCondition(one.condition())));
      }
    }
    var unmatched = Scala.list(command.notMatchedBySourceClauses());
    for (var item : unmatched) {
      if (item instanceof DeltaMergeIntoNotMatchedBySourceUpdateClause) {
        DeltaMergeIntoNotMatchedBySourceUpdateClause one =
            (DeltaMergeIntoNotMatchedBySourceUpdateClause) item;
        target.requireUnmasked(one.actions());
        target.requireUndecided(one.actions());
        rest.add(one.copy(target.visibleCondition(one.condition(), true), one.actions()));
      } else {
        DeltaMergeIntoNotMatchedBySourceDeleteClause one =
            (DeltaMergeIntoNotMatchedBySourceDeleteClause) item;
        rest.add(one.copy(target.visibleCondition(one.condition(), true)));
      }
    }
    var inserts = Scala.list(command.notMatchedClauses());
    for (var one : inserts) target.requireUnmasked(((DeltaMergeIntoClause) one).actions());
    return command.copy(
        command.source(),
        command.target(),
        command.catalogTable(),
        command.targetFileIndex(),
        target.mergeCondition(command.condition()),
        Scala.seq(matched),
        command.notMatchedClauses(),
        Scala.seq(rest),
        command.migratedSchema(),
        command.trackHighWaterMarks(),
        command.schemaEvolutionEnabled());
  }

  /** What a statement changes, where policies protect it; null where none does. */
  private ChangedTable changedTable(LogicalPlan target) {
    LogicalPlan leaf = target;
    while (Relations.keyOf(leaf) == null && Scala.list(leaf.children()).size() == 1)
      leaf = Scala.list(leaf.children()).get(0);
    Protection protection = governance.protections.of(leaf);
    if (protection == null) return null;
    Identity who = governance.identities.require(session);
    if (bodies.showsAll(protection, who)) return null;
    if (!target.outputSet().subsetOf(leaf.outputSet()))
      throw new SecurityException(
          protection.name
              + " would be changed through a view of it, and policies protect it;"
              + " change the table itself");
    return new ChangedTable(protection, leaf, who);
  }

  /** Refuses a query that reads a table by its masks, to be written back into it. */
  public void requireNoMasksOf(Protection protection, LogicalPlan query) {
    if (query instanceof Project && protection.tagged.isEmpty()) {
      boolean isFree = true;
      var shown = Scala.list(((Project) query).projectList());
      for (NamedExpression one : shown) {
        isFree &= !protection.hasMasked(one.name()) || ((Expression) one).references().isEmpty();
      }
      if (isFree
          && !SubqueryExpression.hasSubquery(
              (Expression) Scala.list(((Project) query).projectList()).get(0))) return;
    }
    requireNone(protection, query, protection.name);
  }

  /** Refuses a query that reads masked columns of a table: `what` would be made of the masks. */
  private void requireNone(Protection protection, LogicalPlan query, String what) {
    RelationCollector read = RelationCollector.of(query);
    for (LogicalPlan leaf : read.plans) {
      if (protection.name.equals(nameOf(governance.protections.of(leaf)))
          && !columnMasks
              .masksOf(leaf, protection, governance.identities.require(session))
              .isEmpty())
        throw new SecurityException(
            what
                + " would be made of what masks show of "
                + protection.name
                + " itself, in the place of the values; let a role run it that sees them as they"
                + " are");
    }
  }

  private static String nameOf(Protection protection) {
    return protection == null ? null : protection.name;
  }

  /** A table that a statement changes: what its user sees of it. */
  private final class ChangedTable {
    final Protection protection;
    final Map<ExprId, Expression> masks = new HashMap<>();

    /** The masked columns, by what the statement calls them. */
    final Set<String> masked = new HashSet<>();

    /** The columns that decide over a mask, and what these are generated from. */
    final Set<String> deciding = new HashSet<>();

    final Expression rows;
    private final List<String> partitions, checks;
    LogicalPlan source;

    ChangedTable(Protection protection, LogicalPlan leaf, Identity who) {
      this.protection = protection;
      var output = Scala.list(leaf.output());
      var columns = ColumnMasks.columnsByKey(leaf, output, protection);
      var uses = columnMasks.masksOf(leaf, protection, who);
      for (Attribute column : output) {
        PolicyUse use = uses.get(column.exprId());
        if (use == null) continue;
        masks.put(
            column.exprId(),
            PolicyBodies.castTo(bodies.instantiate(use, columns, who), column.dataType()));
        masked.add(column.name().toLowerCase(Locale.ROOT));
        for (String key : use.columns().subList(1, use.columns().size()))
          if (columns.get(key) != null)
            deciding.add(columns.get(key).name().toLowerCase(Locale.ROOT));
      }
      for (int size = -1; size < deciding.size(); ) {
        size = deciding.size();
        for (var one : Relations.generatedOf(leaf).entrySet())
          if (deciding.contains(one.getKey())) deciding.addAll(namesIn(one.getValue()));
      }
      partitions = Relations.partitionsOf(leaf);
      checks = Relations.checksOf(leaf);
      rows = bodies.rowFilter(protection, columns, who);
      if (rows != null) fence.addHiddenColumns(output);
    }

    /**
     * A condition as its user sees the rows; with `all` it has to hold back rows that they do not
     * see, and is not tried on these.
     */
    Option<Expression> visibleCondition(Option<Expression> condition, boolean all) {
      Expression found = condition.isEmpty() ? null : condition.get();
      if (found != null && readsMaskedColumn(found))
        found = found.transformUp(AttributeReplacement.byExpression(masks));
      if (all && rows != null) {
        Expression visible = firstNonNull(rows, Literal$.MODULE$.FalseLiteral());
        if (found == null) found = visible;
        else if (!fence.mayFail(found)) found = new And(visible, found);
        else
          found =
              new If(
                  visible,
                  isOfPartitions(found) ? found : fence.fenceCondition(found),
                  Literal$.MODULE$.FalseLiteral());
      }
      if (found != null && SubqueryExpression.hasSubquery(found))
        throw new SecurityException(
            "a row access policy that reads other tables protects what this statement changes:"
                + " Delta takes no subquery there; let a role change it that sees all of its rows");
      return Option.apply(found);
    }

    /**
     * The condition of a clause for rows that match, none of which is hidden; Delta may try it on
     * others, too.
     */
    Option<Expression> visibleCondition(Option<Expression> condition) {
      boolean mayFail = !condition.isEmpty() && rows != null && fence.mayFail(condition.get());
      return visibleCondition(condition, mayFail);
    }

    /**
     * Whether a condition and the filter of rows are both known from the names of files, where
     * Delta asks for nothing else and takes nothing that is not deterministic (DeleteCommand 4.4).
     */
    private boolean isOfPartitions(Expression condition) {
      var named = Scala.list(new And(rows, condition).references().toSeq());
      for (var one : named)
        if (!partitions.contains(one.name().toLowerCase(Locale.ROOT))) return false;
      return true;
    }

    /**
     * The condition of a MERGE, which Delta makes that of a join: what may fail cannot be kept in
     * place there.
     */
    Expression mergeCondition(Expression condition) {
      if (rows != null && fence.mayFail(condition))
        throw new SecurityException(
            "the condition of this MERGE may fail on rows of "
                + protection.name
                + " that a policy"
                + " hides ("
                + condition.sql()
                + "); compare columns as they are, and compute in the source");
      return visibleCondition(Option.apply(condition), true).get();
    }

    private static Expression firstNonNull(Expression first, Expression second) {
      return new Coalesce(Scala.seq(List.of(first, second)));
    }

    /**
     * A row that violates a constraint is quoted with all the values that the constraint is about.
     */
    void requireUnchecked() {
      for (String column : masked) {
        for (int i = 0; i < checks.size(); i++)
          if (java.util.regex.Pattern.compile(
                  "(?i)(?<![\\w])" + java.util.regex.Pattern.quote(column) + "(?![\\w])")
              .matcher(checks.get(i))
              .find())
            throw new SecurityException(
                "a constraint of "
                    + protection.name
                    + " is about masked column "
                    + column
                    + " ("
                    + checks.get(i)
                    + "), and would quote its values where a row violates it; let a role change it"
                    + " that sees them");
      }
    }

    /**
     * What is masked may stay where it is, and go nowhere else; what masks have made of it does not
     * come back.
     */
    void requireUnmasked(Expression value, String column) {
      Expression bare = value instanceof Alias ? ((Alias) value).child() : value;
      boolean isItself =
          bare instanceof AttributeReference
              && masks.containsKey(((AttributeReference) bare).exprId())
              && ((AttributeReference) bare).name().equals(column);
      if (readsMaskedColumn(value) && !isItself)
        throw new SecurityException(
            "column "
                + column
                + " would be made of a masked column ("
                + value.sql()
                + "); let a role run it that sees the column as it is");
      if (!masked.contains(column.toLowerCase(Locale.ROOT)) || isItself) return;
      List<LogicalPlan> inside = new ArrayList<>();
      collectSubqueries(value, inside);
      for (var one : inside) requireNone(protection, one, column);
      if (source != null && !value.references().intersect(source.outputSet()).isEmpty())
        requireNone(protection, source, column);
    }

    /** What decides over a mask stays as it is, or a change of it would lift the mask. */
    void requireUndecided(Expression value, String column) {
      Expression bare = value instanceof Alias ? ((Alias) value).child() : value;
      boolean isItself =
          bare instanceof AttributeReference
              && ((AttributeReference) bare).name().equalsIgnoreCase(column)
              && (source == null || !source.outputSet().contains((AttributeReference) bare));
      if (deciding.contains(column.toLowerCase(Locale.ROOT)) && !isItself)
        throw new SecurityException(
            "column "
                + column
                + " of "
                + protection.name
                + " decides over a mask, and would be changed; let a role change it that sees"
                + " all of the table");
    }

    void requireUndecided(scala.collection.immutable.Seq<Expression> actions) {
      for (Expression one : Scala.list(actions))
        if (one instanceof DeltaMergeAction)
          requireUndecided(
              ((DeltaMergeAction) one).expr(),
              Scala.list(((DeltaMergeAction) one).targetColNameParts()).get(0));
    }

    private Set<String> namesIn(String expression) {
      Set<String> found = new HashSet<>();
      try {
        collectNames(session.sessionState().sqlParser().parseExpression(expression), found);
      } catch (org.apache.spark.sql.catalyst.parser.ParseException e) {
        throw new SecurityException(
            "what " + protection.name + " generates a column from cannot be read: " + expression);
      }
      return found;
    }

    private static void collectNames(Expression e, Set<String> into) {
      if (e instanceof UnresolvedAttribute)
        into.add(Scala.list(((UnresolvedAttribute) e).nameParts()).get(0).toLowerCase(Locale.ROOT));
      for (Expression one : Scala.list(e.children())) collectNames(one, into);
    }

    void requireUnmasked(scala.collection.immutable.Seq<Expression> actions) {
      var every = Scala.list(actions);
      for (var item : every) {
        if (!(item instanceof DeltaMergeAction)) continue;
        DeltaMergeAction one = (DeltaMergeAction) item;
        requireUnmasked(one.expr(), Scala.list(one.targetColNameParts()).get(0));
      }
    }

    private static void collectSubqueries(Expression e, List<LogicalPlan> into) {
      if (e instanceof SubqueryExpression) into.add(((SubqueryExpression) e).plan());
      var children = Scala.list(e.children());
      for (var one : children) collectSubqueries(one, into);
    }

    private boolean readsMaskedColumn(Expression value) {
      var named = Scala.list(value.references().toSeq());
      for (var one : named) if (masks.containsKey(one.exprId())) return true;
      return false;
    }
  }
}
