package io.sparkaccesshistory.timetravel;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.statements.LeafCommand;
import io.sparkaccesshistory.statements.StatementGateway;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericRow;
import org.apache.spark.sql.delta.commands.DescribeDeltaDetailCommand;
import scala.collection.immutable.Seq;

/** DESCRIBE DETAIL, with the properties of a table as its owner has set them. */
public final class ShownDetail extends LeafCommand {
  private static final long serialVersionUID = 1L;

  private final DescribeDeltaDetailCommand detail;

  public ShownDetail(DescribeDeltaDetailCommand detail) {
    super(detail.output());
    this.detail = detail;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    StatementGateway driver = StatementGateway.installed();
    List<Row> rows = Scala.list(detail.run(session));
    if (driver == null) return Scala.seq(rows);
    List<Row> found = new ArrayList<>();
    for (Row row : rows) found.add(shown(driver, session, row));
    return Scala.seq(found);
  }

  private Row shown(StatementGateway driver, SparkSession session, Row row) {
    List<String> names = new ArrayList<>();
    var columns = Scala.list(detail.output());
    for (var column : columns) names.add(column.name());
    Object[] values = new Object[row.length()];
    for (int i = 0; i < values.length; i++) values[i] = row.get(i);
    int at = names.indexOf("properties");
    Map<String, String> all = row.getJavaMap(at);
    String location = row.getString(names.indexOf("location"));
    values[at] =
        Scala.immutable(
            RetentionProperties.shown(
                driver, (org.apache.spark.sql.classic.SparkSession) session, location, all));
    return new GenericRow(values);
  }

  @Override
  protected Object[] parameters() {
    return new Object[] {detail};
  }
}
