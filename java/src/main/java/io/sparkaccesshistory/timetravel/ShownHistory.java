package io.sparkaccesshistory.timetravel;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.statements.ShownColumn;
import io.sparkaccesshistory.statements.StatementGateway;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.commands.DescribeDeltaHistoryCommand;

/** DESCRIBE HISTORY, with the properties that each commit has set as the table's owner has. */
public final class ShownHistory extends ShownColumn {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String COLUMN = "operationParameters";
  private static final String PROPERTIES = "properties";

  private final String location;

  public ShownHistory(DescribeDeltaHistoryCommand history) {
    super(history, COLUMN);
    location = history.table().path().toString();
  }

  @Override
  protected Object shown(SparkSession session, Row row, List<String> names) {
    int at = names.indexOf(COLUMN);
    StatementGateway driver = StatementGateway.installed();
    if (driver == null || row.isNullAt(at)) return row.get(at);
    Map<String, String> parameters = row.getJavaMap(at);
    Map<String, String> set = properties(parameters.get(PROPERTIES));
    if (set.keySet().stream().noneMatch(RetentionProperties::isOne)) return row.get(at);
    Map<String, String> now = new LinkedHashMap<>(parameters);
    now.put(
        PROPERTIES,
        JSON.valueToTree(RetentionProperties.shown(driver, session, location, set)).toString());
    return Scala.immutable(now);
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
}
