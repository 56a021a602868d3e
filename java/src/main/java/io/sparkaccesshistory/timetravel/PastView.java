package io.sparkaccesshistory.timetravel;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.rewrite.SubqueryRewriter;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * A view as Spark resolves it, each Delta table below it to be read at a version.
 *
 * <p>The resolved plan is the view whatever its text says: what CTEs, hints, functions and other
 * views lead to is in it, and so is a view that has no text. The columns of a relation keep their
 * ids, by which all of the plan above it refers to them.
 */
public final class PastView {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Leaves whose rows are in the plan itself, or follow from other nodes of it (Spark 4.2). */
  private static final List<String> CONSTANT =
      List.of(
          "LocalRelation",
          "OneRowRelation",
          "Range",
          "ResolvedInlineTable",
          "CTERelationRef",
          "UnionLoopRef");

  private final SparkSession session;
  private final Function<LogicalPlan, String> bound;
  private final LogicalPlan plan;
  private final List<Map<String, Object>> relations = new ArrayList<>();
  private final List<Map<String, Object>> fixed = new ArrayList<>();
  private final Map<LogicalPlan, Integer> places = new IdentityHashMap<>();

  PastView(SparkSession session, List<String> name, Function<LogicalPlan, String> bound) {
    this.session = session;
    this.bound = bound;
    LogicalPlan named =
        new UnresolvedRelation(Scala.seq(name), CaseInsensitiveStringMap.empty(), false);
    plan =
        session
            .sessionState()
            .executePlan(named, session.sessionState().executePlan$default$2())
            .analyzed();
    new Walk() {
      @Override
      LogicalPlan leaf(LogicalPlan leaf) {
        note(leaf);
        return leaf;
      }
    }.over(plan);
  }

  private void note(LogicalPlan leaf) {
    if (CONSTANT.contains(leaf.nodeName()) || places.containsKey(leaf)) return;
    if (indexOf(leaf) != null && indexOf(leaf).isTimeTravelQuery()) {
      fixed.add(facts(leaf));
      return;
    }
    places.put(leaf, relations.size());
    relations.add(facts(leaf));
  }

  private static Map<String, Object> facts(LogicalPlan leaf) {
    Map<String, Object> found = new LinkedHashMap<>();
    TableIdentifier name = nameOf(leaf);
    TahoeLogFileIndex index = indexOf(leaf);
    found.put("name", name == null ? null : Scala.list(name.nameParts()));
    found.put("kind", leaf.nodeName());
    if (index != null) {
      found.put("location", index.path().toString());
      found.put("table_id", index.metadata().id());
      found.put("schema", index.metadata().schemaString());
    }
    return found;
  }

  /**
   * The relations to be read at a version, as JSON: `name` and `kind`, and of a Delta table
   * `location`, `table_id` and `schema`. Those whose version the view itself names are not among
   * them.
   */
  public String relations() throws JsonProcessingException {
    return JSON.writeValueAsString(relations);
  }

  /** The Delta tables whose version the view itself names, as `relations` has them. */
  public String fixed() throws JsonProcessingException {
    return JSON.writeValueAsString(fixed);
  }

  /**
   * The mark of the view at versions.
   *
   * @param versions of each relation: `version`, `enforced`, whether Delta's own check is to be
   *     made, and `columns`, SQL of each of today's columns over those of the version, null where
   *     they are the same
   */
  public String bind(String versions) throws JsonProcessingException {
    Version[] at = JSON.readValue(versions, Version[].class);
    return bound.apply(
        new Walk() {
          @Override
          LogicalPlan leaf(LogicalPlan leaf) {
            Integer place = places.get(leaf);
            return place == null ? leaf : then((LogicalRelation) leaf, at[place]);
          }
        }.over(plan));
  }

  /** As `bind` gets it. */
  record Version(long version, boolean enforced, List<String> columns) {}

  private static TableIdentifier nameOf(LogicalPlan leaf) {
    Option<CatalogTable> table =
        leaf instanceof LogicalRelation ? ((LogicalRelation) leaf).catalogTable() : Option.empty();
    return table.isEmpty() ? null : table.get().identifier();
  }

  private static TahoeLogFileIndex indexOf(LogicalPlan leaf) {
    if (!(leaf instanceof LogicalRelation) || leaf.isStreaming()) return null;
    BaseRelation relation = ((LogicalRelation) leaf).relation();
    if (!(relation instanceof HadoopFsRelation)) return null;
    Object index = ((HadoopFsRelation) relation).location();
    return index instanceof TahoeLogFileIndex ? (TahoeLogFileIndex) index : null;
  }

  private LogicalPlan then(LogicalRelation today, Version at) {
    TahoeLogFileIndex index = indexOf(today);
    Snapshot snapshot =
        index
            .deltaLog()
            .getSnapshotAt(
                at.version, Option.empty(), Option.empty(), today.catalogTable(), at.enforced);
    BaseRelation relation =
        index
            .deltaLog()
            .createRelation(
                index.partitionFilters(), Option.apply(snapshot), today.catalogTable(), true);
    if (at.columns == null) return relation(relation, today, today.output());
    LogicalPlan found = relation(relation, today, DataTypeUtils.toAttributes(relation.schema()));
    List<AttributeReference> wanted = Scala.list(today.output());
    List<String> columns = new ArrayList<>(at.columns);
    if (wanted.size() > columns.size()) {
      found = ((LogicalRelation) found).withMetadataColumns();
      for (AttributeReference one : wanted.subList(columns.size(), wanted.size()))
        columns.add('`' + one.name().replace("`", "``") + '`');
    }
    LogicalPlan values =
        Dataset$.MODULE$
            .ofRows(session, found)
            .selectExpr(columns.toArray(new String[0]))
            .queryExecution()
            .analyzed();
    List<NamedExpression> named = new ArrayList<>();
    for (int i = 0; i < wanted.size(); i++) {
      AttributeReference one = wanted.get(i);
      named.add(
          new Alias(
              Scala.list(values.output()).get(i),
              one.name(),
              one.exprId(),
              one.qualifier(),
              Option.apply(one.metadata()),
              Scala.none()));
    }
    return new Project(Scala.seq(named), values);
  }

  private static LogicalRelation relation(
      BaseRelation relation,
      LogicalRelation today,
      scala.collection.immutable.Seq<AttributeReference> output) {
    return new LogicalRelation(relation, output, today.catalogTable(), false, today.stream());
  }

  /** One walk over a plan, into its subqueries, too. */
  private abstract static class Walk {

    abstract LogicalPlan leaf(LogicalPlan leaf);

    LogicalPlan over(LogicalPlan plan) {
      if (plan instanceof LeafNode || Scala.list(plan.children()).isEmpty()) return leaf(plan);
      List<LogicalPlan> now = new ArrayList<>();
      boolean changed = false;
      var children = Scala.list(plan.children());
      for (LogicalPlan one : children) {
        LogicalPlan child = over(one);
        changed |= child != one;
        now.add(child);
      }
      LogicalPlan found = changed ? plan.withNewChildren(Scala.seq(now)) : plan;
      return plan.containsPattern(TreePattern.PLAN_EXPRESSION())
          ? found.transformExpressionsUp(new SubqueryRewriter(this::over))
          : found;
    }
  }
}
