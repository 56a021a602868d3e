package io.sparkaccesshistory.timetravel;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.statements.LeafCommand;
import io.sparkaccesshistory.timetravel.files.TableCloner;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import scala.collection.immutable.Seq;

/**
 * CREATE TABLE … LIKE a view, or a table of another format: Delta (4.4) makes the table without its
 * properties, which are set afterwards.
 */
public final class CreateLikeView extends LeafCommand {
  private static final long serialVersionUID = 1L;

  private final CreateTableLikeCommand create;
  private final String location;
  private final String properties;

  public CreateLikeView(CreateTableLikeCommand create, String location, String properties) {
    super(create.output());
    this.create = create;
    this.location = location;
    this.properties = properties;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    create.run(session);
    try {
      new TableCloner()
          .set((org.apache.spark.sql.classic.SparkSession) session, location, properties);
    } catch (Exception e) {
      throw new IllegalStateException(
          "the retention of " + create.targetTable() + " could not be set", e);
    }
    return Scala.none();
  }

  @Override
  protected Object[] parameters() {
    return new Object[] {create, location, properties};
  }
}
