package io.sparkaccesshistory;

import java.util.List;
import java.util.Map;
import java.util.Set;
import scala.Option;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's Scala collections as Java's and back. Java compilers that are not javac find Scala's own
 * methods ambiguous.
 */
public final class Scala {
  private Scala() {}

  public static <T> List<T> list(scala.collection.Seq<T> values) {
    return CollectionConverters.asJava(values);
  }

  public static <K, V> Map<K, V> map(scala.collection.Map<K, V> values) {
    return CollectionConverters.asJava(values);
  }

  public static <T> Set<T> set(scala.collection.Set<T> values) {
    return CollectionConverters.asJava(values);
  }

  public static <T> Seq<T> seq(List<T> values) {
    return List$.MODULE$.from(CollectionConverters.asScala(values));
  }

  public static <T> Seq<T> none() {
    return seq(List.of());
  }

  /** A Scala map with the entries of a Java one. */
  public static <K, V> scala.collection.immutable.Map<K, V> immutable(Map<K, V> values) {
    return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(values));
  }

  /** The value of an option; null for none. */
  public static <T> T orNull(Option<T> value) {
    return value.isDefined() ? value.get() : null;
  }
}
