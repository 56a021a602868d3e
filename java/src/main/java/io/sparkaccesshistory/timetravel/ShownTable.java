package io.sparkaccesshistory.timetravel;

import java.util.Map;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;

/** A Delta table that shows other properties than it has. */
final class ShownTable extends DeltaTableV2 {
  private static final long serialVersionUID = 1L;

  private final transient Map<String, String> shown;

  ShownTable(DeltaTableV2 table, Map<String, String> shown) {
    super(
        table.spark(),
        table.path(),
        table.catalogTable(),
        table.tableIdentifier(),
        table.timeTravelOpt(),
        table.options());
    this.shown = shown;
  }

  @Override
  public Map<String, String> properties() {
    return shown;
  }
}
