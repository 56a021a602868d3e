package io.sparkaccesshistory.policies.expressions;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Identities;
import io.sparkaccesshistory.policies.model.Identity;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.expressions.CurrentUser;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;

/**
 * The context functions: who asks is known when a statement runs, and not before.
 *
 * <p>They are in the function registries of the enforced sessions, and in the registry of Spark's
 * built-in functions, which is one to a JVM and which each session begins with a copy of. The
 * functions know no identities: that of the session which asks answers. What the registries held
 * before is put back when an identities ends, in the built-in one when the last one does.
 */
public class ContextFunctions {
  /** By the name of each function how many arguments it takes. */
  private static final Map<String, Integer> ARITIES =
      Map.of(
          "current_role",
          0,
          "invoker_role",
          0,
          "current_account",
          0,
          "is_role_in_session",
          1,
          "is_account_group_member",
          1,
          "is_member",
          1);

  /** The identities that each session that the functions were offered to. */
  private static final Map<SparkSession, Identities> ANSWERING = new WeakHashMap<>();

  /** What the registry of a session held under these names before. */
  private static final Map<SparkSession, Map<FunctionIdentifier, Option<?>>> BEFORE =
      new WeakHashMap<>();

  /** The same of the built-in functions; empty while nothing is offered. */
  private static final Map<FunctionIdentifier, Option<?>> BUILT_IN = new HashMap<>();

  private ContextFunctions() {}

  /** Registers the functions in a session. */
  public static void register(Identities identities, SparkSession session) {
    FunctionRegistry registry = session.sessionState().functionRegistry();
    FunctionRegistry builtIn = FunctionRegistry$.MODULE$.builtin();
    synchronized (ANSWERING) {
      ANSWERING.put(session, identities);
      Map<FunctionIdentifier, Option<?>> before =
          BEFORE.computeIfAbsent(session, unknown -> new HashMap<>());
      for (String name : ARITIES.keySet()) {
        for (FunctionIdentifier id : ids(name)) {
          BUILT_IN.putIfAbsent(id, builtIn.lookupFunctionEntry(id));
          // A session that was built since has ours from the built-in functions.
          Option<?> held = registry.lookupFunctionEntry(id);
          before.putIfAbsent(id, isContextFunction(held) ? BUILT_IN.get(id) : held);
        }
        // What is built in may stand in the text of a view.
        builtIn.createOrReplaceTempFunction(name, new Builder(name), "built-in");
        registry.createOrReplaceTempFunction(name, new Builder(name), "scala_udf");
      }
    }
  }

  /**
   * Takes the functions of a root whose enforcement has ended out of its sessions; with the last
   * one, out of the built-in functions, too, and out of the sessions `derived` since, which had
   * them from there.
   */
  public static void unregister(Identities identities, Collection<SparkSession> derived) {
    synchronized (ANSWERING) {
      ANSWERING.values().removeIf(identities::equals);
      Set<SparkSession> idle = new HashSet<>(BEFORE.keySet());
      idle.removeAll(ANSWERING.keySet());
      for (SparkSession session : idle)
        restore(session.sessionState().functionRegistry(), BEFORE.remove(session));
      if (!ANSWERING.isEmpty()) return;
      restore(FunctionRegistry$.MODULE$.builtin(), BUILT_IN);
      for (SparkSession session : derived)
        restore(session.sessionState().functionRegistry(), BUILT_IN);
      BUILT_IN.clear();
    }
  }

  /** Puts back what was there, where what is there now is ours. */
  @SuppressWarnings("unchecked")
  private static void restore(
      FunctionRegistry registry, Map<FunctionIdentifier, Option<?>> before) {
    for (var entry : before.entrySet()) {
      FunctionIdentifier id = entry.getKey();
      if (!isContextFunction(registry.lookupFunctionEntry(id))) continue;
      Object held = Scala.orNull(entry.getValue());
      if (held == null) registry.dropFunction(id);
      else {
        var found = (Tuple2<ExpressionInfo, Function1<Seq<Expression>, Expression>>) held;
        registry.registerFunction(id, found._1(), found._2());
      }
    }
  }

  private static boolean isContextFunction(Option<?> entry) {
    return entry.isDefined() && ((Tuple2<?, ?>) entry.get())._2() instanceof Builder;
  }

