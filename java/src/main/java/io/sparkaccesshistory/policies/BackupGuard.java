package io.sparkaccesshistory.policies;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Grants;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.Securable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLogFileIndex;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.cdc.CDCReader;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;

/**
 * Files of backups are read by who owns their backup set, and by administrators; everybody else
 * restores them by CREATE … FROM BACKUP SET. This holds without any policy, and where no privilege
 * is enforced.
 */
public class BackupGuard {
  private final Governance governance;
  private final SparkSession session;

  public BackupGuard(Governance governance, SparkSession session) {
    this.governance = governance;
    this.session = session;
  }

  /** Refuses a plan that reads files of a backup that are not its user's to read. */
  public void requireReads(LogicalPlan plan) {
    if (!governance.mayHaveBackups()) return;
    requireBelow(plan);
  }

  private void requireBelow(LogicalPlan plan) {
    requireOwn(plan);
    if (plan.containsPattern(TreePattern.PLAN_EXPRESSION()))
      for (Expression one : Scala.list(plan.expressions())) requireBelow(one);
    for (LogicalPlan one : Scala.list(plan.children())) requireBelow(one);
  }

  private void requireBelow(Expression value) {
    if (value instanceof SubqueryExpression) requireBelow(((SubqueryExpression) value).plan());
    for (Expression one : Scala.list(value.children())) requireBelow(one);
  }

  /** The same of a relation alone. Delta's reads of its own log are no reads of anybody's. */
  private void requireOwn(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      Object relation = ((LogicalRelation) plan).relation();
      if (relation instanceof HadoopFsRelation)
        requireFiles(((HadoopFsRelation) relation).location());
      if (relation instanceof CDCReader.DeltaCDFRelation)
        requireRead(
            ((CDCReader.DeltaCDFRelation) relation)
                .snapshotWithSchemaMode()
                .snapshot()
                .deltaLog()
                .dataPath());
    } else if (plan instanceof HiveTableRelation) {
      requireRead(new Path(((HiveTableRelation) plan).tableMeta().location()));
    } else if (plan instanceof DataSourceV2Relation) {
      Object table = ((DataSourceV2Relation) plan).table();
      if (table instanceof FileTable) requireFiles(((FileTable) table).fileIndex());
      if (table instanceof DeltaTableV2) requireRead(((DeltaTableV2) table).path());
    }
  }

  /** Whether a relation is the Delta table of a backup: what its source was at some time. */
  public boolean isBackup(LogicalPlan plan) {
    if (!(plan instanceof LogicalRelation) || !governance.mayHaveBackups()) return false;
    Object relation = ((LogicalRelation) plan).relation();
    if (!(relation instanceof HadoopFsRelation)) return false;
    FileIndex index = ((HadoopFsRelation) relation).location();
    if (!(index instanceof TahoeFileIndex)) return false;
    for (Path one : governance.spellings(((TahoeFileIndex) index).path(), session))
      if (governance.backupSetOf(one) != null) return true;
    return false;
  }

  private void requireFiles(FileIndex index) {
    if (index instanceof DeltaLogFileIndex) return;
    if (index instanceof TahoeFileIndex) {
      requireRead(((TahoeFileIndex) index).path());
      return;
    }
    for (Path one : Scala.list(index.rootPaths())) requireRead(one);
    // Partitions of a table of the catalog were looked at when their places were set.
    if (index instanceof CatalogFileIndex) return;
    Set<Path> folders = new HashSet<>();
    for (String one : index.inputFiles()) {
      Path folder = new Path(java.net.URI.create(one)).getParent();
      if (folders.add(folder)) requireRead(folder);
    }
  }

  /** Refuses a place in a backup. */
  public void requireRead(Path place) {
    for (Path one : governance.spellings(place, session)) {
      String set = governance.backupSetOf(one);
      if (set != null) requireOwner(set, place);
    }
  }

  /**
   * Refuses a pattern that stands for files of backups; what it holds further down a plan shows.
   */
  public void requireGlob(String pattern) {
    for (Path one : meant(pattern)) requireRead(one);
  }

  /**
   * Refuses streams over files of backups. What lies below a folder is read in batches of its own,
   * so no folder around the backups is read, either.
   */
  public void requireStreams(List<Path> places) {
    for (Path place : places)
      for (Path found : meant(place.toString())) {
        requireRead(found);
        for (Path one : governance.spellings(found, session))
          if (governance.containsBackups(one)) requireOwner("", found);
      }
  }

  /** A place and what it stands for as a pattern, where it may lead to backups. */
  private List<Path> meant(String pattern) {
    List<Path> found = new ArrayList<>();
    FileSystem files;
    try {
      found.add(new Path(pattern));
      files = found.get(0).getFileSystem(session.sessionState().newHadoopConf());
    } catch (IllegalArgumentException | IOException e) {
      return List.of(); // Spark makes no path of it either
    }
    if (!governance.mayReachBackups(files)) return List.of();
    try {
      FileStatus[] matching = files.globStatus(found.get(0));
      for (int i = 0; matching != null && i < matching.length; i++)
        found.add(matching[i].getPath());
    } catch (IOException e) {
      throw new SecurityException("what " + pattern + " stands for cannot be told: " + e);
    }
    return found;
  }

  /** A set that nobody is known to own, as "" for all of them, is an administrator's to read. */
  private void requireOwner(String set, Path place) {
    if (governance.identities.isExempt(session)) return;
    Identity who = governance.identities.require(session);
    if (who.isAdmin
        || (!set.isEmpty()
            && governance.grants.holds(who, Grants.OWNERSHIP, Securable.backupSet(set)))) return;
    throw new SecurityException(
        place
            + " holds files of backups, and "
            + who.user
            + " does not own their backup set; restore them: CREATE TABLE … FROM BACKUP SET …"
            + " IDENTIFIER '…'");
  }
}
