package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.Scala;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;

/** Frames that have become an RDD, or were stored as one: tells `RddOrigins` their plans. */
public final class StoredFrames {
  /** The instance that Python holds. */
  public StoredFrames() {}

  /** The rows of an RDD are those of a frame. */
  public void remember(JavaRDD<?> rdd, Dataset<?> frame) {
    remember(rdd.rdd(), frame.queryExecution().analyzed());
  }

  /** A frame was stored, and another one reads what is stored. */
  public void rememberStored(Dataset<?> stored, Dataset<?> frame) {
    LogicalPlan plan = stored.queryExecution().analyzed();
    if (plan instanceof LogicalRDD)
      remember(((LogicalRDD) plan).rdd(), frame.queryExecution().analyzed());
  }

  /**
   * What a function of foreachBatch is given are the rows of the micro-batch that this thread runs.
   */
  public void rememberBatch(Dataset<?> batch) {
    LogicalPlan plan = batch.queryExecution().analyzed();
    String id =
        batch.sparkSession().sparkContext().getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
    QueryExecution running = id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
    if (running == null || !(plan instanceof LogicalRDD)) return;
    LogicalPlan origin = running.analyzed();
    // The sink stands above the query (WriteToMicroBatchDataSourceV1, Spark 4.2).
    if (PlanText.kind(origin).startsWith("WriteToMicroBatch"))
      origin = Scala.list(origin.children()).get(0);
    remember(((LogicalRDD) plan).rdd(), origin);
  }

  private static void remember(RDD<?> rdd, LogicalPlan plan) {
    RddOrigins.put(rdd, PlanFacts.origin(rdd.id(), plan));
  }
}
