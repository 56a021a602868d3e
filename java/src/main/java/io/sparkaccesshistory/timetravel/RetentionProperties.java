package io.sparkaccesshistory.timetravel;

import com.fasterxml.jackson.databind.JsonNode;
import io.sparkaccesshistory.statements.StatementGateway;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;

/** The properties of a table that retention sets, see `table_properties.py`. */
public final class RetentionProperties {
  private static final String OURS = "timetravel.";
  private static final List<String> DELTAS =
      List.of("delta.deletedfileretentionduration", "delta.logretentionduration");

  private RetentionProperties() {}

  /** Whether a property is one of Delta's that retention sets, too. */
  static boolean isDeltas(String name) {
    return DELTAS.contains(name.toLowerCase(Locale.ROOT));
  }

  /** Whether a property is one that retention alone has. */
  static boolean isOurs(String name) {
    return name.toLowerCase(Locale.ROOT).startsWith(OURS);
  }

  /** Whether a property is one of retention. */
  public static boolean isOne(String name) {
    return isOurs(name) || isDeltas(name);
  }

  /** The properties of a table as its owner has set them. */
  static Map<String, String> shown(
      StatementGateway driver,
      SparkSession session,
      String location,
      Map<String, String> properties) {
    Map<String, Object> facts = Map.of("location", location, "properties", properties);
    return texts(driver.tell("shown", facts, session).get("properties"));
  }

  static Map<String, String> texts(JsonNode values) {
    Map<String, String> found = new LinkedHashMap<>();
    for (var pair : values.properties()) found.put(pair.getKey(), pair.getValue().asText());
    return found;
  }
}
