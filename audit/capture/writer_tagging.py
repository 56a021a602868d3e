"""Tags the commits of writers with the query id: `df.write`, `writeTo`, merges, Delta's builders.

In: a call on a writer inside a recorded statement. Out: the same call on a copy of the writer, in a session
whose commits are tagged. The user's own writer stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.services import Services

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WriterTagging:
    """Tags what the writers of one session commit."""

    spark: SparkSession
    services: Services

    def write(
        self,
        action: str,
        original: Callable[..., T],
        writer: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        query_id: str | None,
    ) -> T:
        """Run a call on a writer; commits to Delta carry the query id.

        Args:
            action: class and method, as `DataFrameWriter.save`.
            original: PySpark's own method.
            writer: the object of the call.
            args: of the call.
            kwargs: of the call.
            query_id: of the statement; None tags nothing.
        """
        guard, tags = self.services.failures.guard, self.services.commit_tags
        tagged = guard(lambda: self._tagged(writer, action, args, kwargs, query_id), None)
        if tagged is None:
            return original(writer, *args, **kwargs)
        try:
            made = original(tagged, *args, **kwargs)
            return guard(lambda: tags.in_user_session(made, writer, action), made)
        finally:
            # `save(mode=…)` of PySpark (4.2) sets the mode of its writer for good, so the user's writer gets
            # it, too.
            guard(lambda: tags.copy_save_mode(tagged, writer, action), None)

    def _tagged(
        self,
        writer: Any,
        action: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        query_id: str | None,
    ) -> Any:
        tags = self.services.commit_tags
        to = tags.destination(writer, action, args, kwargs)
        if to is None or query_id is None:
            return None
        creation = self.services.time_travel.creation
        if not to.is_delta and not creation.is_delta(self.spark, to.table, to.provider):
            return None
        return tags.tagged_writer(writer, action, query_id)
