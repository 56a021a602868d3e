package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.Scala;
import java.lang.reflect.Field;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.internal.config.ConfigReader;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.Some;

/**
 * Marks the Delta commits of a statement with its id.
 *
 * <p>Delta 4.4 takes the mark from a setting of the session that commits. All threads of a session
 * share its settings, so the id does not stand among them: when Delta asks for the mark, it is told
 * the statement that its thread runs, as the job tags of that thread say.
 */
public class CommitMarks {
  private static final String MARK = "spark.databricks.delta.commitInfo.userMetadata";
  private static final String STATEMENT = "audit-statement-";

  /** Has Delta mark what it commits in a session. Safe to call twice. */
  public void install(SparkSession session) throws Exception {
    SQLConf conf = session.sessionState().conf();
    if (conf.reader() instanceof Marking) return;
    Field reader = SQLConf.class.getDeclaredField("reader");
    reader.setAccessible(true);
    reader.set(conf, new Marking(conf, session.sparkContext()));
  }

  /** The statement that a thread runs: the newest, since ids rise; null for none. */
  static String statement(Set<String> tags) {
    return tags.stream()
        .filter(tag -> tag.startsWith(STATEMENT))
        .map(tag -> tag.substring(STATEMENT.length()))
        .max(String::compareTo)
        .orElse(null);
  }

  /** Reads settings of a session; what its user has Delta write stays. */
  private static final class Marking extends ConfigReader {
    private final SparkContext context;

    Marking(SQLConf conf, SparkContext context) {
      super(conf.settings());
      this.context = context;
    }

    @Override
    public Option<String> get(String key) {
      Option<String> said = super.get(key);
      if (!MARK.equals(key) || said.isDefined() || !isAskedByDelta()) return said;
      String statement = statement(Scala.set(context.getJobTags()));
      return statement == null ? said : new Some<>(statement);
    }

    /** A user who asks for the setting is told what the user has set. */
    private static boolean isAskedByDelta() {
      return StackWalker.getInstance()
          .walk(
              frames ->
                  frames.anyMatch(
                      frame -> frame.getClassName().startsWith("org.apache.spark.sql.delta.")));
    }
  }
}
