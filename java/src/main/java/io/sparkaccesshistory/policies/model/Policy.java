package io.sparkaccesshistory.policies.model;

import java.util.List;

/** A policy as it was defined, and its body once Spark has resolved that. */
public class Policy {
  /** What Python says of a policy: each parameter is a name and a type. */
  public record Definition(
      String name, String body, String schema, String returns, List<List<String>> parameters) {}

  public final String name, body, schema, returns;
  public final List<List<String>> parameters;

  /** Whether its body may read a table or view; null until somebody asks. */
  public Boolean mayLookUp;

  /** The keys of the names that its body reads, whatever they stand for; null until asked. */
  public List<String> named;

  /** Null for one that is only tried out. */
  public String id;

  public PolicyBody resolved;

  /** The keys of what the body reads, and when that was found out (nanoseconds); null before. */
  public List<String> reads;

  public long time;

  public Policy(Definition definition) {
    name = definition.name();
    body = definition.body();
    schema = definition.schema();
    returns = definition.returns();
    parameters = definition.parameters();
  }

  /** Whether two say the same, whatever their names. */
  public boolean isSame(Policy other) {
    return other != null
        && body.equals(other.body)
        && schema.equals(other.schema)
        && returns.equals(other.returns)
        && parameters.equals(other.parameters);
  }
}
