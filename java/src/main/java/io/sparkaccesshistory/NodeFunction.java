package io.sparkaccesshistory;

import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** A partial function over the nodes of a tree, for Spark's `transformUp` and its like. */
public abstract class NodeFunction<T> extends AbstractPartialFunction<T, T> {
  /** The node in the place of one that this is defined at. */
  public abstract T replaced(T node);

  @Override
  @SuppressWarnings("unchecked") // Scala's B1 is a supertype of T
  public final <A extends T, B> B applyOrElse(A node, Function1<A, B> otherwise) {
    return isDefinedAt(node) ? (B) replaced(node) : otherwise.apply(node);
  }
}
