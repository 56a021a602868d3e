package io.sparkaccesshistory.policies;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.timetravel.TablePlans;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import scala.collection.mutable.Buffer;
import scala.runtime.AbstractFunction1;

/**
 * The rule of plan normalisation that puts what a session reads behind its policies.
 *
 * <p>Spark runs these rules on a resolved plan before it looks into its caches. A session that was
 * started with `AccessHistoryExtensions` has the rule from its beginning; `install` brings it into
 * any other one. Without an enforcement the rule returns each plan as it is.
 */
public final class EnforcementRule extends Rule<LogicalPlan> {
  /**
   * By what Spark keeps extensions in, which a session shares with all sessions derived from it:
   * the enforcements that a derived session begins with. An entry says that the rule has been
   * injected there.
   */
  private static final Map<SparkSessionExtensions, Derived> INSTALLED = new WeakHashMap<>();

  /** The sessions that have the rule. */
  private static final Set<SparkSession> SESSIONS = Collections.newSetFromMap(new WeakHashMap<>());

  /**
   * Of SessionState a final field, of SparkSessionExtensions the builders of what is in it (Spark
   * 4.2).
   */
  private static final String RULES = "planNormalizationRules";

  /** The enforcement of one root. */
  public interface Root {
    /** A plan as the user of a session may run it. */
    LogicalPlan governed(LogicalPlan plan, SparkSession session);

    /** Whether a session, or the one that it is a clone of, was attached to this root. */
    boolean knows(SparkSession session);
  }

  private final SparkSession session;
  private final List<Root> enforcements;

  private EnforcementRule(SparkSession session, List<Root> enforcements) {
    this.session = session;
    this.enforcements = new CopyOnWriteArrayList<>(enforcements);
    SESSIONS.add(session);
  }

  /**
   * Gives the rule to all sessions that are built with these extensions, as `spark.sql.extensions`
   * asks for.
   */
  public static void inject(SparkSessionExtensions extensions) {
    synchronized (INSTALLED) {
      injected(extensions).stays = true;
    }
  }

  private static Derived injected(SparkSessionExtensions extensions) {
    Derived found = INSTALLED.get(extensions);
    if (found != null) return found;
    Derived added = new Derived();
    extensions.injectPlanNormalizationRule(added.builder);
    INSTALLED.put(extensions, added);
    return added;
  }

  /** Enforces in a session and the sessions derived from it later. */
  public static void install(Root enforcement, SparkSession session)
      throws ReflectiveOperationException {
    session
        .sessionState(); // Built before the lock is taken: whoever builds one holds Spark's lock,
    // then takes this.
    synchronized (INSTALLED) {
      Derived derived = injected(session.extensions());
      if (!derived.enforcements.contains(enforcement)) derived.enforcements.add(enforcement);
      EnforcementRule rule = of(session);
      if (rule == null) {
        rule = new EnforcementRule(session, List.of());
        List<Rule<LogicalPlan>> rules = rules(session);
        rules.add(rule);
        setRules(session, rules);
      }
      if (!rule.enforcements.contains(enforcement)) rule.enforcements.add(enforcement);
    }
  }

  /**
   * Takes an enforcement that has ended out of all sessions; the last one takes the rule with it,
   * but where `spark.sql.extensions` has put it.
   *
   * @return the sessions that have had the rule
   */
  public static List<SparkSession> remove(Root enforcement) throws ReflectiveOperationException {
    synchronized (INSTALLED) {
      Iterator<Map.Entry<SparkSessionExtensions, Derived>> each = INSTALLED.entrySet().iterator();
      Set<SparkSessionExtensions> kept = new HashSet<>();
      while (each.hasNext()) {
        Map.Entry<SparkSessionExtensions, Derived> entry = each.next();
        Derived derived = entry.getValue();
        derived.enforcements.remove(enforcement);
        if (derived.stays) kept.add(entry.getKey());
        if (derived.stays || !derived.enforcements.isEmpty()) continue;
        builders(entry.getKey()).subtractOne(derived.builder);
        each.remove();
      }
      List<SparkSession> had = new ArrayList<>(SESSIONS);
      for (SparkSession session : had) {
        EnforcementRule rule = of(session);
        if (rule == null) continue;
        rule.enforcements.remove(enforcement);
        if (!rule.enforcements.isEmpty() || kept.contains(session.extensions())) continue;
        List<Rule<LogicalPlan>> rules = rules(session);
        rules.remove(rule);
        setRules(session, rules);
        SESSIONS.remove(session);
      }
      return had;
    }
  }

  private static EnforcementRule of(SparkSession session) {
    for (Rule<LogicalPlan> rule : rules(session))
      if (rule instanceof EnforcementRule) return (EnforcementRule) rule;
    return null;
  }

  private static List<Rule<LogicalPlan>> rules(SparkSession session) {
    return new ArrayList<>(Scala.list(session.sessionState().planNormalizationRules()));
  }

  private static void setRules(SparkSession session, List<Rule<LogicalPlan>> rules)
      throws ReflectiveOperationException {
    field(SessionState.class).set(session.sessionState(), Scala.seq(rules));
  }

  @SuppressWarnings("unchecked")
  private static Buffer<Object> builders(SparkSessionExtensions extensions)
      throws ReflectiveOperationException {
    return (Buffer<Object>) field(SparkSessionExtensions.class).get(extensions);
  }

  private static Field field(Class<?> owner) throws ReflectiveOperationException {
    Field found = owner.getDeclaredField(RULES);
    found.setAccessible(true);
    return found;
  }

  /**
   * A session that one of several enforcements knows, by its mark, is that one's alone. What none
   * knows, like a session that some library has made for itself, all of them protect their tables
   * from.
   */
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    Root alone = enforcements.size() > 1 ? knowing() : null;
    LogicalPlan found = plan;
    if (alone != null) found = alone.governed(plan, session);
    else for (Root enforcement : enforcements) found = enforcement.governed(found, session);
    // What retention adds to a command comes after its user's privileges were looked at.
    return found instanceof Command && knowing() != null ? TablePlans.of(found, session) : found;
  }

  private Root knowing() {
    for (Root enforcement : enforcements) if (enforcement.knows(session)) return enforcement;
    return null;
  }

  /** What sessions that are derived from one begin with. */
  private static final class Derived {
    final List<Root> enforcements = new ArrayList<>();
    final Builder builder = new Builder();

    /** Whether `spark.sql.extensions` asks for the rule. */
    boolean stays = false;
  }

  /** Makes the rule of a session that is being built. */
  private static final class Builder
      extends AbstractFunction1<org.apache.spark.sql.SparkSession, Rule<LogicalPlan>> {
    @Override
    public Rule<LogicalPlan> apply(org.apache.spark.sql.SparkSession session) {
      SparkSession built = (SparkSession) session;
      synchronized (INSTALLED) {
        Derived derived = INSTALLED.get(built.extensions());
        return new EnforcementRule(built, derived == null ? List.of() : derived.enforcements);
      }
    }
  }
}
