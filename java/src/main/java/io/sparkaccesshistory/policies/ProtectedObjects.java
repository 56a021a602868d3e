package io.sparkaccesshistory.policies;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import io.sparkaccesshistory.policies.rewrite.PolicyBodies;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import scala.Option;

/**
 * What policies protect: objects by their keys, and the tables of schemas whose tags protect them.
 */
public class ProtectedObjects {
  private final Map<String, Protection> tables = new ConcurrentHashMap<>();

  /** The schemas with tags that Delta tables are in, by their keys. */
  private final Map<String, String> homes = new ConcurrentHashMap<>();

  /** How many schemas have tags that mask. */
  private volatile int schemas = 0;

  private final SparkSession own;
  private final PolicyBodies bodies;

  /** `own` looks up which tables are in a schema. */
  public ProtectedObjects(SparkSession own, PolicyBodies bodies) {
    this.own = own;
    this.bodies = bodies;
  }

  /** Objects by their keys; null takes one away. */
  public void learn(Map<String, Protection.Definition> changes) {
    for (var entry : changes.entrySet()) {
      Protection now = entry.getValue() == null ? null : new Protection(entry.getValue());
      bodies.protect(of(entry.getKey()), now);
      if (now == null) tables.remove(entry.getKey());
      else tables.put(entry.getKey(), now);
    }
    int found = 0;
    for (String key : tables.keySet()) if (key.startsWith("schema:")) found++;
    schemas = found;
    homes.clear();
  }

  public Protection of(String key) {
    return tables.get(key);
  }

  /** What protects a table by its key: by itself, and by the tags of the schema that it is in. */
  public Protection of(String key, SparkSession session) {
    Protection found = of(key);
    if (schemas == 0 || !key.startsWith("delta:")) return found;
    Protection schema = of(schemaOf(key, session));
    return schema == null
        ? found
        : new Protection(found, schema, found == null ? schema.name + ".*" : found.name);
  }

  /**
   * The schema with tags that a Delta table is in, by their keys; "" for none. A table that is not
   * known yet makes all tables of these schemas known.
   */
  private synchronized String schemaOf(String key, SparkSession session) {
    Object found = homes.get(key);
    if (found == null) {
      for (String schema : tables.keySet()) {
        if (schema.startsWith("schema:")) assignTables(schema, session);
      }
      homes.putIfAbsent(key, "");
      found = homes.get(key);
    }
    return (String) found;
  }

  private void assignTables(String schema, SparkSession session) {
    String name = schema.substring(schema.indexOf('.') + 1);
    if (name.startsWith("`")) name = name.substring(1, name.length() - 1).replace("``", "`");
    SessionCatalog catalog = own.sessionState().catalog();
    if (!catalog.databaseExists(name)) return;
    var every = Scala.list(catalog.listTables(name));
    for (TableIdentifier table : every) {
      if (table.database().isEmpty()) continue;
      var location = tableOf(catalog, table);
      Snapshot snapshot = location.isEmpty() ? null : Relations.at(own, new Path(location.get()));
      if (snapshot != null) homes.put(Relations.keyOf(snapshot), schema);
    }
  }

  private static Option<URI> tableOf(SessionCatalog catalog, TableIdentifier name) {
    try {
      return catalog.getTableMetadata(name).storage().locationUri();
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchTableException e) {
      return Option.empty();
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException e) {
      return Option.empty();
    }
  }

  /** The key of the schema whose tags protect a Delta table; "" for none. */
  public String schemaOf(String key) {
    return schemas == 0 ? "" : schemaOf(key, own);
  }

  /** What protects a relation, by itself and by the tags of its schema; null for nothing. */
  public Protection of(LogicalPlan relation) {
    String key = Relations.keyOf(relation);
    if (key == null) return null;
    if (schemas == 0) return of(key);
    TableIdentifier name = Relations.nameOf(relation);
    Protection schema = name == null ? null : of(Relations.schemaOf(name));
    if (schema == null) return of(key, own);
    if (key.startsWith("delta:")) homes.put(key, Relations.schemaOf(name));
    return new Protection(of(key), schema, name.unquotedString());
  }

  public boolean any() {
    return !tables.isEmpty();
  }

  public void clear() {
    tables.clear();
  }
}
