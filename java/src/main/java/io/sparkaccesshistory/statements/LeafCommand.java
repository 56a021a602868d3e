package io.sparkaccesshistory.statements;

import io.sparkaccesshistory.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;
import scala.Enumeration;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A command of Spark without children, in Java.
 *
 * <p>Spark copies plans by the constructor, whose parameters are what `productElement` gives (Spark
 * 4.2, TreeNode.makeCopy). `output` is made once: what is resolved refers to these attributes.
 */
public abstract class LeafCommand extends LogicalPlan implements LeafRunnableCommand {
  private static final long serialVersionUID = 1L;

  private final transient Seq<Attribute> output;
  private transient Seq<Enumeration.Value> nodePatterns;

  protected LeafCommand(Seq<Attribute> output) {
    Command.$init$(this);
    this.output = output;
  }

  /** The parameters of the constructor. */
  protected abstract Object[] parameters();

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Scala.none();
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return this;
  }

  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return nodePatterns;
  }

  @Override
  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      Seq<Enumeration.Value> patterns) {
    nodePatterns = patterns;
  }

  @Override
  public String nodeName() {
    return getClass().getSimpleName();
  }

  @Override
  public boolean canEqual(Object other) {
    return other != null && other.getClass() == getClass();
  }

  @Override
  public int productArity() {
    return parameters().length;
  }

  @Override
  public Object productElement(int index) {
    return parameters()[index];
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}
