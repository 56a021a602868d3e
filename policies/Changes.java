import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeAction;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoMatchedDeleteClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoMatchedUpdateClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoNotMatchedBySourceDeleteClause;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoNotMatchedBySourceUpdateClause;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommand;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What a statement changes it reads by Delta's own means: its conditions see what policies show, its files stay what they
 *  are, and nothing that a policy makes of a value is stored in the place of the value. */
class Changes {
  private final Walk walk;

  Changes(Walk walk) { this.walk = walk; }

  LogicalPlan updated(UpdateCommand command) {
    Changed target = changed(command.target());
    if (target == null) return command;
    List output = CollectionConverters.asJava(command.target().output());
    List values = CollectionConverters.asJava(command.updateExpressions());
    for (int i = 0; i < values.size(); i++)
      target.requireUnmasked((Expression) values.get(i), ((Attribute) output.get(i)).name());
    target.requireUnchecked();
    return command.copy(command.tahoeFileIndex(), command.catalogTable(), command.target(), command.updateExpressions(),
        target.seen(command.condition(), true));
  }

  LogicalPlan deleted(DeleteCommand command) {
    Changed target = changed(command.target());
    return target == null ? command : command.copy(command.deltaLog(), command.catalogTable(), command.target(),
        target.seen(command.condition(), true));
  }

  LogicalPlan merged(MergeIntoCommand command) {
    Changed target = changed(command.target());
    if (target == null) return command;
    target.source = command.source();
    target.requireUnchecked();
    List matched = new ArrayList(), rest = new ArrayList();
    List clauses = CollectionConverters.asJava(command.matchedClauses());
    for (int i = 0; i < clauses.size(); i++) {
      if (clauses.get(i) instanceof DeltaMergeIntoMatchedUpdateClause) {
        DeltaMergeIntoMatchedUpdateClause one = (DeltaMergeIntoMatchedUpdateClause) clauses.get(i);
        target.requireUnmasked(one.actions());
        matched.add(one.copy(target.seen(one.condition()), one.actions()));
      } else {
        DeltaMergeIntoMatchedDeleteClause one = (DeltaMergeIntoMatchedDeleteClause) clauses.get(i);
        matched.add(one.copy(target.seen(one.condition())));
      }
    }
    clauses = CollectionConverters.asJava(command.notMatchedBySourceClauses());
    for (int i = 0; i < clauses.size(); i++) {
      if (clauses.get(i) instanceof DeltaMergeIntoNotMatchedBySourceUpdateClause) {
        DeltaMergeIntoNotMatchedBySourceUpdateClause one = (DeltaMergeIntoNotMatchedBySourceUpdateClause) clauses.get(i);
        target.requireUnmasked(one.actions());
        rest.add(one.copy(target.seen(one.condition(), true), one.actions()));
      } else {
        DeltaMergeIntoNotMatchedBySourceDeleteClause one = (DeltaMergeIntoNotMatchedBySourceDeleteClause) clauses.get(i);
        rest.add(one.copy(target.seen(one.condition(), true)));
      }
    }
    clauses = CollectionConverters.asJava(command.notMatchedClauses());
    for (int i = 0; i < clauses.size(); i++) target.requireUnmasked(((DeltaMergeIntoClause) clauses.get(i)).actions());
    return command.copy(command.source(), command.target(), command.catalogTable(), command.targetFileIndex(),
        target.matched(command.condition()), Relations.seq(matched), command.notMatchedClauses(),
        Relations.seq(rest), command.migratedSchema(), command.trackHighWaterMarks(), command.schemaEvolutionEnabled());
  }

  /** What a statement changes, where policies protect it; null where none does. */
  private Changed changed(LogicalPlan target) {
    LogicalPlan leaf = target;
    while (Relations.keyOf(leaf) == null && leaf.children().size() == 1) leaf = (LogicalPlan) leaf.children().head();
    Protection protection = walk.governor.protection(leaf);
    if (protection == null) return null;
    Identity who = walk.governor.required(walk.session);
    if (walk.bodies.showsAll(protection, who)) return null;
    if (!target.outputSet().subsetOf(leaf.outputSet()))
      throw new SecurityException(protection.name + " would be changed through a view of it, and policies protect it;"
          + " change the table itself");
    return new Changed(walk, protection, leaf, who);
  }

