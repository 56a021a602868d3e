package io.sparkaccesshistory.timetravel.files;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.junit.jupiter.api.Test;
import scala.reflect.ClassTag$;

class TableClonerTest {
  @Test
  void aCopyComesThroughEachOfSparksSerializers() {
    SparkConf conf = new SparkConf(false);
    for (Serializer serializer :
        new Serializer[] {new KryoSerializer(conf), new JavaSerializer(conf)}) {
      SerializerInstance instance = serializer.newInstance();
      TableCloner.Copy copy = new TableCloner.Copy("a", "b", "data");
      TableCloner.Copy found =
          instance.deserialize(
              instance.serialize(copy, ClassTag$.MODULE$.apply(TableCloner.Copy.class)),
              ClassTag$.MODULE$.apply(TableCloner.Copy.class));
      assertEquals("a b data", found.from + " " + found.to + " " + found.kind);
    }
  }
}
