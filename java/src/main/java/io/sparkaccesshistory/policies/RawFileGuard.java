package io.sparkaccesshistory.policies;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
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

/**
 * Reads that pass a protected table by: its files, its log, its history, streams. They are refused.
 */
public class RawFileGuard {
  private final Governance governance;
  private final SparkSession session;

  public RawFileGuard(Governance governance, SparkSession session) {
    this.governance = governance;
    this.session = session;
  }

  /** What would show more than policies do, and cannot be put behind them. */
  public void refuse(LogicalPlan plan) {
    if (plan instanceof DescribeDeltaHistory
        && ((DescribeDeltaHistory) plan).child() instanceof ResolvedTable)
      refuseHistory(((ResolvedTable) ((DescribeDeltaHistory) plan).child()).table(), "its history");
    if (plan instanceof LogicalRelation
        && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation)
      refuseFiles(((HadoopFsRelation) ((LogicalRelation) plan).relation()).location());
    if (plan instanceof LogicalRelation
        && ((LogicalRelation) plan).relation() instanceof CDCReader.DeltaCDFRelation)
      requireOneTable((CDCReader.DeltaCDFRelation) ((LogicalRelation) plan).relation());
    if (plan instanceof HiveTableRelation) refuseHive(((HiveTableRelation) plan).tableMeta());
    if (plan instanceof DataSourceV2Relation) {
      Object table = ((DataSourceV2Relation) plan).table();
      if (table instanceof FileTable) refuseFiles(((FileTable) table).fileIndex());
      if (table.getClass().getName().startsWith("io.delta.") && governance.protections.any())
        throw new SecurityException(
            "this session reads Delta tables by Delta's kernel, which policies do not reach;"
                + " unset spark.databricks.delta.v2.enableMode");
    }
  }

  /** A table of Hive's has its files at its place, and its partitions have theirs anywhere. */
  private void refuseHive(CatalogTable table) {
    refuseUnder(new Path(table.location()));
    if (Scala.list(table.partitionColumnNames()).isEmpty()) return;
    var parts =
        Scala.list(
            session.sessionState().catalog().listPartitions(table.identifier(), Option.empty()));
    for (var one : parts) refuseUnder(new Path(one.location()));
  }

  public void refuseHistory(Object table, String what) {
    if (!(table instanceof DeltaTableV2)) return;
    Protection protection =
        governance.protections.of(
            Relations.keyOf(((DeltaTableV2) table).initialSnapshot()), session);
    if (protection != null)
      Governance.requireHistory(protection, governance.identities.require(session), what);
  }

  /**
   * A feed of changes that reaches over a REPLACE is that of several tables, each with policies of
   * its own.
   */
  private static void requireOneTable(CDCReader.DeltaCDFRelation relation) {
    Snapshot now = relation.snapshotWithSchemaMode().snapshot();
    var start = relation.startingVersion();
    long version = start.isEmpty() ? 0 : ((Number) start.get()).longValue();
    Snapshot then = now.deltaLog().getSnapshotAt(version, Option.empty(), Option.empty(), false);
    if (!then.metadata().id().equals(now.metadata().id()))
      throw new SecurityException(
          "the changes asked of "
              + now.path().getParent()
              + " begin before the table was"
              + " replaced, which policies of the one before may hide; read those since then");
  }

  /** Files of a protected table, or of its log, are not read one by one. */
  private void refuseFiles(FileIndex index) {
    if (index instanceof TahoeFileIndex || index instanceof DeltaLogFileIndex) return;
    Set<Path> folders = new HashSet<>();
    boolean isMounted = false;
    for (Path root : Scala.list(index.rootPaths())) {
      addAll(folders, root);
      isMounted |= Relations.isMounted(session, root);
    }
    for (var one : index.inputFiles()) {
      Path file = new Path(java.net.URI.create(one));
      addAll(folders, isMounted ? file : file.getParent());
    }
    for (Path one : folders) refuseAt(one);
  }

