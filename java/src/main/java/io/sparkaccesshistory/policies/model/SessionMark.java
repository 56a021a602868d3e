package io.sparkaccesshistory.policies.model;

import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Which attached session a session of Spark's is, or is a clone of.
 *
 * <p>It lies among a session's extra optimizations, and changes no plan: Spark copies these into
 * each clone (SessionState.clone, Spark 4.2), and neither a statement nor a setting reaches them.
 */
public final class SessionMark extends Rule<LogicalPlan> {
  private final String session;

  private SessionMark(String session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan;
  }

  /** Marks a session by its id, instead of what it was a clone of; "" takes the mark away. */
  public static void set(SparkSession session, String id) {
    List<Rule<LogicalPlan>> rules = new ArrayList<>();
    for (Rule<LogicalPlan> one : Scala.list(session.experimental().extraOptimizations()))
      if (!(one instanceof SessionMark)) rules.add(one);
    if (!id.isEmpty()) rules.add(new SessionMark(id));
    session.experimental().extraOptimizations_$eq(Scala.seq(rules));
  }

  /** The id of the attached session; "" for none. */
  public static String of(SparkSession session) {
    for (Rule<LogicalPlan> one : Scala.list(session.experimental().extraOptimizations()))
      if (one instanceof SessionMark) return ((SessionMark) one).session;
    return "";
  }
}
