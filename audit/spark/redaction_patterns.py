"""What Spark calls secret: its patterns, as a session has them.

In: a session, a configuration. Out: `RedactionRules`. Patterns are Java's; one that Python reads otherwise is
asked of the JVM.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark import jvm
from lineage.sql.redaction.rules import SPARK_KEYS, SPARK_OPTIONS, RedactionRules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.config import Config
    from lineage.sql.redaction.rules import Pattern


def redaction_rules(spark: SparkSession, config: Config) -> RedactionRules:
    """The rules of a root: Spark's as they are set when the application attaches, and the configured ones."""
    conf = spark.sparkContext.getConf()
    # SQLConf.stringRedactionPattern falls back to the setting of the core (Spark 4.2).
    parts = spark.conf.get("spark.sql.redaction.string.regex", "") or conf.get(
        "spark.redaction.string.regex", ""
    )
    options = spark.conf.get("spark.sql.redaction.options.regex", SPARK_OPTIONS)
    return RedactionRules(
        _pattern(spark, conf.get("spark.redaction.regex", SPARK_KEYS) or SPARK_KEYS),
        _pattern(spark, options or SPARK_OPTIONS),
        tuple(
            [_pattern(spark, parts)] * bool(parts)
            + [re.compile(config.redact_pattern)] * bool(config.redact_pattern)
        ),
        config.redact == "literals",
    )


def _pattern(spark: SparkSession, text: str) -> Pattern:
    try:
        return re.compile(text)
    except re.error:
        return _JavaPattern(jvm.view(spark.sparkContext), text)


@dataclass(frozen=True)
class _JavaPattern:
    """A pattern that Python does not know, such as one with possessive quantifiers."""

    view: Any
    pattern: str

    def search(self, text: str) -> object:
        """Whether it matches a part of the text."""
        return self._matcher(text).find()

    def sub(self, by: Callable[[object], str], text: str) -> str:
        """The text with another one in the place of each match."""
        matcher = self._matcher(text)
        # Java takes $ and \ in the replacement for something else.
        return str(
            matcher.replaceAll(getattr(self.view, "java.util.regex.Matcher").quoteReplacement(by(None)))
        )

    def _matcher(self, text: str) -> Any:
        return getattr(self.view, "java.util.regex.Pattern").compile(self.pattern).matcher(text)
