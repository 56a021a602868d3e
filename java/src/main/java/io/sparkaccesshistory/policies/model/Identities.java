package io.sparkaccesshistory.policies.model;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/** Who runs what: users and their roles, by tokens that nobody can guess. */
public class Identities {
  private static final ObjectMapper JSON = new ObjectMapper();
  public static final String NOBODY =
      "this session reads what policies protect, and nobody is known to run it: call"
          + " audit.attach(spark) for it first, and run it in a thread that spark.sql has served";

  /** A setting of a session, which its clones have, too. */
  private static final String EXEMPT = "spark.audit.exempt";

  private final String exempt;
  private final String property;
  private final String ofSession;
  private final Map<String, Identity> byToken = new ConcurrentHashMap<>();
  private final Map<String, String> tokens = new ConcurrentHashMap<>();

  /**
   * Nobody is known yet.
   *
   * @param exempt what the settings of the system's own sessions hold
   * @param property the local property of a thread that holds the token of who runs it
   * @param ofSession begins the token of a thread that runs what it runs as the user of the
   *     session, whose id follows
   */
  public Identities(String exempt, String property, String ofSession) {
    this.exempt = exempt;
    this.property = property;
    this.ofSession = ofSession;
  }

  /** Somebody with their roles, as JSON. */
  public void register(String token, String json) throws IOException {
    byToken.put(token, new Identity(JSON.readValue(json, Identity.Claim.class)));
  }

  /** Who runs what a session runs, where the thread names nobody else. */
  public void setDefault(String session, String token) {
    tokens.put(session, token);
  }

  /** Who has a token; null for nobody known. */
  public Identity of(String token) {
    return byToken.get(token);
  }

  /**
   * Who runs what this thread runs in a session; null for nobody known. A thread that nobody has
   * said anything of is nobody's: its session's user may know nothing of it.
   */
  public Identity of(SparkSession session) {
    String token = session.sparkContext().getLocalProperty(property);
    if (token != null && token.startsWith(ofSession)) {
      // A session of the system's own works for the session that the thread has served last.
      String served = token.substring(ofSession.length());
      token = tokens.getOrDefault(isExempt(session) ? served : SessionMark.of(session), "");
    }
    return token == null ? null : byToken.get(token);
  }

  /** See `SessionMark`. */
  public void mark(SparkSession session, String id) {
    SessionMark.set(session, id);
  }

  /** See `SessionMark`. */
  public String markOf(SparkSession session) {
    return SessionMark.of(session);
  }

  /** The same; refuses nobody. */
  public Identity require(SparkSession session) {
    Identity who = of(session);
    if (who != null) return who;
    throw new SecurityException(NOBODY);
  }

  /** What a session of the system's own, or a clone of it, reads is as it is. */
  public void exempt(SparkSession session) {
    session.sessionState().conf().setConfString(EXEMPT, exempt);
  }

  public boolean isExempt(SparkSession session) {
    SQLConf conf = session.sessionState().conf();
    return conf.contains(EXEMPT) && exempt.equals(conf.getConfString(EXEMPT, ""));
  }

  /** Whether a session, or the one that it is a clone of, was attached to this root. */
  public boolean knows(SparkSession session) {
    return isExempt(session) || tokens.containsKey(SessionMark.of(session));
  }

  /** Forgets everybody. */
  public void clear() {
    byToken.clear();
    tokens.clear();
  }
}
