package io.sparkaccesshistory.policies.model;

import java.util.Locale;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.Snapshot;

/** What privileges are had on, as `policies/privileges.py` knows it. */
public class Securable {
  public static final Securable ACCOUNT = new Securable("account", "account:", null, null);

  /** Files that are no table's: in no schema. */
  public static final Securable FILES = new Securable("files", "account:", null, null);

  public final String noun, key, schema;
  public final TableIdentifier id;
  public final Path place;

  private Securable(String noun, String key, TableIdentifier id, Path place) {
    this.noun = noun;
    this.key = key;
    this.id = id;
    this.place = place;
    schema = id == null || noun.equals("schema") ? null : Relations.schemaOf(id);
  }

  public static Securable of(String noun, String key, TableIdentifier id) {
    return new Securable(noun, key, id, null);
  }

  /** A table that is known by its place alone. */
  public static Securable at(String key, Path place) {
    return new Securable("table", key, null, place);
  }

  public static Securable schema(TableIdentifier id) {
    return new Securable("schema", Relations.schemaOf(id), id, null);
  }

  /**
   * A backup set by the event that created it: in no schema here, since OWNERSHIP is of it alone.
   */
  public static Securable backupSet(String id) {
    return new Securable("backup set", "backup_set:" + id, null, null);
  }

  public static Securable function(FunctionIdentifier name) {
    TableIdentifier id = TableIdentifier.apply(name.funcName(), name.database(), name.catalog());
    return new Securable("function", "function:" + full(id).toLowerCase(Locale.ROOT), id, null);
  }

  private static String full(TableIdentifier id) {
    String catalog = id.catalog().isEmpty() ? "spark_catalog" : id.catalog().get();
    return catalog + '.' + id.database().get() + '.' + id.table();
  }

  /** What tells it from others by its name alone. */
  public String named() {
    return noun + ' ' + name().toLowerCase(Locale.ROOT);
  }

  public String name() {
    if (id != null)
      return noun.equals("schema")
          ? full(id).substring(0, full(id).length() - 1 - id.table().length())
          : full(id);
    return place == null ? "" : "delta.`" + place + '`';
  }

  /** The key of what has this name now; null where nothing has. */
  public String keyNow(SparkSession session) {
    SessionCatalog catalog = session.sessionState().catalog();
    if (noun.equals("schema")) return catalog.databaseExists(id.database().get()) ? key : null;
    if (noun.equals("function"))
      return catalog.isPersistentFunction(
              FunctionIdentifier.apply(id.table(), id.database(), id.catalog()))
          ? key
          : null;
    try {
      if (!catalog.tableExists(id)) return null;
      var location = catalog.getTableMetadata(id).storage().locationUri();
      Snapshot found = location.isEmpty() ? null : Relations.at(session, new Path(location.get()));
      return found == null ? Relations.keyOf(id) : Relations.keyOf(found);
    } catch (NoSuchTableException e) {
      return null;
    } catch (NoSuchNamespaceException e) {
      return null;
    }
  }

  /** For a GRANT. */
  public String spelled() {
    return noun.equals("files") ? "ACCOUNT" : (noun.toUpperCase(Locale.ROOT) + ' ' + name()).trim();
  }

  public String toString() {
    return (noun + ' ' + name()).trim();
  }
}
