package io.sparkaccesshistory.policies;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.expressions.RelationCollector;
import io.sparkaccesshistory.policies.model.CreatedObjects;
import io.sparkaccesshistory.policies.model.Grants;
import io.sparkaccesshistory.policies.model.Identities;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.Policy;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import io.sparkaccesshistory.policies.model.Securable;
import io.sparkaccesshistory.policies.rewrite.PolicyBodies;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.viewfs.ViewFileSystem;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;

/**
 * What this JVM knows of the governance of one root: policies, what they protect, privileges, and
 * who runs what.
 *
 * <p>Python tells it all changes. `Enforcement` and the rewriters below it ask.
 */
public class Governance {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** What a table was before its newest version, in a refusal. */
  public static final String PAST = "what it held before";

  /** Policies and objects by their keys; null takes one away. */
  private record Learned(
      Map<String, Policy.Definition> policies, Map<String, Protection.Definition> tables) {}

  public final PolicyBodies bodies;
  public final ProtectedObjects protections;
  public final Grants grants = new Grants();
  public final Identities identities;
  private final List<Path> auditFolders = new ArrayList<>();

  /** Where all backups lie, each in the folder of its set, in all spellings; empty for nowhere. */
  private final List<Path> backups = new ArrayList<>();

  private final SparkSession own;
  private volatile boolean enforces = false;

  /** Whether it matters who owns what a statement makes. */
  private volatile boolean notes = false;

  /**
   * A root's governance, of which nothing is known yet.
   *
   * @param own resolves the bodies of policies
   * @param exempt what the settings of the system's own sessions hold
   * @param auditFolders folders that only the system writes to, one a line
   * @param property the local property of a thread that holds the token of who runs it
   * @param ofSession see `Identities`
   */
  public Governance(
      SparkSession own, String exempt, String auditFolders, String property, String ofSession) {
    this.own = own;
    identities = new Identities(exempt, property, ofSession);
    bodies = new PolicyBodies(own);
    protections = new ProtectedObjects(own, bodies);
    identities.exempt(own);
    for (var one : auditFolders.split("\n"))
      this.auditFolders.addAll(spellings(new Path(one), own));
  }

  /** The folder of all backups; only the system writes there, and few may read. */
  public void keepBackups(String folder) {
    Path place = new Path(folder);
    // Of a store that this JVM has no library for: a jar that brings one comes later.
    if (Relations.hasFileSystem(own, place)) backups.addAll(spellings(place, own));
    else backups.add(place);
    auditFolders.addAll(backups);
  }

  /**
   * A place as it is written, and where it leads to. A file system that is neither local nor
   * mounted knows one spelling, and would be asked over the network.
   */
  public Set<Path> spellings(Path place, SparkSession session) {
    Path spelled = Relations.qualified(session, place);
    boolean isOne =
        !"file".equals(spelled.toUri().getScheme()) && !Relations.isMounted(session, spelled);
    return isOne
        ? Set.of(spelled)
        : new LinkedHashSet<>(List.of(spelled, Relations.real(session, spelled)));
  }

  /** Whether there may be a backup: of a local root its folder tells. */
  public boolean mayHaveBackups() {
    if (backups.isEmpty()) return false;
    java.net.URI place = backups.get(0).toUri();
    return !"file".equals(place.getScheme()) || new java.io.File(place.getPath()).exists();
  }

  /** Whether a file system may lead to backups: the one that they lie in, and mounts. */
  public boolean mayReachBackups(FileSystem files) {
    return mayHaveBackups()
        && (files instanceof ViewFileSystem
            || files.getUri().getScheme().equals(backups.get(0).toUri().getScheme()));
  }

  /** The id of the backup set that a place belongs to; "" for the folder of all, null for none. */
  public String backupSetOf(Path place) {
    String below = "";
    for (Path one = place; one != null; one = one.getParent()) {
      if (backups.contains(one)) return below;
      below = one.getName();
    }
    return null;
  }

  /** Whether a folder has the backups inside. */
  public boolean containsBackups(Path place) {
    for (Path one : backups) if (Relations.isIn(one, place)) return true;
    return false;
  }

  /** Refuses to change what lies in the folder of a backup. */
  public void requireNoBackup(Path place, SparkSession session) {
    for (Path one : spellings(place, session))
      if (backupSetOf(one) != null)
        throw new SecurityException(
            "backups lie in "
                + place
                + ", where the audit alone writes; ALTER BACKUP SET and DROP BACKUP SET change"
                + " them, and CREATE TABLE … FROM BACKUP SET makes a table of one");
  }

  /** Refuses a folder with what is the audit's own in it or around it, whatever protects it. */
  public void requireApart(Path place, SparkSession session) {
    for (Path one : spellings(place, session))
      if (isAuditFolder(one) || containsAuditFolder(one))
        throw new SecurityException(
            "in "
                + place
                + " lie the audit's own tables or backups; name a folder that lies apart from"
                + " them");
  }

  public Identities identities() {
    return identities;
  }

  /** Every statement asks for its privileges from now on. */
  public void enforcePrivileges() {
    enforces = true;
    notes = true;
  }

  /** Who makes something is noted from now on. */
  public void noteCreations() {
    notes = true;
  }

  /** Policies and tables by their keys, as JSON; null takes one away. */
  public void updateProtection(String json) throws IOException {
    Learned learned = JSON.readValue(json, Learned.class);
    for (var entry : learned.policies().entrySet())
      bodies.define(entry.getKey(), entry.getValue() == null ? null : new Policy(entry.getValue()));
    protections.learn(learned.tables());
  }

  /** Privileges by object and holder, owners, members of roles, as JSON. */
  public void updateGrants(String json) throws IOException {
    grants.learn(JSON.readValue(json, Grants.Changes.class));
  }

