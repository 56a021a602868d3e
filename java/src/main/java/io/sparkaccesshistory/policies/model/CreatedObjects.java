package io.sparkaccesshistory.policies.model;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** What the statement of a thread has made so far, and who runs it. */
public class CreatedObjects {
  /** An object, and whether it was there before. */
  public record Created(Securable object, boolean replaced) {}

  public final Identity who;
  public final Map<String, Created> objects = new LinkedHashMap<>();

  /** The keys of Delta tables that have no name yet. */
  public final Set<String> keys = new HashSet<>();

  public CreatedObjects(Identity who) {
    this.who = who;
  }

  public boolean holds(Securable on) {
    return keys.contains(on.key) || (on.id != null && objects.containsKey(on.named()));
  }
}
