package io.sparkaccesshistory.policies;

import io.sparkaccesshistory.statements.ShownColumn;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.commands.DescribeDeltaHistoryCommand;

/**
 * DESCRIBE HISTORY without what each change was asked for: the condition of a DELETE holds values,
 * and masks hide them.
 */
public final class HistoryWithoutParameters extends ShownColumn {
  private static final long serialVersionUID = 1L;

  public HistoryWithoutParameters(DescribeDeltaHistoryCommand history) {
    super(history, "operationParameters"); // Delta 4.4
  }

  @Override
  protected Object shown(SparkSession session, Row row, List<String> names) {
    return null;
  }
}