  /** A Delta table that this thread's statement makes, by Delta's id. */
  public void allowNewTable(String id) {
    if (notes) grants.note("delta:" + id, identities.require(own));
  }

  /** A schema that this thread's statement makes, past any plan, with all that it holds by now. */
  public void allowNewSchema(String name) throws Exception {
    Identity who = identities.require(own);
    SessionCatalog catalog = own.sessionState().catalog();
    grants.note(Securable.schema(TableIdentifier.apply("", Option.apply(name))), false, who);
    if (!catalog.databaseExists(name)) return;
    var every = Scala.list(catalog.listTables(name));
    for (TableIdentifier id : every) {
      if (id.database().isEmpty()) continue; // a temporary view
      boolean isView = catalog.getTableMetadata(id).tableType().name().endsWith("VIEW");
      grants.note(
          Securable.of(
              isView ? "view" : "table", Relations.keyOf(id), catalog.qualifyIdentifier(id)),
          false,
          who);
    }
    var functions = Scala.list(catalog.listFunctions(name));
    for (var one : functions) {
      FunctionIdentifier function = one._1();
      if (!function.database().isEmpty()) grants.note(Securable.function(function), false, who);
    }
  }

  /**
   * What the statement that has just run on this thread has made, as JSON; each has: noun, name,
   * key, whether it has replaced something. What is not there has not been made.
   */
  public String created(SparkSession session) throws IOException {
    List<CreatedObjects.Created> made = grants.made();
    List<List<Object>> found = new ArrayList<>();
    for (var one : made) {
      Securable on = one.object();
      String key = on.keyNow(session);
      if (key == null) continue;
      found.add(List.of(on.noun, on.name(), key, one.replaced()));
    }
    return JSON.writeValueAsString(found);
  }

  /**
   * BigQuery: of a table that has, or has had, row-level access policies only its administrator
   * sees the past.
   */
  public static void requireHistory(Protection protection, Identity who, String what) {
    if (protection.hadRows && !who.isAdmin)
      throw new SecurityException(
          "table "
              + protection.name
              + " has, or had, a row access policy, and "
              + who.user
              + " may not see "
              + what
              + "; an administrator may (role ACCOUNTADMIN)");
  }

  /**
   * Refuses what tells of whole tables that a plan reads, where policies hide something of them:
   * `what`.
   */
  public void requireAllShown(SparkSession session, LogicalPlan plan, String what) {
    if (!protections.any() || identities.isExempt(session)) return;
    RelationCollector read = RelationCollector.of(plan);
    for (int i = 0; i < read.keys.size(); i++) {
      Protection protection = protections.of(read.plans.get(i));
      if (protection != null && !bodies.showsAll(protection, identities.require(session)))
        throw new SecurityException(
            what + " of " + protection.name + " tell what policies hide; read the table");
    }
  }

  /**
   * Refuses to show how Spark would run a plan, where that tells of what policies hide: estimates
   * tell how many bytes a condition finds, hidden rows included, and so does the way of a join.
   */
  public void requireExplainable(SparkSession session, LogicalPlan plan, boolean isCost) {
    if (isCost) requireAllShown(session, plan, "estimates");
    if (isCost || !protections.any() || identities.isExempt(session)) return;
    RelationCollector read = RelationCollector.of(plan);
    if (read.plans.size() < 2 && !joins(plan)) return;
    for (LogicalPlan one : read.plans) {
      Protection protection = protections.of(one);
      if (protection != null && !bodies.showsRows(protection, identities.require(session)))
        throw new SecurityException(
            "the way in which Spark joins "
                + protection.name
                + " tells of rows that policies hide; explain each table alone, or let a role"
                + " explain it that sees all of them");
    }
  }

  private static boolean joins(LogicalPlan plan) {
    if (Scala.list(plan.children()).size() > 1
        || plan.containsPattern(TreePattern.PLAN_EXPRESSION())) return true;
    for (LogicalPlan one : Scala.list(plan.children())) if (joins(one)) return true;
    return false;
  }

  /** The name of the schema whose tags protect a table, by Delta's id; "" for none. */
  public String schemaOf(String id) {
    return protections.schemaOf("delta:" + id);
  }

  public boolean enforcesPrivileges() {
    return enforces;
  }

  public boolean notesCreations() {
    return notes;
  }

  /** Whether a folder has one of the audit's own inside. */
  public boolean containsAuditFolder(Path path) {
    for (var one : auditFolders) if (Relations.isIn(one, path)) return true;
    return false;
  }

  /**
   * What policies read is changed by administrators alone, or whoever changes it changes what they
   * see.
   */
  public void requireNotRead(String key, SparkSession session) {
    String policy = bodies.readerOf(key);
    if (policy == null || identities.require(session).isAdmin) return;
    throw new SecurityException(
        "policy "
            + policy
            + " reads what this statement changes, and "
            + identities.require(session).user
            + " is no administrator; let one change it (role ACCOUNTADMIN)");
  }

  /** The same of all that lies in a schema. */
  public void requireSchemaNotRead(String schema, SparkSession session) {
    TableIdentifier within = Relations.inSessionCatalog("", schema);
    String relations = Relations.keyOf(within);
    String functions =
        Securable.function(
                new FunctionIdentifier(within.table(), within.database(), within.catalog()))
            .key;
    for (String key : bodies.keysRead())
      if (key.startsWith(relations) || key.startsWith(functions)) requireNotRead(key, session);
  }

  public boolean isAuditFolder(Path path) {
    for (var one : auditFolders) if (Relations.isIn(path, one)) return true;
    return false;
  }

  /** Forgets everything: it protects nothing any more. */
  public void forget() {
    protections.clear();
    bodies.forget();
    identities.clear();
  }
}