  /**
   * What a function is called in a session's registry: as the session's own, and as a built-in one,
   * which a registry has from the built-in functions (Spark 4.2).
   */
  private static List<FunctionIdentifier> ids(String name) {
    CatalogManager$ names = CatalogManager$.MODULE$;
    Option<String> system = Option.apply(names.SYSTEM_CATALOG_NAME());
    return List.of(
        new FunctionIdentifier(name, Option.apply(names.SESSION_NAMESPACE()), system),
        new FunctionIdentifier(name, Option.apply(names.BUILTIN_NAMESPACE()), system));
  }

  /** Who runs what the thread's active session evaluates. */
  private static Identity currentIdentity() {
    Object active = Scala.orNull(SparkSession.getActiveSession());
    if (!(active instanceof SparkSession)) throw new SecurityException(Identities.NOBODY);
    SparkSession session = (SparkSession) active;
    Set<Identities> every;
    synchronized (ANSWERING) {
      Identities identities = ANSWERING.get(session);
      if (identities != null) return identities.require(session);
      every = Set.copyOf(ANSWERING.values());
    }
    // A session that is derived from one of these has its mark, and is in no list.
    for (Identities one : every) if (one.knows(session)) return one.require(session);
    throw new SecurityException(Identities.NOBODY);
  }

  /** The value of a function without arguments. */
  public static UTF8String answer(String function, Identity who) {
    if (function.equals("current_role")) return UTF8String.fromString(who.role);
    if (function.equals("invoker_role")) return UTF8String.fromString(who.invoker);
    if (function.equals("current_account")) return UTF8String.fromString(who.account);
    throw new IllegalArgumentException(function);
  }

  /** Whether a function takes no argument. */
  public static boolean isValue(String function) {
    return ARITIES.get(function) == 0;
  }

  /** Makes the placeholder of a context function: its answer is put in when the statement runs. */
  private static final class Builder extends AbstractFunction1<Seq<Expression>, Expression> {
    private final String name;

    Builder(String name) {
      this.name = name;
    }

    @Override
    public Expression apply(Seq<Expression> arguments) {
      int arity = ARITIES.get(name);
      if (Scala.list(arguments).size() != arity)
        throw new IllegalArgumentException(name + " takes " + arity + " argument(s)");
      DataType type = arity == 0 ? DataTypes.StringType : DataTypes.BooleanType;
      Object function = arity == 0 ? new Value(name) : new Membership();
      return new ScalaUDF(
          function, type, arguments, Scala.none(), Option.empty(), Option.apply(name), true, true);
    }
  }

  /** Answers where Spark evaluates a placeholder while it resolves names. */
  private static final class Value extends AbstractFunction0<String> {
    private final String name;

    Value(String name) {
      this.name = name;
    }

    @Override
    public String apply() {
      UTF8String found = answer(name, currentIdentity());
      return found == null ? null : found.toString();
    }
  }

  private static final class Membership extends AbstractFunction1<Object, Boolean> {
    @Override
    public Boolean apply(Object role) {
      if (role == null) return null;
      return currentIdentity()
          .roles
          .contains(UTF8String.fromString(role.toString().toUpperCase(Locale.ROOT)));
    }
  }

  /**
   * Whether a plan, or a subquery in it, calls a context function; what cannot is not looked at.
   */
  public static boolean areIn(LogicalPlan plan) {
    if (!mayCall(plan)) return false;
    for (Expression e : Scala.list(plan.expressions())) if (areIn(e)) return true;
    for (LogicalPlan child : Scala.list(plan.children())) if (areIn(child)) return true;
    return false;
  }

  private static boolean areIn(Expression e) {
    if (!mayCall(e)) return false;
    if (e instanceof CurrentUser || (e instanceof ScalaUDF && calledBy((ScalaUDF) e) != null))
      return true;
    if (e instanceof SubqueryExpression && areIn(((SubqueryExpression) e).plan())) return true;
    for (Expression child : Scala.list(e.children())) if (areIn(child)) return true;
    return false;
  }

  private static boolean mayCall(TreeNode<?> node) {
    return node.containsPattern(TreePattern.CURRENT_LIKE())
        || node.containsPattern(TreePattern.SCALA_UDF());
  }

  /**
   * The context function of a placeholder, whichever enforcement of this JVM made it; null for
   * other UDFs.
   */
  public static String calledBy(ScalaUDF call) {
    boolean isOurs = call.function() instanceof Value || call.function() instanceof Membership;
    return isOurs ? Scala.orNull(call.udfName()) : null;
  }
}
