import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLogFileIndex;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.DescribeDeltaHistory;
import org.apache.spark.sql.delta.commands.cdc.CDCReader;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** Reads that pass a protected table by: its files, its log, its history, streams. They are refused. */
class Files {
  private final Governor governor;
  private final SparkSession session;

  Files(Governor governor, SparkSession session) {
    this.governor = governor;
    this.session = session;
  }

  /** What would show more than policies do, and cannot be put behind them. */
  void refuse(LogicalPlan plan) {
    if (plan instanceof DescribeDeltaHistory && ((DescribeDeltaHistory) plan).child() instanceof ResolvedTable)
      refuseHistory(((ResolvedTable) ((DescribeDeltaHistory) plan).child()).table(), "its history");
    if (plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation)
      refuseFiles(((HadoopFsRelation) ((LogicalRelation) plan).relation()).location());
    if (plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof CDCReader.DeltaCDFRelation)
      requireOneTable((CDCReader.DeltaCDFRelation) ((LogicalRelation) plan).relation());
    if (plan instanceof HiveTableRelation)
      refuseHive(((HiveTableRelation) plan).tableMeta());
    if (plan instanceof DataSourceV2Relation) {
      Object table = ((DataSourceV2Relation) plan).table();
      if (table instanceof FileTable) refuseFiles(((FileTable) table).fileIndex());
      if (table.getClass().getName().startsWith("io.delta.") && governor.protectsAny())
        throw new SecurityException("this session reads Delta tables by Delta's kernel, which policies do not reach;"
            + " unset spark.databricks.delta.v2.enableMode");
    }
  }

  /** A table of Hive's has its files at its place, and its partitions have theirs anywhere. */
  private void refuseHive(CatalogTable table) {
    refuseUnder(new Path(table.location()));
    if (table.partitionColumnNames().isEmpty()) return;
    List parts = CollectionConverters.asJava(session.sessionState().catalog().listPartitions(table.identifier(), Option.empty()));
    for (int i = 0; i < parts.size(); i++) refuseUnder(new Path(((CatalogTablePartition) parts.get(i)).location()));
  }

  void refuseHistory(Object table, String what) {
    if (!(table instanceof DeltaTableV2)) return;
    Protection protection = governor.protection(Relations.keyOf(((DeltaTableV2) table).initialSnapshot()), session);
    if (protection != null) Walk.requireHistory(protection, governor.required(session), what);
  }

  /** A feed of changes that reaches over a REPLACE is that of several tables, each with policies of its own. */
  private static void requireOneTable(CDCReader.DeltaCDFRelation relation) {
    Snapshot now = relation.snapshotWithSchemaMode().snapshot();
    Option start = relation.startingVersion();
    long version = start.isEmpty() ? 0 : ((Number) start.get()).longValue();
    Snapshot then = now.deltaLog().getSnapshotAt(version, Option.empty(), Option.empty(), false);
    if (!then.metadata().id().equals(now.metadata().id()))
      throw new SecurityException("the changes asked of " + now.path().getParent() + " begin before the table was"
          + " replaced, which policies of the one before may hide; read those since then");
  }

  /** Files of a protected table, or of its log, are not read one by one. */
  private void refuseFiles(FileIndex index) {
    if (index instanceof TahoeFileIndex || index instanceof DeltaLogFileIndex) return;
    Map folders = new HashMap();
    List roots = CollectionConverters.asJava(index.rootPaths());
    for (int i = 0; i < roots.size(); i++)
      for (Path folder = (Path) roots.get(i); folder != null; folder = folder.getParent()) folders.put(folder, Boolean.TRUE);
    String[] files = index.inputFiles();
    for (int i = 0; i < files.length; i++) {
      Path folder = new Path(java.net.URI.create(files[i])).getParent();
      while (folder != null && folders.put(folder, Boolean.TRUE) == null) folder = folder.getParent();
    }
    Iterator each = folders.keySet().iterator();
    while (each.hasNext()) refuseAt((Path) each.next());
  }

  /** Refuses what lies in the folder of a protected table. */
  void refuseUnder(Path path) {
    for (Path folder = Relations.qualified(session, path); folder != null; folder = folder.getParent()) refuseAt(folder);
  }

  /** The same of all that a pattern stands for. */
  void refuseGlob(String pattern) {
    try {
      Path path = new Path(pattern);
      org.apache.hadoop.fs.FileStatus[] found = path.getFileSystem(session.sessionState().newHadoopConf()).globStatus(path);
      for (int i = 0; found != null && i < found.length; i++) refuseUnder(found[i].getPath());
    } catch (java.io.IOException e) {
      throw new SecurityException("whether policies protect " + pattern + " cannot be told: " + e.getMessage());
    }
  }

  private void refuseAt(Path folder) {
    Protection protection = at(folder);
    if (protection != null && (protection.isInForce() || (protection.hadRows && !governor.required(session).isAdmin)))
      throw new SecurityException("these are files of " + protection.name + ", which policies protect; read the table");
  }

  Protection at(Path folder) {
    Snapshot found = Relations.at(session, folder);
    return found == null ? null : governor.protection(Relations.keyOf(found), session);
  }

  /** A stream's batches are Delta's own reads: it may start where its user sees everything. */
  void refuseStreams(LogicalPlan plan) {
    List children = CollectionConverters.asJava(plan.children());
    for (int i = 0; i < children.size(); i++) refuseStreams((LogicalPlan) children.get(i));
    String place = null;
    if (plan instanceof StreamingRelation) {
      DataSource source = ((StreamingRelation) plan).dataSource();
      Option path = source.options().get("path");
      if (!path.isEmpty()) place = (String) path.get();
      else if (!source.catalogTable().isEmpty())
        place = ((CatalogTable) source.catalogTable().get()).location().toString();
    } else if (plan instanceof StreamingRelationV2 && ((StreamingRelationV2) plan).table() instanceof DeltaTableV2) {
      place = ((DeltaTableV2) ((StreamingRelationV2) plan).table()).path().toString();
    }
    if (place == null) return;
    for (Path folder = new Path(place); folder != null; folder = folder.getParent()) {
      Protection protection = at(folder);
      if (protection != null && !governor.bodies.showsAll(protection, governor.required(session)))
        throw new SecurityException("a stream would read " + protection.name + " as it is, and policies hide some of it;"
            + " read it in batches, or let a role start the stream that sees all of it");
    }
  }
}
