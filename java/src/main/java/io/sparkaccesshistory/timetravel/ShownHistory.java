package io.sparkaccesshistory.timetravel;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.statements.LeafCommand;
import io.sparkaccesshistory.statements.StatementGateway;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericRow;
import org.apache.spark.sql.delta.commands.DescribeDeltaHistoryCommand;
import scala.collection.immutable.Seq;

/** DESCRIBE HISTORY, with the properties that each commit has set as the table's owner has. */
public final class ShownHistory extends LeafCommand {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String PROPERTIES = "properties";

  private final DescribeDeltaHistoryCommand history;

  public ShownHistory(DescribeDeltaHistoryCommand history) {
    super(history.output());
    this.history = history;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    StatementGateway driver = StatementGateway.installed();
    List<Row> rows = Scala.list(history.run(session));
    if (driver == null) return Scala.seq(rows);
    List<String> names = new ArrayList<>();
    var columns = Scala.list(history.output());
    for (var column : columns) names.add(column.name());
    int at = names.indexOf("operationParameters");
    List<Row> found = new ArrayList<>();
    for (Row row : rows)
      found.add(shown(driver, (org.apache.spark.sql.classic.SparkSession) session, row, at));
    return Scala.seq(found);
  }

  private Row shown(
      StatementGateway driver, org.apache.spark.sql.classic.SparkSession session, Row row, int at) {
    Map<String, String> parameters = row.isNullAt(at) ? Map.of() : row.getJavaMap(at);
    Map<String, String> set = properties(parameters.get(PROPERTIES));
    if (set.keySet().stream().noneMatch(RetentionProperties::isOne)) return row;
    Map<String, String> now = new LinkedHashMap<>(parameters);
    String location = history.table().path().toString();
    now.put(
        PROPERTIES,
        JSON.valueToTree(RetentionProperties.shown(driver, session, location, set)).toString());
    Object[] values = new Object[row.length()];
    for (int i = 0; i < values.length; i++) values[i] = row.get(i);
    values[at] = Scala.immutable(now);
    return new GenericRow(values);
  }

  /** What a commit has set, which Delta (4.4) keeps as JSON; it keeps a list where it has unset. */
  private static Map<String, String> properties(String text) {
    if (text == null) return Map.of();
    try {
      JsonNode found = JSON.readTree(text);
      return found.isObject() ? RetentionProperties.texts(found) : Map.of();
    } catch (JsonProcessingException e) {
      return Map.of(); // a parameter of that name that is none of these
    }
  }

  @Override
  protected Object[] parameters() {
    return new Object[] {history};
  }
}
