package io.sparkaccesshistory.statements;

import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericRow;
import org.apache.spark.sql.execution.command.RunnableCommand;
import scala.collection.immutable.Seq;

/** A command that shows rows, with other values in one of its columns. */
public abstract class ShownColumn extends LeafCommand {
  private static final long serialVersionUID = 1L;

  private final RunnableCommand command;
  private final String column;

  protected ShownColumn(RunnableCommand command, String column) {
    super(command.output());
    this.command = command;
    this.column = column;
  }

  /** The value that a row shows in the column; `names` are those of all columns. */
  protected abstract Object shown(
      org.apache.spark.sql.classic.SparkSession session, Row row, List<String> names);

  @Override
  public Seq<Row> run(SparkSession session) {
    List<String> names = new ArrayList<>();
    var columns = Scala.list(command.output());
    for (var one : columns) names.add(one.name());
    int at = names.indexOf(column);
    if (at < 0) throw new SecurityException("an answer without column " + column);
    List<Row> found = new ArrayList<>();
    for (Row row : Scala.list(command.run(session))) {
      Object[] values = new Object[row.length()];
      for (int i = 0; i < values.length; i++) values[i] = row.get(i);
      values[at] = shown((org.apache.spark.sql.classic.SparkSession) session, row, names);
      found.add(new GenericRow(values));
    }
    return Scala.seq(found);
  }

  @Override
  protected Object[] parameters() {
    return new Object[] {command};
  }
}
