package io.sparkaccesshistory.policies;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.statements.LeafCommand;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericRow;
import org.apache.spark.sql.delta.commands.DescribeDeltaHistoryCommand;
import scala.collection.immutable.Seq;

/**
 * DESCRIBE HISTORY without what each change was asked for: the condition of a DELETE holds values,
 * and masks hide them.
 */
public final class ShownHistory extends LeafCommand {
  private static final long serialVersionUID = 1L;

  /** The column of Delta's that holds conditions (Delta 4.4). */
  private static final String HIDDEN = "operationParameters";

  private final DescribeDeltaHistoryCommand history;

  public ShownHistory(DescribeDeltaHistoryCommand history) {
    super(history.output());
    this.history = history;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    int hidden = -1;
    var columns = Scala.list(history.output());
    for (int i = 0; i < columns.size(); i++) if (columns.get(i).name().equals(HIDDEN)) hidden = i;
    if (hidden < 0) throw new SecurityException("a history without column " + HIDDEN);
    List<Row> found = new ArrayList<>();
    for (Row row : Scala.list(history.run(session))) {
      Object[] values = new Object[row.length()];
      for (int i = 0; i < values.length; i++) values[i] = i == hidden ? null : row.get(i);
      found.add(new GenericRow(values));
    }
    return Scala.seq(found);
  }

  @Override
  protected Object[] parameters() {
    return new Object[] {history};
  }
}
