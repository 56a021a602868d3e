package io.sparkaccesshistory.policies.model;

import java.util.Collection;
import java.util.Set;

/** Somebody with all that they hold: `USER ann`, `ROLE HR`. */
public class Principal {
  public final String holder;
  public final Set<String> holders;
  public final boolean isAdmin;

  public Principal(String holder, Collection<String> holders) {
    this.holder = holder;
    this.holders = Set.copyOf(holders);
    isAdmin = this.holders.contains("ROLE ACCOUNTADMIN");
  }

  /** The role that owns something, for invoker_role(); null for a user. */
  public String role() {
    return holder.startsWith("ROLE ") ? holder.substring(5) : null;
  }
}