  /** A path, and where it leads to, with all folders above. */
  private void addAll(Set<Path> folders, Path path) {
    if (folders.contains(path)) return;
    for (Path one : spellings(path))
      for (Path folder = one; folder != null && folders.add(folder); ) folder = folder.getParent();
    folders.add(path);
  }

  /** Refuses what lies in the folder of a protected table. */
  public void refuseUnder(Path path) {
    for (Path one : spellings(path))
      for (Path folder = one; folder != null; folder = folder.getParent()) refuseAt(folder);
  }

  /** The same of all that a pattern stands for. */
  public void refuseGlob(String pattern) {
    try {
      Path path = new Path(pattern);
      refuseUnder(path);
      org.apache.hadoop.fs.FileStatus[] found =
          path.getFileSystem(session.sessionState().newHadoopConf()).globStatus(path);
      for (int i = 0; found != null && i < found.length; i++) refuseUnder(found[i].getPath());
    } catch (java.io.IOException e) {
      throw new SecurityException(
          "whether policies protect " + pattern + " cannot be told: " + e.getMessage());
    }
  }

  private void refuseAt(Path folder) {
    Protection protection = at(folder);
    if (protection != null
        && (protection.isInForce()
            || (protection.hadRows && !governance.identities.require(session).isAdmin)))
      throw new SecurityException(
          "these are files of " + protection.name + ", which policies protect; read the table");
  }

  public Protection at(Path folder) {
    Snapshot found = Relations.at(session, folder);
    return found == null ? null : governance.protections.of(Relations.keyOf(found), session);
  }

  /** A stream's batches are Delta's own reads: it may start where its user sees everything. */
  public void refuseStreams(LogicalPlan plan) {
    var children = Scala.list(plan.children());
    for (var one : children) refuseStreams(one);
    for (Path one : placesOf(plan)) for (Path place : spellings(one)) refuseStream(place);
  }

  /** A place as it is written, and where it leads to. */
  private List<Path> spellings(Path path) {
    return List.of(Relations.qualified(session, path), Relations.real(session, path));
  }

  /** Where the streams of a plan read. */
  public static List<Path> placesBelow(LogicalPlan plan) {
    List<Path> found = placesOf(plan);
    for (var one : Scala.list(plan.children())) found.addAll(placesBelow(one));
    return found;
  }

  /** Where a stream reads; its options are named in any case. */
  private static List<Path> placesOf(LogicalPlan plan) {
    List<Path> found = new ArrayList<>();
    if (plan instanceof StreamingRelation) {
      DataSource source = ((StreamingRelation) plan).dataSource();
      Option<String> path = CaseInsensitiveMap$.MODULE$.apply(source.options()).get("path");
      if (path.isDefined()) found.add(new Path(path.get()));
      for (String one : Scala.list(source.paths())) found.add(new Path(one));
      if (source.catalogTable().isDefined())
        found.add(new Path(source.catalogTable().get().location()));
    } else if (plan instanceof StreamingRelationV2) {
      StreamingRelationV2 relation = (StreamingRelationV2) plan;
      if (relation.table() instanceof DeltaTableV2)
        found.add(((DeltaTableV2) relation.table()).path());
      String path = relation.extraOptions().get("path");
      if (path != null) found.add(new Path(path));
      if (relation.v1Relation().isDefined()) found.addAll(placesOf(relation.v1Relation().get()));
    }
    return found;
  }

  private void refuseStream(Path place) {
    for (Path folder = place; folder != null; folder = folder.getParent()) {
      Protection protection = at(folder);
      if (protection != null
          && !governance.bodies.showsAll(protection, governance.identities.require(session)))
        throw new SecurityException(
            "a stream would read "
                + protection.name
                + " as it is, and policies hide some of it;"
                + " read it in batches, or let a role start the stream that sees all of it");
    }
  }
}
