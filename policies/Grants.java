import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;

/** Who holds which privilege on what, and who owns it, as `policies/grants.py` has found it. */
class Grants {
  static final String OWNERSHIP = "OWNERSHIP";
  private static final String ANY = "any privilege";
  private static final String[] OF_TABLES = {"SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES"};

  /** By the key of an object: by holder the privileges, as a Set. */
  private final Map given = new ConcurrentHashMap();
  /** By the key of an object its holder. */
  private final Map owners = new ConcurrentHashMap();
  /** By a holder all that it is, and holds: roles of roles, PUBLIC. */
  private volatile Map members = new HashMap();
  /** What the statement of a thread has made so far: a Making. */
  private final ThreadLocal making = new ThreadLocal();
  /** Changes with every change of these. */
  private volatile int version = 0;

  void learn(Map said) {
    Iterator each = ((Map) said.get("grants")).entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      Map held = new HashMap();
      Iterator holders = ((Map) entry.getValue()).entrySet().iterator();
      while (holders.hasNext()) {
        Map.Entry one = (Map.Entry) holders.next();
        held.put(one.getKey(), new HashSet((List) one.getValue()));
      }
      given.put(entry.getKey(), held);
    }
    each = ((Map) said.get("owners")).entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (entry.getValue() == null) owners.remove(entry.getKey());
      else owners.put(entry.getKey(), entry.getValue());
    }
    if (said.get("members") != null) members = (Map) said.get("members");
    version++;
  }

  /** Whether somebody may do what a privilege allows on an object: by itself, its schema or the account. */
  boolean holds(Principal who, String privilege, Securable on) {
    if (who.isAdmin || owns(who, on)) return true;
    if (privilege.equals(OWNERSHIP)) return false;
    if (has(who, privilege, on.key)) return true;
    // USAGE of a schema is none of the functions in it.
    if (on.noun.equals("function") && privilege.equals("USAGE")) return false;
    return (on.schema != null && has(who, privilege, on.schema)) || has(who, privilege, Securable.ACCOUNT.key);
  }

  /** Whether somebody may look at what is known of a table or view: any privilege on it will do. */
  boolean sees(Principal who, Securable on) {
    if (holds(who, OWNERSHIP, on)) return true;
    for (int i = 0; i < OF_TABLES.length; i++) if (holds(who, OF_TABLES[i], on)) return true;
    return false;
  }

  /** Whether somebody has any privilege on a schema, or on the account. */
  boolean enters(Principal who, Securable schema) {
    return who.isAdmin || owns(who, schema) || has(who, ANY, schema.key) || has(who, ANY, Securable.ACCOUNT.key);
  }

  private boolean owns(Principal who, Securable on) {
    Making made = (Making) making.get();
    return (made != null && made.who == who && made.holds(on)) || who.holders.contains(owners.get(on.key));
  }

  private boolean has(Principal who, String privilege, String key) {
    Map held = (Map) given.get(key);
    if (held == null) return false;
    Iterator each = held.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      Set privileges = (Set) entry.getValue();
      boolean found = privilege.equals(ANY) ? !privileges.isEmpty() : privileges.contains(privilege);
      if (found && who.holders.contains(entry.getKey())) return true;
    }
    return false;
  }

  /** As whom a view or a function runs: its owner, or whoever calls it where nobody is known to own it. */
  Principal ownerOf(Securable on, Principal caller) {
    String holder = (String) owners.get(on.key);
    if (holder == null) return caller;
    List held = (List) members.get(holder);
    if (held == null) { // a user without roles
      held = new ArrayList();
      held.add(holder);
      held.add("ROLE PUBLIC");
    }
    return new Principal(holder, held);
  }

  /** What stands for the privileges of somebody as of now. */
  String markOf(Identity who) { return System.identityHashCode(who) + ":" + version; }

  // -- what a statement makes --------------------------------------------------------------------

  /** A statement is about to make an object, or to replace it: whoever runs it owns it. */
  void note(Securable on, boolean replaces, Identity who) {
    Map objects = making(who).objects;
    if (!objects.containsKey(on.named())) objects.put(on.named(), new Object[] {on, Boolean.valueOf(replaces)});
  }

  /** A statement makes a Delta table that has no name yet. */
  void note(String key, Identity who) { making(who).keys.add(key); }

  private Making making(Identity who) {
    Making made = (Making) making.get();
    if (made == null || made.who != who) {
      made = new Making(who);
      making.set(made);
    }
    return made;
  }

  /** What the statement of this thread has made: each a Securable, and whether it has replaced something. */
  List made() {
    Making made = (Making) making.get();
    making.remove();
    return made == null ? new ArrayList() : new ArrayList(made.objects.values());
  }
}

class Making {
  final Identity who;
  final Map objects = new LinkedHashMap();
  final Set keys = new HashSet();

  Making(Identity who) { this.who = who; }

  boolean holds(Securable on) { return keys.contains(on.key) || (on.id != null && objects.containsKey(on.named())); }
}

/** Somebody with all that they hold: `USER ann`, `ROLE HR`. */
class Principal {
  final String holder;
  final Set holders;
  final boolean isAdmin;

  Principal(String holder, List holders) {
    this.holder = holder;
    this.holders = new HashSet(holders);
    isAdmin = this.holders.contains("ROLE ACCOUNTADMIN");
  }

  /** The role that owns something, for invoker_role(); null for a user. */
  String role() { return holder.startsWith("ROLE ") ? holder.substring(5) : null; }
}

/** What privileges are had on, as `policies/privileges.py` knows it. */
class Securable {
  static final Securable ACCOUNT = new Securable("account", "account:", null, null);
  /** Files that are no table's: in no schema. */
  static final Securable FILES = new Securable("files", "account:", null, null);

  final String noun, key, schema;
  final TableIdentifier id;
  final Path place;

  private Securable(String noun, String key, TableIdentifier id, Path place) {
    this.noun = noun;
    this.key = key;
    this.id = id;
    this.place = place;
    schema = id == null || noun.equals("schema") ? null : Relations.schemaOf(id);
  }

  static Securable of(String noun, String key, TableIdentifier id) { return new Securable(noun, key, id, null); }

  /** A table that is known by its place alone. */
  static Securable at(String key, Path place) { return new Securable("table", key, null, place); }

  static Securable schema(TableIdentifier id) { return new Securable("schema", Relations.schemaOf(id), id, null); }

  static Securable function(FunctionIdentifier name) {
    TableIdentifier id = TableIdentifier.apply(name.funcName(), name.database(), name.catalog());
    return new Securable("function", "function:" + full(id).toLowerCase(Locale.ROOT), id, null);
  }

  private static String full(TableIdentifier id) {
    String catalog = id.catalog().isEmpty() ? "spark_catalog" : (String) id.catalog().get();
    return catalog + '.' + id.database().get() + '.' + id.table();
  }

  /** What tells it from others by its name alone. */
  String named() { return noun + ' ' + name().toLowerCase(Locale.ROOT); }

  String name() {
    if (id != null) return noun.equals("schema") ? full(id).substring(0, full(id).length() - 1 - id.table().length()) : full(id);
    return place == null ? "" : "delta.`" + place + '`';
  }

  /** For a GRANT. */
  String spelled() { return noun.equals("files") ? "ACCOUNT" : (noun.toUpperCase(Locale.ROOT) + ' ' + name()).trim(); }

  public String toString() { return (noun + ' ' + name()).trim(); }
}
