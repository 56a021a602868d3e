package io.sparkaccesshistory.statements;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.timetravel.PastRelations;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.HybridParameterContext;
import org.apache.spark.sql.catalyst.parser.NamedParameterContext;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.PositionalParameterContext;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.VariableSubstitution;
import org.apache.spark.sql.types.StructType;

/**
 * The way from Spark's parser to the driver's Python, one a JVM: what a text is, and running it.
 *
 * <p>Python gives one function. It gets a question as JSON and the session that asks, and answers
 * with JSON or, where it has run a statement, with its Dataset. A Throwable it answers is thrown.
 */
public final class StatementGateway {
  static final String NOT_ATTACHED =
      "this statement needs a Python driver that has called audit.attach, and none has";

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int KEPT = 1_000;
  private static final int LONGEST = 10_000; // characters of a text that is kept
  private static volatile StatementGateway installed;

  private final BiFunction<String, SparkSession, Object> driver;
  private final Pattern words;
  private final String exemptKey;
  private final String exempt;

  /** Texts that are Spark's, whoever asks. */
  private final Map<String, Boolean> plain =
      Collections.synchronizedMap(
          new LinkedHashMap<String, Boolean>(16, 0.75f, true) {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
              return size() > KEPT;
            }
          });

  /**
   * @param driver answers questions, see the class
   * @param words a text without any of them holds no statement of ours
   * @param exemptKey a setting of sessions that are the system's own, with the value `exempt`:
   *     their texts are Spark's
   */
  private StatementGateway(
      BiFunction<String, SparkSession, Object> driver,
      String words,
      String exemptKey,
      String exempt) {
    this.driver = driver;
    this.words = Pattern.compile(words, Pattern.CASE_INSENSITIVE);
    this.exemptKey = exemptKey;
    this.exempt = exempt;
  }

  /** The way to the driver; null where nothing is attached. */
  public static StatementGateway installed() {
    return installed;
  }

  static void open(
      BiFunction<String, SparkSession, Object> driver,
      String words,
      String exemptKey,
      String exempt) {
    installed = new StatementGateway(driver, words, exemptKey, exempt);
  }

  static void close() {
    installed = null;
  }

  /** What the driver says of a text; null where it is Spark's as it stands. */
  Answer ask(SparkSession session, String text, ParameterContext parameters) {
    // `${…}` is replaced inside of Spark's parser, behind this one (Spark 4.2).
    String sent = text.contains("${") ? new VariableSubstitution().substitute(text) : text;
    if (!words.matcher(sent).find() || plain.containsKey(sent) || isExempt(session)) return null;
    if (PastRelations.mayBeIn(sent)) return null; // the driver has chosen its versions
    try {
      Answer answer =
          JSON.readValue(
              (String) asked(question("plan", session, sent, arguments(parameters)), session),
              Answer.class);
      if (answer.refused() != null) throw new SecurityException(answer.refused());
      if (answer.failed() != null) throw new StatementFailed(answer.failed());
      if (answer.pure() && sent.length() <= LONGEST) plain.put(sent, true);
      return answer.text() == null ? null : answer;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What the driver says of the table of a plan; empty where the plan stays as it is. */
  public JsonNode tell(String asks, Map<String, Object> facts, SparkSession session) {
    Map<String, Object> question = new LinkedHashMap<>(facts);
    question.put("asks", asks);
    question.put("tags", tags(session));
    try {
      JsonNode told = JSON.readTree((String) asked(JSON.writeValueAsString(question), session));
      if (told.has("refused")) throw new SecurityException(told.get("refused").asText());
      if (told.has("failed")) throw new StatementFailed(told.get("failed").asText());
      return told;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs a statement of ours, and gives its rows. */
  List<Row> run(SparkSession session, String text, String arguments, StructType schema) {
    // What Spark parses for it is no part of the text around it, which errors would quote.
    Origin around = CurrentOrigin.get();
    CurrentOrigin.reset();
    try {
      Object done = asked(question("run", session, text, arguments), session);
      if (done instanceof String) {
        Answer answer = JSON.readValue((String) done, Answer.class);
        if (answer.refused() != null) throw new SecurityException(answer.refused());
        throw new StatementFailed(answer.failed());
      }
      if (schema.isEmpty()) return List.of();
      Dataset<?> rows = (Dataset<?>) done;
      if (rows.schema().length() != schema.length())
        throw new StatementFailed(
            "the result has the columns " + rows.schema().toDDL() + ", not " + schema.toDDL());
      List<Row> found = new ArrayList<>();
      for (Object row : rows.collectAsList()) found.add((Row) row);
      return found;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      CurrentOrigin.set(around);
    }
  }

  /** Asks the driver; what it has caught of the JVM's own is thrown on as it was. */
  private Object asked(String question, SparkSession session) {
    Object found = driver.apply(question, session);
    if (found instanceof Throwable)
      throw StatementGateway.<RuntimeException>unchecked((Throwable) found);
    return found;
  }

  @SuppressWarnings("unchecked") // Java alone checks exceptions: Spark's are checked and undeclared
  private static <E extends Throwable> E unchecked(Throwable thrown) throws E {
    throw (E) thrown;
  }

  /** Whether a session is the system's own. */
  public boolean isExempt(SparkSession session) {
    SQLConf conf = session.sessionState().conf();
    return conf.contains(exemptKey) && exempt.equals(conf.getConfString(exemptKey, ""));
  }

  private static String question(String asks, SparkSession session, String text, String arguments)
      throws IOException {
    return JSON.writeValueAsString(
        Map.of("asks", asks, "text", text, "arguments", arguments, "tags", tags(session)));
  }

  private static List<String> tags(SparkSession session) {
    return List.copyOf(Scala.set(session.sparkContext().getJobTags()));
  }

  /** Values as SQL: by name, by place, or names and values where the text's markers decide. */
  private static String arguments(ParameterContext parameters) throws IOException {
    if (parameters instanceof NamedParameterContext) {
      Map<String, String> found = new LinkedHashMap<>();
      Scala.map(((NamedParameterContext) parameters).params())
          .forEach((name, value) -> found.put(name, value.sql()));
      return JSON.writeValueAsString(found);
    }
    if (parameters instanceof PositionalParameterContext)
      return JSON.writeValueAsString(
          texts(Scala.list(((PositionalParameterContext) parameters).params())));
    if (!(parameters instanceof HybridParameterContext)) return "[]";
    HybridParameterContext both = (HybridParameterContext) parameters;
    List<String> names = Scala.list(both.paramNames());
    List<String> values = texts(Scala.list(both.args()));
    if (names.stream().allMatch(String::isEmpty)) return JSON.writeValueAsString(values);
    // A variable after USING has a name, whichever marker stands for it.
    return JSON.writeValueAsString(List.of(names, values));
  }

  private static List<String> texts(List<?> values) {
    List<String> found = new ArrayList<>();
    for (Object value : values) found.add(((Expression) value).sql());
    return found;
  }
}
