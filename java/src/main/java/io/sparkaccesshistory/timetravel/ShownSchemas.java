package io.sparkaccesshistory.timetravel;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.ResolvedNamespace;
import org.apache.spark.sql.catalyst.plans.logical.DescribeNamespace;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A catalog whose schemas show no property of retention. */
final class ShownSchemas implements SupportsNamespaces {
  private final SupportsNamespaces catalog;

  private ShownSchemas(SupportsNamespaces catalog) {
    this.catalog = catalog;
  }

  /** The same command on a schema that shows what its owner has set. */
  static LogicalPlan of(DescribeNamespace plan) {
    if (!plan.extended() || !(plan.namespace() instanceof ResolvedNamespace)) return plan;
    ResolvedNamespace schema = (ResolvedNamespace) plan.namespace();
    if (!(schema.catalog() instanceof SupportsNamespaces)) return plan;
    var shown = new ShownSchemas((SupportsNamespaces) schema.catalog());
    return plan.copy(
        schema.copy(shown, schema.namespace(), schema.metadata()), plan.extended(), plan.output());
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace)
      throws NoSuchNamespaceException {
    Map<String, String> found = new LinkedHashMap<>(catalog.loadNamespaceMetadata(namespace));
    found.keySet().removeIf(RetentionProperties::isOurs);
    return found;
  }

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    catalog.initialize(name, options);
  }

  @Override
  public String name() {
    return catalog.name();
  }

  @Override
  public String[][] listNamespaces() throws NoSuchNamespaceException {
    return catalog.listNamespaces();
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    return catalog.listNamespaces(namespace);
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata)
      throws NamespaceAlreadyExistsException {
    catalog.createNamespace(namespace, metadata);
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes)
      throws NoSuchNamespaceException {
    catalog.alterNamespace(namespace, changes);
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    return catalog.dropNamespace(namespace, cascade);
  }
}
