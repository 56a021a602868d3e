package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.Scala;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Where a source outside of Spark's catalogs and file systems lies, as its options say: a table
 * behind JDBC, topics of Kafka. Python gives it a name.
 */
final class ForeignSource {
  /** All that leaves the JVM: no user, no password. */
  private static final List<String> NAMING =
      List.of(
          "url",
          "dbtable",
          "kafka.bootstrap.servers",
          "subscribe",
          "subscribepattern",
          "assign",
          "topic");

  private ForeignSource() {}

  /**
   * Of a relation that a plan reads, or of a node that holds one (Spark 4.2); null of any other.
   */
  static Map<String, String> of(Object relation) {
    if (relation == null) return null;
    switch (relation.getClass().getSimpleName()) {
      case "JDBCRelation":
        Object options = Members.call(relation, "jdbcOptions");
        Map<String, String> found = new LinkedHashMap<>();
        found.put("provider", "jdbc");
        found.put("url", String.valueOf(Members.call(options, "url")));
        found.put("dbtable", String.valueOf(Members.call(options, "tableOrQuery")));
        return found;
      case "KafkaRelation":
        return named("kafka", Members.field(relation, "sourceOptions"));
      case "StreamingDataSourceV2Relation":
        return of(Members.call(relation, "table"), Members.call(relation, "options"));
      case "StreamingRelationV2":
        return of(Members.call(relation, "table"), Members.call(relation, "extraOptions"));
      default:
        return null;
    }
  }

  /** Of a table of Spark's second interface. */
  private static Map<String, String> of(Object table, Object options) {
    return named(table == null ? null : PlanText.kind(table), options);
  }

  /** By the name of a provider, or the class of its table; null where its options are not known. */
  static Map<String, String> named(String provider, Object options) {
    boolean kafka = "KafkaTable".equals(provider) || "kafka".equals(provider);
    if (options == null || !kafka && !"jdbc".equals(provider)) return null;
    Map<String, String> found = new LinkedHashMap<>();
    found.put("provider", kafka ? "kafka" : provider);
    Map<?, ?> given =
        options instanceof scala.collection.Map
            ? Scala.map((scala.collection.Map<?, ?>) options)
            : (Map<?, ?>) options;
    given.forEach(
        (key, value) -> {
          String name = String.valueOf(key).toLowerCase();
          if (NAMING.contains(name)) found.put(name, String.valueOf(value));
        });
    return found;
  }
}
