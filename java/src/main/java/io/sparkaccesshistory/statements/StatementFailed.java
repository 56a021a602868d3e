package io.sparkaccesshistory.statements;

import org.apache.spark.SparkThrowable;

/**
 * A statement of ours has failed; the message is that of the driver's error, `[CODE] problem; way
 * out`. Handlers of scripts catch what is a SparkThrowable alone (Spark 4.2).
 */
public final class StatementFailed extends RuntimeException implements SparkThrowable {
  private static final long serialVersionUID = 1L;

  public StatementFailed(String message) {
    super(message);
  }

  @Override
  public String getCondition() {
    String message = getMessage();
    int end = message.indexOf(']');
    return message.startsWith("[") && end > 0 ? message.substring(1, end) : "AUDIT";
  }

  /** What SIGNAL raises; a handler for SQLEXCEPTION does not catch class XX (Spark 4.2). */
  @Override
  public String getSqlState() {
    return "45000";
  }
}
