package io.sparkaccesshistory.statements;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import scala.collection.mutable.Buffer;
import scala.runtime.AbstractFunction2;

/**
 * Which sessions have the parser: those built with `AccessHistoryExtensions`, and those it has been
 * brought into, with the sessions derived from them.
 *
 * <p>Spark keeps a session's parser in a final field, and the builders of parsers in a buffer of
 * its extensions (Spark 4.2). The builder named last is the outermost.
 */
public final class StatementParsers {
  private static final String PARSER = "sqlParser";
  private static final String BUILDERS = "parserBuilders";

  /** By the extensions that sessions share: the builder that has been injected there. */
  private static final Map<SparkSessionExtensions, Builder> INSTALLED = new WeakHashMap<>();

  private static final Set<SparkSession> SESSIONS = Collections.newSetFromMap(new WeakHashMap<>());

  /** As `spark.sql.extensions` asks for: all sessions that are built with these extensions. */
  public static void inject(SparkSessionExtensions extensions) {
    synchronized (INSTALLED) {
      injected(extensions).stays = true;
    }
  }

  /**
   * From now on the driver is asked about texts.
   *
   * @see StatementGateway
   */
  public void open(
      BiFunction<String, SparkSession, Object> driver,
      String words,
      String exemptKey,
      String exempt) {
    StatementGateway.open(driver, words, exemptKey, exempt);
  }

  /** Brings the parser into a session that runs, and the sessions derived from it later. */
  public void install(SparkSession session) throws ReflectiveOperationException {
    SessionState state =
        session.sessionState(); // built before the lock is taken, see EnforcementRule
    synchronized (INSTALLED) {
      injected(session.extensions());
      if (state.sqlParser() instanceof StatementParser) return;
      field(SessionState.class, PARSER).set(state, new StatementParser(session, state.sqlParser()));
      SESSIONS.add(session);
    }
  }

  /** Takes the parser out of every session, but where `spark.sql.extensions` has put it. */
  public void close() throws ReflectiveOperationException {
    StatementGateway.close();
    synchronized (INSTALLED) {
      List<Map.Entry<SparkSessionExtensions, Builder>> entries =
          new ArrayList<>(INSTALLED.entrySet());
      for (var entry : entries) {
        if (entry.getValue().stays) continue;
        builders(entry.getKey()).subtractOne(entry.getValue());
        INSTALLED.remove(entry.getKey());
      }
      for (SparkSession session : List.copyOf(SESSIONS)) {
        ParserInterface now = session.sessionState().sqlParser();
        if (now instanceof StatementParser && !INSTALLED.containsKey(session.extensions()))
          field(SessionState.class, PARSER)
              .set(session.sessionState(), ((StatementParser) now).delegate());
      }
      SESSIONS.clear();
    }
  }

  private static Builder injected(SparkSessionExtensions extensions) {
    Builder found = INSTALLED.get(extensions);
    if (found != null) return found;
    Builder added = new Builder();
    extensions.injectParser(added);
    INSTALLED.put(extensions, added);
    return added;
  }

  @SuppressWarnings("unchecked")
  private static Buffer<Object> builders(SparkSessionExtensions extensions)
      throws ReflectiveOperationException {
    return (Buffer<Object>) field(SparkSessionExtensions.class, BUILDERS).get(extensions);
  }

  private static Field field(Class<?> owner, String name) throws ReflectiveOperationException {
    Field found = owner.getDeclaredField(name);
    found.setAccessible(true);
    return found;
  }

  /** Makes the parser of a session that is being built. */
  private static final class Builder
      extends AbstractFunction2<
          org.apache.spark.sql.SparkSession, ParserInterface, ParserInterface> {
    /** Whether `spark.sql.extensions` asks for the parser. */
    boolean stays = false;

    @Override
    public ParserInterface apply(
        org.apache.spark.sql.SparkSession session, ParserInterface delegate) {
      synchronized (INSTALLED) {
        SESSIONS.add((SparkSession) session);
      }
      return new StatementParser((SparkSession) session, delegate);
    }
  }
}
