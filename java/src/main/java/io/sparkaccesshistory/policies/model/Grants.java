package io.sparkaccesshistory.policies.model;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Who holds which privilege on what, and who owns it, as `policies/model/grants.py` has found it.
 */
public class Grants {
  /**
   * What Python says: by object and holder the privileges; owners; by holder all that it is and
   * holds.
   */
  public record Changes(
      Map<String, Map<String, Set<String>>> grants,
      Map<String, String> owners,
      Map<String, List<String>> members) {}

  public static final String OWNERSHIP = "OWNERSHIP";
  private static final List<String> OF_TABLES =
      List.of("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES");

  /** By the key of an object: by holder the privileges. */
  private final Map<String, Map<String, Set<String>>> given = new ConcurrentHashMap<>();

  /** By the key of an object its holder. */
  private final Map<String, String> owners = new ConcurrentHashMap<>();

  /** By a holder all that it is, and holds: roles of roles, PUBLIC. */
  private volatile Map<String, List<String>> members = new HashMap<>();

  private final ThreadLocal<CreatedObjects> created = new ThreadLocal<>();

  /** Changes with every change of these. */
  private volatile int version = 0;

  public void learn(Changes changes) {
    given.putAll(changes.grants());
    for (var owner : changes.owners().entrySet()) {
      if (owner.getValue() == null) owners.remove(owner.getKey());
      else owners.put(owner.getKey(), owner.getValue());
    }
    if (changes.members() != null) members = changes.members();
    version++;
  }

  /**
   * Whether somebody may do what a privilege allows on an object: by itself, its schema or the
   * account.
   */
  public boolean holds(Principal who, String privilege, Securable on) {
    if (who.isAdmin || owns(who, on)) return true;
    if (privilege.equals(OWNERSHIP)) return false;
    if (has(who, privilege, on.key)) return true;
    // USAGE of a schema is none of the functions in it.
    if (on.noun.equals("function") && privilege.equals("USAGE")) return false;
    return (on.schema != null && has(who, privilege, on.schema))
        || has(who, privilege, Securable.ACCOUNT.key);
  }

  /** Whether somebody may look at what is known of a table or view: any privilege on it will do. */
  public boolean sees(Principal who, Securable on) {
    if (holds(who, OWNERSHIP, on)) return true;
    for (String privilege : OF_TABLES) if (holds(who, privilege, on)) return true;
    return false;
  }

  /** Whether somebody has any privilege on a schema, or on the account. */
  public boolean enters(Principal who, Securable schema) {
    return who.isAdmin
        || owns(who, schema)
        || hasAny(who, schema.key)
        || hasAny(who, Securable.ACCOUNT.key);
  }

  private boolean owns(Principal who, Securable on) {
    CreatedObjects made = created.get();
    String owner = owners.get(on.key);
    return (made != null && made.who == who && made.holds(on))
        || (owner != null && who.holders.contains(owner));
  }

  private boolean has(Principal who, String privilege, String key) {
    for (var held : given.getOrDefault(key, Map.of()).entrySet())
      if (held.getValue().contains(privilege) && who.holders.contains(held.getKey())) return true;
    return false;
  }

  private boolean hasAny(Principal who, String key) {
    for (var held : given.getOrDefault(key, Map.of()).entrySet())
      if (!held.getValue().isEmpty() && who.holders.contains(held.getKey())) return true;
    return false;
  }

  /**
   * As whom a view or a function runs: its owner, or whoever calls it where nobody is known to own
   * it.
   */
  public Principal ownerOf(Securable on, Principal caller) {
    String holder = owners.get(on.key);
    if (holder == null) return caller;
    List<String> held = members.get(holder);
    // A user without roles has no entry.
    return new Principal(holder, held == null ? List.of(holder, "ROLE PUBLIC") : held);
  }

  /** What stands for the privileges of somebody as of now. */
  public String markOf(Identity who) {
    return System.identityHashCode(who) + ":" + version;
  }

  // -- what a statement makes --------------------------------------------------------------------

  /** A statement is about to make an object, or to replace it: whoever runs it owns it. */
  public void note(Securable on, boolean replaces, Identity who) {
    created(who).objects.putIfAbsent(on.named(), new CreatedObjects.Created(on, replaces));
  }

  /** A statement makes a Delta table that has no name yet. */
  public void note(String key, Identity who) {
    created(who).keys.add(key);
  }

  private CreatedObjects created(Identity who) {
    CreatedObjects found = created.get();
    if (found == null || found.who != who) {
      found = new CreatedObjects(who);
      created.set(found);
    }
    return found;
  }

  /** What the statement of this thread has made; the next one begins with nothing. */
  public List<CreatedObjects.Created> made() {
    CreatedObjects found = created.get();
    created.remove();
    return found == null ? List.of() : new ArrayList<>(found.objects.values());
  }
}
