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
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkThrowable;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
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
  private final LinkedBlockingQueue<SparkListenerEvent> queue = new LinkedBlockingQueue<>(BOUND);
  private final SparkListener listener =
      new SparkListener() {
        @Override
        public void onOtherEvent(SparkListenerEvent event) {
          if (isWanted(event)) queue.offer(event);
        }
      };
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

  /** Fills the queue; whoever is on the bus never waits for it. */
  public SparkListener listener() {
    return listener;
  }

  /**
   * Posts a marker behind all that was posted so far: an accumulator update for an execution that
   * no listener knows, and every listener ignores.
   */
  public void mark(LiveListenerBus bus, long number) {
    bus.post(new SparkListenerDriverAccumUpdates(-number, Scala.none()));
  }

  /** As `forget`, `mark` and `until`, in one call. */
  public String markAndAwait(String forgotten, LiveListenerBus bus, long number, long millis)
      throws Exception {
    forget(forgotten);
    mark(bus, number);
    return until(number, millis);
  }

  /**
   * As `drain`, up to a marker, for which it waits so many milliseconds. Where the reply does not
   * end with the marker, it was too long, or the time was over.
   */
  public synchronized String until(long number, long millis) throws Exception {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    List<Object[]> events = new ArrayList<>();
    for (int length = 0; length < REPLY; ) {
      SparkListenerEvent event = queue.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
      if (event == null) break;
      length += add(events, event);
      if (event instanceof SparkListenerDriverAccumUpdates
          && -((SparkListenerDriverAccumUpdates) event).executionId() >= number) break;
    }
    return json.writeValueAsString(events);
  }

  /**
   * The oldest events, as JSON: a list of ["S", id, root id, tags, description, time], ["E", id,
   * error, error code, name, time, plan id, bytes scanned, rows written, bytes written, why they
   * are not known] and ["M", number]; times are milliseconds. An empty list: there are none. Before
   * that it forgets executions.
   */
  public synchronized String drain(String forgotten) throws Exception {
    forget(forgotten);
    List<Object[]> events = new ArrayList<>();
    for (int length = 0; length < REPLY; ) {
      SparkListenerEvent event = queue.poll();
      if (event == null) break;
      length += add(events, event);
    }
    return json.writeValueAsString(events);
  }

  /** The QueryExecution of an execution that has ended; it is forgotten here. */
  public synchronized Object take(long id) {
    return executions.remove(Long.valueOf(id));
  }

  /** Forgets those of executions that nobody asks for: ids with commas between, or "". */
  private synchronized void forget(String ids) {
    if (ids.isEmpty()) return;
    String[] each = ids.split(",");
    for (var one : each) executions.remove(Long.valueOf(one));
  }

  /** Lets go of all plans, though Python may hold this for as long as it likes. */
  public synchronized void close() {
    queue.clear();
    executions.clear();
  }

  private static boolean isWanted(SparkListenerEvent event) {
    return event instanceof SparkListenerSQLExecutionStart
        || event instanceof SparkListenerSQLExecutionEnd
        || event instanceof SparkListenerDriverAccumUpdates
            && ((SparkListenerDriverAccumUpdates) event).executionId() < 0;
  }

  /** Adds an event as it is told; about how long that makes the reply. */
  private int add(List<Object[]> events, SparkListenerEvent event) {
    Object[] read = read(event);
    events.add(read);
    int length = 0;
    for (var one : read) length += 2 * String.valueOf(one).length();
    return length;
  }

  private Object[] read(SparkListenerEvent event) {
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
    return new Object[] {
      "M", Long.valueOf(-((SparkListenerDriverAccumUpdates) event).executionId())
    };
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
