package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.TableIdentifier;
import scala.Option;
import scala.collection.Seq;

/** Names, values and JSON of what is read from a plan. */
final class PlanText {
  private PlanText() {}

  static String identifierName(TableIdentifier identifier) {
    Object database = some(identifier.database());
    Object catalog = some(identifier.catalog());
    String name = quoted(identifier.table());
    if (database == null) return name;
    return (catalog == null ? "spark_catalog" : quoted((String) catalog))
        + "."
        + quoted((String) database)
        + "."
        + name;
  }

  static String qualified(Object catalog, Object identifier) {
    if (identifier == null) return null;
    StringBuilder name = new StringBuilder();
    if (catalog != null) name.append(quoted((String) Members.call(catalog, "name"))).append('.');
    String[] space = (String[]) Members.call(identifier, "namespace");
    for (var one : space) name.append(quoted(one)).append('.');
    return name.append(quoted((String) Members.call(identifier, "name"))).toString();
  }

  static String namespace(Object catalog, List<?> parts) {
    StringBuilder name = new StringBuilder(quoted((String) Members.call(catalog, "name")));
    for (var one : parts) name.append('.').append(quoted((String) one));
    return name.toString();
  }

  static String quoted(String part) {
    return part.indexOf('.') < 0 && part.indexOf('`') < 0
        ? part
        : "`" + part.replace("`", "``") + "`";
  }

  static StringBuilder identifier(StringBuilder out, TableIdentifier identifier) {
    text(out.append("{\"table\":"), identifier.table());
    put(out, "database", some(identifier.database()));
    put(out, "catalog", some(identifier.catalog()));
    return out.append('}');
  }

  static Object some(Object value) {
    return value instanceof Option ? Scala.orNull((Option<?>) value) : value;
  }

  static String kind(Object value) {
    String name = value.getClass().getName();
    while (name.endsWith("$")) name = name.substring(0, name.length() - 1);
    return name.substring(Math.max(name.lastIndexOf('.'), name.lastIndexOf('$')) + 1);
  }

  static List<?> list(Object values) {
    return Scala.list((Seq<?>) values);
  }

  static String dotted(Object values) {
    StringBuilder found = new StringBuilder();
    for (Object one : list(values)) found.append(found.length() == 0 ? "" : ".").append(one);
    return found.toString();
  }

  static void put(StringBuilder out, String name, Object value) {
    if (value != null) text(out.append(",\"").append(name).append("\":"), value);
  }

  static void strings(StringBuilder out, List<?> values) {
    out.append('[');
    for (int i = 0; i < values.size(); i++) {
      if (i > 0) out.append(',');
      text(out, values.get(i));
    }
    out.append(']');
  }

  static void text(StringBuilder out, Object value) {
    String text = String.valueOf(value);
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (c < ' ' || c > '~') {
        out.append("\\u")
            .append(Character.forDigit(c >> 12, 16))
            .append(Character.forDigit(c >> 8 & 15, 16))
            .append(Character.forDigit(c >> 4 & 15, 16))
            .append(Character.forDigit(c & 15, 16));
      } else out.append(c);
    }
    out.append('"');
  }
}