  /** Refuses a query that reads a table by its masks, to be written back into it. */
  void requireNoMasksOf(Protection protection, LogicalPlan query) {
    if (query instanceof Project && protection.tagged.isEmpty()) {
      boolean isFree = true;
      List shown = CollectionConverters.asJava(((Project) query).projectList());
      for (int i = 0; i < shown.size(); i++) {
        NamedExpression one = (NamedExpression) shown.get(i);
        isFree &= !protection.hasMasked(one.name()) || ((Expression) one).references().isEmpty();
      }
      if (isFree && !SubqueryExpression.hasSubquery((Expression) ((Project) query).projectList().head())) return;
    }
    Changed.requireNone(walk, protection, query, protection.name);
  }

  /** A table that a statement changes: what its user sees of it. */
  static class Changed {
    final Walk walk;
    final Protection protection;
    final Map masks = new HashMap();
    /** The masked columns, by what the statement calls them. */
    final Set masked = new HashSet();
    final Expression rows;
    private final List partitions, checks;
    LogicalPlan source;

    Changed(Walk walk, Protection protection, LogicalPlan leaf, Identity who) {
      this.walk = walk;
      this.protection = protection;
      List output = CollectionConverters.asJava(leaf.output());
      Map columns = Walk.columns(leaf, output, protection);
      Map uses = walk.masks(leaf, protection, who);
      for (int i = 0; i < output.size(); i++) {
        Attribute column = (Attribute) output.get(i);
        Use use = (Use) uses.get(column.exprId());
        if (use == null) continue;
        masks.put(column.exprId(), Bodies.as(walk.bodies.instance(use, columns, who), column.dataType()));
        masked.add(column.name().toLowerCase(Locale.ROOT));
      }
      partitions = Relations.partitionsOf(leaf);
      checks = Relations.checksOf(leaf);
      rows = walk.bodies.rows(protection, columns, who);
      if (rows != null) walk.hidden.note(output);
    }

    /** A condition as its user sees the rows; with `all` it has to hold back rows that they do not see, and is not
     *  tried on these. */
    Option seen(Option condition, boolean all) {
      Expression found = condition.isEmpty() ? null : (Expression) condition.get();
      if (found != null && refers(found)) found = (Expression) found.transformUp(new Renaming(null, masks, null));
      if (all && rows != null) {
        Expression visible = either(rows, Literal$.MODULE$.FalseLiteral());
        if (found == null) found = visible;
        else if (!walk.hidden.mayFail(found)) found = new And(visible, found);
        else found = new If(visible, isOfPartitions(found) ? found : walk.hidden.held(found), Literal$.MODULE$.FalseLiteral());
      }
      if (found != null && SubqueryExpression.hasSubquery(found))
        throw new SecurityException("a row access policy that reads other tables protects what this statement changes:"
            + " Delta takes no subquery there; let a role change it that sees all of its rows");
      return Option.apply(found);
    }

    /** The condition of a clause for rows that match, none of which is hidden; Delta may try it on others, too. */
    Option seen(Option condition) {
      boolean mayFail = !condition.isEmpty() && rows != null && walk.hidden.mayFail((Expression) condition.get());
      return seen(condition, mayFail);
    }

    /** Whether a condition and the filter of rows are both known from the names of files, where Delta asks for nothing
     *  else and takes nothing that is not deterministic (DeleteCommand 4.4). */
    private boolean isOfPartitions(Expression condition) {
      List named = CollectionConverters.asJava(new And(rows, condition).references().toSeq());
      for (int i = 0; i < named.size(); i++)
        if (!partitions.contains(((Attribute) named.get(i)).name().toLowerCase(Locale.ROOT))) return false;
      return true;
    }

