package io.sparkaccesshistory.policies;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Relations;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.CreateView;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** What names stand for, as JSON for Python: keys, columns and what follows from them. */
public class CatalogDescriptions {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * What a name stands for, as JSON: key, columns, partition columns, generation expressions; the
   * parts of its name, none for what is no entry of the session catalog.
   */
  public String describe(SparkSession session, String name) throws IOException {
    LogicalPlan plan = session.table(name).queryExecution().analyzed();
    while (plan instanceof SubqueryAlias) plan = ((SubqueryAlias) plan).child();
    Map<String, Object> found = new HashMap<>();
    found.put("key", Relations.keyOf(plan));
    found.put("isView", Boolean.valueOf(plan instanceof View));
    TableIdentifier id = Relations.nameOf(plan);
    List<String> parts = new ArrayList<>();
    found.put("name", parts);
    if (id != null) {
      parts.add(id.catalog().isEmpty() ? "spark_catalog" : id.catalog().get());
      parts.add(id.database().isEmpty() ? "" : id.database().get());
      parts.add(id.table());
    }
    var output = Scala.list(plan.output());
    List<List<Object>> columns = new ArrayList<>();
    Map<String, Metadata> mapping = Relations.mappingOf(plan);
    Map<String, String> generated = new HashMap<>();
    found.put("columns", columns);
    found.put("partitions", Relations.partitionsOf(plan));
    found.put("generated", generated);
    for (Attribute column : output) {
      List<Object> one = new ArrayList<>();
      columns.add(one);
      one.add(column.name());
      one.add(Relations.columnKey(column, mapping));
      Metadata said = mapping.get(column.name());
      one.add(
          said != null && said.contains(Relations.MAPPED)
              ? (Object) Long.valueOf(said.getLong(Relations.MAPPED))
              : null);
      one.add(column.dataType().sql());
      if (said != null && said.contains(Relations.GENERATED))
        generated.put(column.name(), said.getString(Relations.GENERATED));
    }
    return JSON.writeValueAsString(found);
  }

  /**
   * What a CREATE VIEW defines, as JSON: as `describe` tells of a view, and whether it may be
   * there, and be replaced. Nothing runs, and no view is made.
   */
  public String viewDefinition(SparkSession session, String text) throws Exception {
    LogicalPlan plan = session.sessionState().sqlParser().parsePlan(text);
    if (!(plan instanceof CreateView)
        || !(((CreateView) plan).child() instanceof UnresolvedIdentifier)) return "null";
    CreateView view = (CreateView) plan;
    List<String> parts =
        new ArrayList<>(Scala.list(((UnresolvedIdentifier) view.child()).nameParts()));
    CatalogManager catalogs = session.sessionState().catalogManager();
    if (parts.size() == 1) parts.add(0, String.join(".", catalogs.currentNamespace()));
    if (parts.size() == 2) parts.add(0, catalogs.currentCatalog().name());
    StructType schema = Dataset$.MODULE$.ofRows(session, view.query()).schema();
    var named = Scala.list(view.userSpecifiedColumns());
    List<List<Object>> columns = new ArrayList<>();
    if (!named.isEmpty() && named.size() != schema.fields().length)
      throw new SecurityException(
          "view "
              + String.join(".", parts)
              + " names "
              + named.size()
              + " columns, and its query has "
              + schema.fields().length
              + "; name each column of the query");
    for (int i = 0; i < schema.fields().length; i++) {
      String column = named.isEmpty() ? schema.fields()[i].name() : named.get(i)._1();
      List<Object> one = new ArrayList<>();
      columns.add(one);
      one.add(column);
      one.add(column.toLowerCase(Locale.ROOT));
      one.add(null);
      one.add(schema.fields()[i].dataType().sql());
    }
    Map<String, Object> found = new HashMap<>();
    found.put("key", "name:" + String.join(".", parts).toLowerCase(Locale.ROOT));
    found.put("isView", Boolean.TRUE);
    found.put("name", parts);
    found.put("columns", columns);
    found.put("partitions", List.of());
    found.put("generated", Map.of());
    found.put("ifNotExists", Boolean.valueOf(view.allowExisting()));
    found.put("replaces", Boolean.valueOf(view.replace()));
    return JSON.writeValueAsString(found);
  }

  /** All that the catalog knows of a table or view, as text; "" for none. */
  public String catalogEntry(SparkSession session, String schema, String name) throws Exception {
    SessionCatalog catalog = session.sessionState().catalog();
    TableIdentifier table = new TableIdentifier(name, Option.apply(schema));
    return catalog.tableExists(table) ? catalog.getTableMetadata(table).toString() : "";
  }
}
