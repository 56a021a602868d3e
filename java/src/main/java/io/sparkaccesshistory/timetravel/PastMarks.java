package io.sparkaccesshistory.timetravel;

import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.RelationTimeTravel;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;

/**
 * Puts relations of the past where a parsed statement has their marks.
 *
 * <p>A parsed plan keeps plans in more places than its children: the queries of a WITH, the plan of
 * an EXPLAIN, subqueries in expressions (Spark 4.2). So all that its nodes are made of is looked
 * at.
 */
public final class PastMarks {
  private final List<String> found = new ArrayList<>();

  /** The plan of a text, whose marks have become relations. */
  public LogicalPlan replacedIn(String text, LogicalPlan parsed) {
    return PastRelations.mayBeIn(text) ? (LogicalPlan) value(parsed) : parsed;
  }

  /** Lets go of the relations that were put in. */
  public void release() {
    found.forEach(PastRelations::forget);
  }

  private Object value(Object value) {
    if (value instanceof RelationTimeTravel) {
      String version = Scala.orNull(((RelationTimeTravel) value).version());
      LogicalPlan relation = version == null ? null : PastRelations.of(version);
      if (relation == null) return value;
      found.add(version);
      return relation;
    }
    if (value instanceof TreeNode) return node((TreeNode<?>) value);
    if (value instanceof Seq) return values((Seq<?>) value);
    if (value instanceof Option && ((Option<?>) value).isDefined()) {
      Object inside = ((Option<?>) value).get(), now = value(inside);
      return now == inside ? value : Option.apply(now);
    }
    // A query of WITH by its name, and how deep it may go into itself.
    if (value instanceof Tuple3) {
      Tuple3<?, ?, ?> named = (Tuple3<?, ?, ?>) value;
      Object now = value(named._2());
      return now == named._2() ? value : new Tuple3<>(named._1(), now, named._3());
    }
    return value;
  }

  private Object values(Seq<?> values) {
    List<Object> now = new ArrayList<>();
    boolean changed = false;
    for (Object one : Scala.list(values)) {
      Object other = value(one);
      changed |= other != one;
      now.add(other);
    }
    return changed ? Scala.seq(now) : values;
  }

  private Object node(TreeNode<?> node) {
    Object[] arguments = new Object[node.productArity()];
    boolean changed = false;
    for (int i = 0; i < arguments.length; i++) {
      Object before = node.productElement(i);
      arguments[i] = value(before);
      changed |= arguments[i] != before;
    }
    return changed ? node.makeCopy(arguments) : node;
  }
}
