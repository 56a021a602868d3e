package io.sparkaccesshistory.capture;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import scala.Option;

/** Spark's SQL execution events, handed to Python many in one call. */
public class EventQueue {
  private static final int LONGEST = 1000;
  // Py4J's replies of more than 8 KiB take 40 ms longer.
  private static final int REPLY = 4000;
  private static final int BOUND = 200000;
  private final LinkedBlockingQueue<Object> queue = new LinkedBlockingQueue<>(BOUND);
  private final Map<Long, QueryExecution> executions = new HashMap<>();
  private final Set<Long> counted =
      Collections.newSetFromMap(
          new LinkedHashMap<>() {
            @Override
            protected boolean removeEldestEntry(Map.Entry<Long, Boolean> eldest) {
              return size() > BOUND;
            }
          });
  private final ObjectMapper json = new ObjectMapper();

  /** What the listener offers its events to. */
  public LinkedBlockingQueue<Object> queue() {
    return queue;
  }

  /**
   * The oldest events, as JSON: a list of ["S", id, root id, tags, description, time], ["E", id,
   * error, error code, name, time, plan id, bytes scanned, rows written, bytes written, why they
   * are not known] and ["M", number]; times are milliseconds. An empty list: there are none.
   */
  public synchronized String drain() throws Exception {
    List<Object[]> events = new ArrayList<>();
    int length = 0;
    while (length < REPLY) {
      Object event = queue.poll();
      if (event == null) break;
      Object[] read = read(event);
      if (read == null) continue;
      events.add(read);
      for (var one : read) length += 2 * String.valueOf(one).length();
    }
    return json.writeValueAsString(events);
  }

  /** The QueryExecution of an execution that has ended; it is forgotten here. */
  public synchronized Object take(long id) {
    return executions.remove(Long.valueOf(id));
  }

  /** Forgets those of executions that nobody asks for: ids with commas between. */
  public synchronized void forget(String ids) {
    String[] each = ids.split(",");
    for (var one : each) executions.remove(Long.valueOf(one));
  }

  /** Lets go of all plans, though Python may hold this for as long as it likes. */
  public synchronized void close() {
    queue.clear();
    executions.clear();
  }

  private Object[] read(Object event) {
    if (event instanceof SparkListenerSQLExecutionStart) {
      SparkListenerSQLExecutionStart start = (SparkListenerSQLExecutionStart) event;
      Long id = Long.valueOf(start.executionId());
      Object root = or(start.rootExecutionId(), id);
      String tags = String.join(",", Scala.set(start.jobTags()));
      return new Object[] {
        "S", id, root, tags, cut(start.description()), Long.valueOf(start.time())
      };
    }
    if (event instanceof SparkListenerSQLExecutionEnd) {
      SparkListenerSQLExecutionEnd end = (SparkListenerSQLExecutionEnd) event;
      Long id = Long.valueOf(end.executionId());
      executions.put(id, end.qe());
      String error = cut((String) or(end.errorMessage(), ""));
      Long plan = Long.valueOf(end.qe() == null ? -1 : end.qe().id());
      boolean ran = end.qe() != null && error.equals("");
      PlanMetrics metrics = ran ? PlanMetrics.of(end.qe(), counted) : PlanMetrics.NONE;
      return new Object[] {
        "E",
        id,
        error,
        code(end),
        or(end.executionName(), ""),
        Long.valueOf(end.time()),
        plan,
        metrics.bytesScanned(),
        metrics.rowsWritten(),
        metrics.bytesWritten(),
        metrics.problem()
      };
    }
    if (event instanceof SparkListenerDriverAccumUpdates) {
      long number = -((SparkListenerDriverAccumUpdates) event).executionId();
      return number > 0 ? new Object[] {"M", Long.valueOf(number)} : null;
    }
    return null;
  }

  /** Spark's error class of a failed execution, else the exception's type; "" for none. */
  private static String code(SparkListenerSQLExecutionEnd end) {
    Throwable failure = Scala.orNull(end.executionFailure());
    if (failure == null) return "";
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      String code =
          cause instanceof SparkThrowable ? ((SparkThrowable) cause).getCondition() : null;
      if (code != null) return code;
    }
    return failure.getClass().getSimpleName();
  }

  private static Object or(Option<?> value, Object otherwise) {
    return value.isDefined() ? value.get() : otherwise;
  }

  private static String cut(String text) {
    if (text == null) return "";
    return text.length() <= LONGEST ? text : text.substring(0, LONGEST);
  }
}
