package io.sparkaccesshistory.policies;

import io.sparkaccesshistory.policies.model.Grants;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import io.sparkaccesshistory.policies.model.Securable;
import java.io.IOException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.Snapshot;

/**
 * Folders that a command takes into use: none may reach what policies protect, what they read, or
 * the audit's own tables. Whoever may make a table of a folder may delete it with that table.
 */
public class FolderGuard {
  private final Governance governance;
  private final SparkSession session;

  public FolderGuard(Governance governance, SparkSession session) {
    this.governance = governance;
    this.session = session;
  }

  /**
   * Refuses a folder that lies inside a protected one, or that holds one.
   *
   * @param asTable the command knows the Delta table right at the folder for what it is
   * @param isWhole the command may delete, move or claim all that lies in the folder
   */
  public void requireApart(Path place, boolean asTable, boolean isWhole) {
    Path real = Relations.real(session, place);
    requireApartFrom(real, asTable);
    Path spelled = Relations.qualified(session, place);
    if (!spelled.equals(real)) requireApartFrom(spelled, asTable);
    if (!isWhole) return;
    try {
      FileSystem files = real.getFileSystem(session.sessionState().newHadoopConf());
      if (governance.containsAuditFolder(real)) throw refusal(place, "the audit's own tables");
      if (files.exists(real) && files.getFileStatus(real).isDirectory()) refuseBelow(files, real);
    } catch (IOException e) {
      throw new SecurityException("what " + place + " holds cannot be told: " + e.getMessage());
    }
  }

  private void requireApartFrom(Path place, boolean asTable) {
    if (!asTable) refuseAt(place);
    if (governance.isAuditFolder(place)) throw refusal(place, "the audit's own tables");
    for (Path above = place.getParent(); above != null; above = above.getParent()) refuseAt(above);
  }

  private void refuseBelow(FileSystem files, Path folder) throws IOException {
    for (FileStatus one : files.listStatus(folder)) {
      Path path = one.getPath();
      // A link is deleted as such, and what it leads to stays.
      if (!one.isDirectory() || !Relations.real(session, path).equals(path)) continue;
      if (path.getName().equals(Relations.LOG)) continue;
      refuseAt(path);
      refuseBelow(files, path);
    }
  }

  private void refuseAt(Path folder) {
    Snapshot found = Relations.newestAt(session, folder);
    if (found == null) return;
    String key = Relations.keyOf(found);
    Identity who = governance.identities.require(session);
    Protection protection = governance.protections.of(key, session);
    if (protection != null && (protection.isInForce() || (protection.hadRows && !who.isAdmin)))
      throw refusal(folder, "files of " + protection.name + ", which policies protect");
    governance.requireNotRead(key, session);
    if (!governance.enforcesPrivileges()) return;
    Securable table = Securable.at(key, folder);
    if (!governance.grants.holds(who, Grants.OWNERSHIP, table))
      throw refusal(folder, "files of " + table + ", which " + who.user + " does not own");
  }

  private static SecurityException refusal(Path folder, String what) {
    return new SecurityException(
        "in " + folder + " lie " + what + "; name a folder that lies apart from them");
  }
}
