package io.sparkaccesshistory.policies.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.VarcharType;

/** What protects an object: row access policies, masks, the masks of its tags. */
public class Protection {
  /** What Python says of an object. */
  public record Definition(
      String name,
      Map<String, String> names,
      @JsonProperty("isView") boolean isView,
      boolean hadRows,
      boolean sealed,
      List<List<PolicyUse>> rows,
      Map<String, PolicyUse> masks,
      Map<String, String> tagged) {}

  /** Keys of columns by their names, under a metadata of the table: of the last who asked. */
  private record KnownKeys(Object metadata, Map<String, String> byName) {}

  /** Of each list one policy has to let a row through. */
  public final List<List<PolicyUse>> rows = new ArrayList<>();

  public final Map<String, PolicyUse> masks = new HashMap<>();

  /** What the columns that policies name were called, by their keys. */
  public final Map<String, String> names;

  public final String name;
  public final boolean hadRows, isView;

  /** It is being replaced, and its policies with it. */
  public final boolean sealed;

  /**
   * What masks a column of a type that no mask of its own has, by `kindOf`: what the tags of the
   * object come to.
   */
  public final Map<String, String> tagged = new HashMap<>();

  private volatile KnownKeys known = new KnownKeys(null, new ConcurrentHashMap<>());

  public Protection(Definition definition) {
    name = definition.name();
    names = definition.names();
    isView = definition.isView();
    hadRows = definition.hadRows();
    sealed = definition.sealed();
    if (definition.tagged() != null) tagged.putAll(definition.tagged());
    rows.addAll(definition.rows());
    masks.putAll(definition.masks());
  }

  /**
   * A table and the schema that it is in, whose tags it has; a null table is one that nothing else
   * protects.
   */
  public Protection(Protection table, Protection schema, String name) {
    this.name = name;
    hadRows = table != null && table.hadRows;
    isView = table != null && table.isView;
    sealed = table != null && table.sealed;
    names = table == null ? new HashMap<>() : table.names;
    tagged.putAll(schema.tagged);
    if (table == null) return;
    rows.addAll(table.rows);
    masks.putAll(table.masks);
    tagged.putAll(table.tagged);
  }

  /** The keys of the columns that a relation has. */
  public List<String> keys(LogicalPlan relation, List<Attribute> output) {
    Object metadata = Relations.metadataOf(relation);
    KnownKeys now = known;
    if (now.metadata() != metadata)
      known = now = new KnownKeys(metadata, new ConcurrentHashMap<>());
    Map<String, Metadata> mapping = null;
    List<String> found = new ArrayList<>();
    for (Attribute column : output) {
      String key = now.byName().get(column.name());
      if (key == null) {
        if (mapping == null) mapping = Relations.mappingOf(relation);
        key = Relations.columnKey(column, mapping);
        now.byName().put(column.name(), key);
      }
      found.add(key);
    }
    return found;
  }

  /** The policies at work on it. */
  public List<String> used() {
    List<String> found = new ArrayList<>(tagged.values());
    for (PolicyUse mask : masks.values()) found.add(mask.policy());
    for (List<PolicyUse> any : rows) for (PolicyUse one : any) found.add(one.policy());
    return found;
  }

  /** Whether a column has a mask of its own, by the name that it had. */
  public boolean hasMasked(String column) {
    for (String key : masks.keySet()) if (column.equalsIgnoreCase(names.get(key))) return true;
    return false;
  }

  public boolean isInForce() {
    return sealed || !rows.isEmpty() || !masks.isEmpty() || !tagged.isEmpty();
  }

  /**
   * A type as policies of tags know it, as `kind_of` in `audit/policies/model/types.py`: its text,
   * and one word for all decimals and for all strings. A column is a VARCHAR here where
   * spark.sql.preserveCharVarcharTypeInfo is set (Spark 4.2).
   */
  public static String kindOf(DataType type) {
    if (type instanceof CharType || type instanceof VarcharType) return "string";
    return type instanceof DecimalType
        ? "decimal"
        : type.sql().toLowerCase(Locale.ROOT).replace(" ", "");
  }
}
