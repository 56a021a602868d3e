"""Tells the JVM which plans RDDs are made of: a plan over an RDD does not know.

In: a DataFrame that becomes an RDD, or is stored as one. Out: nothing; `PlanFactsReader` gives the origins
with the plans that read these RDDs (`StoredFrames.java`).
"""

from __future__ import annotations

from typing import Any

from audit.spark import java_classes


class RddOrigins:
    """The origins of the RDDs of one JVM.

    Args:
        jvm: `spark.sparkContext._jvm`.
    """

    def __init__(self, jvm: Any) -> None:
        self._java = java_classes.instance(jvm, "capture.StoredFrames")

    def remember(self, frame: Any, result: Any) -> None:
        """What `rdd`, `checkpoint` or `localCheckpoint` of a DataFrame gave: an RDD, or another DataFrame."""
        if hasattr(result, "_jrdd"):
            self._java.remember(result._jrdd, frame._jdf)
        else:
            self._java.rememberStored(result._jdf, frame._jdf)

    def remember_batch(self, batch: Any) -> None:
        """What a function of foreachBatch is given, on the thread that runs it."""
        self._java.rememberBatch(batch._jdf)
