package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.Scala;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.RDD;

/**
 * The plans that RDDs were made of: a plan over an RDD (LogicalRDD, Spark 4.2) says nothing of
 * them.
 *
 * <p>An origin is kept as text, as long as its RDD is in use. The plan itself would hold on to the
 * RDDs below it, and Spark frees what checkpoints have stored only once nobody holds their RDD.
 */
public final class RddOrigins {
  /** By identity: RDD has no equals of its own. */
  private static final Map<RDD<?>, Origin> KNOWN = Collections.synchronizedMap(new WeakHashMap<>());

  /** A loop may cut its plan off by a checkpoint a thousand times: each text has all before it. */
  private static final int MOST = 100;

  private static final int LONGEST_WALK = 10_000;

  /** RDDs of values that the driver had: there is nothing behind them. */
  private static final Set<String> OF_THE_DRIVER = Set.of("ParallelCollectionRDD", "EmptyRDD");

  /**
   * The plan of an RDD.
   *
   * @param id of the RDD
   * @param shape its nodes as JSON
   * @param leaves all relations below it, by their keys
   * @param inside the origins of the RDDs in it, and of those in these
   */
  record Origin(int id, String shape, Map<Object, String> leaves, Map<Integer, Origin> inside) {}

  /**
   * Where the rows of a LogicalRDD come from.
   *
   * @param origins of them; one alone if they are its rows as they were
   * @param exact whether they are
   * @param unknown the kinds of RDDs whose rows come from elsewhere
   */
  record Rows(List<Origin> origins, boolean exact, Set<String> unknown) {
    /** Whether there is nothing to tell: the rows are the driver's own. */
    boolean areMade() {
      return origins.isEmpty() && unknown.isEmpty();
    }
  }

  private RddOrigins() {}

  /** The rows of an RDD are those of a plan. */
  static void put(RDD<?> rdd, Origin origin) {
    if (origin.inside().size() < MOST) KNOWN.put(rdd, origin);
  }

  /** The rows of a LogicalRDD: by its own RDD, else by those that this one is made of. */
  static Rows of(RDD<?> rdd) {
    Origin own = KNOWN.get(rdd);
    if (own != null) return new Rows(List.of(own), true, Set.of());
    List<Origin> origins = new ArrayList<>();
    Set<String> unknown = new LinkedHashSet<>();
    Set<RDD<?>> seen = new HashSet<>();
    ArrayDeque<RDD<?>> todo = new ArrayDeque<>(List.of(rdd));
    while (!todo.isEmpty()) {
      RDD<?> next = todo.pop();
      if (!seen.add(next)) continue;
      Origin origin = KNOWN.get(next);
      if (origin != null) {
        origins.add(origin);
        continue;
      }
      // Of an RDD that was checkpointed, the checkpoint alone.
      List<Dependency<?>> below = dependencies(next);
      String kind = next.getClass().getSimpleName();
      if (below.isEmpty() && !OF_THE_DRIVER.contains(kind)) unknown.add(kind);
      if (seen.size() > LONGEST_WALK) {
        unknown.add("more RDDs than are looked at");
        break;
      }
      for (Dependency<?> one : below) todo.push(one.rdd());
    }
    return new Rows(origins, false, unknown);
  }

  @SuppressWarnings("unchecked") // Scala's existential types are raw ones to Java
  private static List<Dependency<?>> dependencies(RDD<?> rdd) {
    return (List<Dependency<?>>) (List<?>) Scala.list(rdd.dependencies());
  }

  /** Origins by the ids of their RDDs, with those inside of them. */
  static Map<Integer, Origin> withInside(Iterable<Origin> origins) {
    Map<Integer, Origin> found = new LinkedHashMap<>();
    for (Origin origin : origins) {
      found.put(origin.id(), origin);
      found.putAll(origin.inside());
    }
    return found;
  }
}
