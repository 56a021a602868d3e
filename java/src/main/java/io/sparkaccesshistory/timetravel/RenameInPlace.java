package io.sparkaccesshistory.timetravel;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.statements.LeafCommand;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.classic.Dataset;
import scala.collection.immutable.Seq;

/** ALTER TABLE … RENAME of a managed table whose files stay where they are. */
public final class RenameInPlace extends LeafCommand {
  private static final long serialVersionUID = 1L;

  /** The retention of a table whose files clones read, see `table_properties.py`. */
  static final String PINNED = "interval 36500 days";

  private final RenameTable rename;
  private final CatalogTable table;

  public RenameInPlace(RenameTable rename, CatalogTable table) {
    super(rename.output());
    this.rename = rename;
    this.table = table;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    var own = (org.apache.spark.sql.classic.SparkSession) session;
    String schema = table.identifier().database().get();
    try {
      new CatalogStore().makeExternal(own, schema, table.identifier().table(), null);
    } catch (Exception e) {
      throw new IllegalStateException(
          table.identifier() + " could not be made external, so its files would move", e);
    }
    Dataset.ofRows(own, rename);
    return Scala.none();
  }

  @Override
  protected Object[] parameters() {
    return new Object[] {rename, table};
  }
}
