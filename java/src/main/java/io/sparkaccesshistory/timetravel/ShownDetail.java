package io.sparkaccesshistory.timetravel;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.statements.ShownColumn;
import io.sparkaccesshistory.statements.StatementGateway;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.commands.DescribeDeltaDetailCommand;

/** DESCRIBE DETAIL, with the properties of a table as its owner has set them. */
public final class ShownDetail extends ShownColumn {
  private static final long serialVersionUID = 1L;

  public ShownDetail(DescribeDeltaDetailCommand detail) {
    super(detail, "properties");
  }

  @Override
  protected Object shown(SparkSession session, Row row, List<String> names) {
    int at = names.indexOf("properties");
    StatementGateway driver = StatementGateway.installed();
    if (driver == null) return row.get(at);
    Map<String, String> all = row.getJavaMap(at);
    String location = row.getString(names.indexOf("location"));
    return Scala.immutable(RetentionProperties.shown(driver, session, location, all));
  }
}
