package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.Scala;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.FileSourceScanLike;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ReusedSubqueryExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.execution.metric.SQLMetric;

/**
 * What Spark counted while a plan ran, null where it did not; `problem` is why it cannot be read.
 */
record PlanMetrics(Long bytesScanned, Long rowsWritten, Long bytesWritten, String problem) {
  static final PlanMetrics NONE = new PlanMetrics(null, null, null, null);

  private static final Set<String> WRITERS =
      Set.of(
          "DataWritingCommandExec",
          "AppendDataExec",
          "OverwriteByExpressionExec",
          "OverwritePartitionsDynamicExec",
          "AtomicCreateTableAsSelectExec",
          "AtomicReplaceTableAsSelectExec",
          "CreateTableAsSelectExec",
          "ReplaceTableAsSelectExec",
          "WriteToDataSourceV2Exec",
          "ExecutedCommandExec");
  // A MERGE's numOutputRows counts rows that it only copies (Delta 4.4).
  private static final String[][] ROWS = {
    {"numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"},
    {"numUpdatedRows"},
    {"numDeletedRows"},
    {"numOutputRows"}
  };

  /**
   * Of an execution that has succeeded. A failure here must not lose the event that told of it.
   *
   * @param counted ids of the metrics that were read already: an execution and one inside it may
   *     hold the same scan, and a cached plan is found by all who read the cache
   */
  static PlanMetrics of(QueryExecution execution, Set<Long> counted) {
    try {
      boolean batch = execution.getClass().getSimpleName().equals("IncrementalExecution");
      return new Walk(counted, batch).over(execution.executedPlan());
    } catch (RuntimeException | LinkageError e) {
      return new PlanMetrics(null, null, null, e.toString());
    }
  }

  private static final class Walk {
    private final Set<Long> counted;
    private final boolean batch;
    private final Set<SparkPlan> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final ArrayDeque<SparkPlan> todo = new ArrayDeque<>();
    private Long scanned;
    private Long rows;
    private Long bytes;

    Walk(Set<Long> counted, boolean batch) {
      this.counted = counted;
      this.batch = batch;
    }

    PlanMetrics over(SparkPlan root) {
      todo.push(root);
      while (!todo.isEmpty()) {
        SparkPlan node = todo.pop();
        if (seen.add(node)) visit(node);
      }
      return new PlanMetrics(scanned, rows, bytes, null);
    }

    private void visit(SparkPlan node) {
      // The metrics of a node that never ran are made, and registered, by whoever asks for them.
      if (node instanceof FileSourceScanLike) scan((FileSourceScanLike) node);
      if (WRITERS.contains(node.getClass().getSimpleName())) written(metrics(node));
      for (SparkPlan child : Scala.list(node.children())) todo.push(child);
      for (SparkPlan subquery : Scala.list(node.subqueries())) todo.push(subquery);
      SparkPlan inside = inside(node);
      if (inside != null) todo.push(inside);
    }

    private static Map<String, SQLMetric> metrics(SparkPlan node) {
      return Scala.map(node.metrics());
    }

    /** What some leaves hold (Spark 4.2). */
    private static SparkPlan inside(SparkPlan node) {
      if (node instanceof AdaptiveSparkPlanExec)
        return ((AdaptiveSparkPlanExec) node).executedPlan();
      if (node instanceof QueryStageExec) return ((QueryStageExec) node).plan();
      if (node instanceof ReusedExchangeExec) return ((ReusedExchangeExec) node).child();
      if (node instanceof ReusedSubqueryExec) return ((ReusedSubqueryExec) node).child();
      if (node instanceof InMemoryTableScanExec)
        return ((InMemoryTableScanExec) node).relation().cachedPlan();
      if (node instanceof CommandResultExec)
        return ((CommandResultExec) node).commandPhysicalPlan();
      return null;
    }

    private void scan(FileSourceScanLike scan) {
      // Delta's reads of its own log are not the user's.
      Object files = scan.relation().location();
      if (files.getClass().getSimpleName().equals("DeltaLogFileIndex")) return;
      Map<String, SQLMetric> metrics = metrics((SparkPlan) scan);
      SQLMetric metric = metrics.get("filesSize");
      // Never set: a plan that runs again has forgotten its files.
      if (metric == null || metric.isZero() || unread(metrics)) return;
      if (!counted.add(metric.id())) return;
      scanned = (scanned == null ? 0 : scanned) + metric.value();
    }

    /**
     * Whether no task has run: Spark plans the files of a micro-batch for a function that may not
     * look at them (4.2, ForeachBatchSink).
     */
    private boolean unread(Map<String, SQLMetric> metrics) {
      SQLMetric rows = metrics.get("numOutputRows");
      SQLMetric time = metrics.get("scanTime");
      return batch && rows != null && rows.value() <= 0 && (time == null || time.isZero());
    }

    private void written(Map<String, SQLMetric> metrics) {
      for (String[] names : ROWS) {
        Long sum = null;
        for (String name : names) sum = plus(sum, metrics.get(name));
        if (sum == null) continue;
        rows = (rows == null ? 0 : rows) + sum;
        break;
      }
      bytes = plus(bytes, metrics.get("numOutputBytes"));
    }

    private static Long plus(Long sum, SQLMetric metric) {
      if (metric == null) return sum;
      return (sum == null ? 0 : sum) + Math.max(metric.value(), 0);
    }
  }
}