    /** The condition of a MERGE, which Delta makes that of a join: what may fail cannot be kept in place there. */
    Expression matched(Expression condition) {
      if (rows != null && walk.hidden.mayFail(condition))
        throw new SecurityException("the condition of this MERGE may fail on rows of " + protection.name + " that a policy"
            + " hides (" + condition.sql() + "); compare columns as they are, and compute in the source");
      return (Expression) seen(Option.apply(condition), true).get();
    }

    private static Expression either(Expression first, Expression second) {
      List values = new ArrayList();
      values.add(first);
      values.add(second);
      return new Coalesce(Relations.seq(values));
    }

    /** A row that violates a constraint is quoted with all the values that the constraint is about. */
    void requireUnchecked() {
      Iterator each = masked.iterator();
      while (each.hasNext()) {
        String column = (String) each.next();
        for (int i = 0; i < checks.size(); i++)
          if (java.util.regex.Pattern.compile("(?i)(?<![\\w])" + java.util.regex.Pattern.quote(column) + "(?![\\w])")
              .matcher((String) checks.get(i)).find())
            throw new SecurityException("a constraint of " + protection.name + " is about masked column " + column + " ("
                + checks.get(i) + "), and would quote its values where a row violates it; let a role change it that sees them");
      }
    }

    /** What is masked may stay where it is, and go nowhere else; what masks have made of it does not come back. */
    void requireUnmasked(Expression value, String column) {
      Expression bare = value instanceof Alias ? ((Alias) value).child() : value;
      boolean isItself = bare instanceof AttributeReference && masks.containsKey(((AttributeReference) bare).exprId())
          && ((AttributeReference) bare).name().equals(column);
      if (refers(value) && !isItself)
        throw new SecurityException("column " + column + " would be made of a masked column (" + value.sql()
            + "); let a role run it that sees the column as it is");
      if (!masked.contains(column.toLowerCase(Locale.ROOT)) || isItself) return;
      List inside = new ArrayList();
      subqueries(value, inside);
      for (int i = 0; i < inside.size(); i++) requireNone(walk, protection, (LogicalPlan) inside.get(i), column);
      if (source != null && !value.references().intersect(source.outputSet()).isEmpty())
        requireNone(walk, protection, source, column);
    }

    void requireUnmasked(scala.collection.immutable.Seq actions) {
      List every = CollectionConverters.asJava(actions);
      for (int i = 0; i < every.size(); i++) {
        if (!(every.get(i) instanceof DeltaMergeAction)) continue;
        DeltaMergeAction one = (DeltaMergeAction) every.get(i);
        requireUnmasked(one.expr(), (String) one.targetColNameParts().head());
      }
    }

    private static void subqueries(Expression e, List into) {
      if (e instanceof SubqueryExpression) into.add(((SubqueryExpression) e).plan());
      List children = CollectionConverters.asJava(e.children());
      for (int i = 0; i < children.size(); i++) subqueries((Expression) children.get(i), into);
    }

    static void requireNone(Walk walk, Protection protection, LogicalPlan query, String what) {
      Keys read = new Keys();
      query.transformUpWithSubqueries(read);
      for (int i = 0; i < read.plans.size(); i++) {
        LogicalPlan leaf = (LogicalPlan) read.plans.get(i);
        if (protection.name.equals(nameOf(walk.governor.protection(leaf)))
            && !walk.masks(leaf, protection, walk.governor.required(walk.session)).isEmpty())
          throw new SecurityException(what + " would be made of what masks show of " + protection.name
              + " itself, in the place of the values; let a role run it that sees them as they are");
      }
    }

    private static String nameOf(Protection protection) { return protection == null ? null : protection.name; }

    private boolean refers(Expression value) {
      List named = CollectionConverters.asJava(value.references().toSeq());
      for (int i = 0; i < named.size(); i++) if (masks.containsKey(((Attribute) named.get(i)).exprId())) return true;
      return false;
    }
  }
}
