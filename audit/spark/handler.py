"""What a stage of the pipeline gives for a statement that it answers.

In: nothing. Out: the types that the stages and their services share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor

Run = Callable[["SparkSession", str], Any]
"""Runs a text in a session, as Spark does, and gives the DataFrame of its result."""
Handler = Callable[["SparkSession", str, "Actor", Run], Any]
"""Runs a statement instead of Spark, or around it: session, text, who runs it, and what comes next."""
