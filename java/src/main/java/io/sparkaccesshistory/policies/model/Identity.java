package io.sparkaccesshistory.policies.model;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.unsafe.types.UTF8String;

/** Who runs a statement, with their roles. */
public class Identity extends Principal {
  /** What Python says of somebody. */
  public record Claim(
      String user, String role, String account, List<String> holders, List<String> roles) {}

  /**
   * `invoker` is the role that runs what reads: of a view or function its owner's; null where a
   * user owns it.
   */
  public final String user, role, account, invoker;

  /** Upper case, for SQL. */
  public final List<UTF8String> roles = new ArrayList<>();

  /** What policies come to for them. */
  public final Map<Policy, PolicyBody> answers = new ConcurrentHashMap<>();

  private final Map<String, Identity> invoked = new ConcurrentHashMap<>();

  public Identity(Claim claim) {
    super("USER " + claim.user(), claim.holders());
    user = claim.user();
    role = claim.role();
    account = claim.account();
    invoker = role;
    for (String held : claim.roles()) roles.add(UTF8String.fromString(held));
  }

  private Identity(Identity caller, String invoker) {
    super(caller.holder, caller.holders);
    user = caller.user;
    role = caller.role;
    account = caller.account;
    this.invoker = invoker;
    roles.addAll(caller.roles);
  }

  /** The same inside of what somebody owns. */
  public Identity inside(Principal owner) {
    if (owner == null || owner == this) return this;
    String key = owner.role() == null ? "" : owner.role();
    return invoked.computeIfAbsent(key, any -> new Identity(this, owner.role()));
  }
}
