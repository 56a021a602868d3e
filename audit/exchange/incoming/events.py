"""Events of OpenLineage, read from files.

In: a file of one event a line, of a list of them, or of one. Out: `ToldEvent`s, or an error that names the
line. Events of any version are read: what is missing in an old one is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import orjson

from audit.core.json_text import to_json
from audit.exchange.errors import EventInvalid, ImportFailed
from audit.exchange.names import Dataset

Json = Mapping[str, Any]
_KINDS = frozenset({"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"})
_WAY_OUT = (
    "it is JSON of an OpenLineage event: mend or remove it, and import the file again; nothing was taken in"
)
INDIRECT = "INDIRECT"
_WITHOUT_END = frozenset({"STREAMING", "SERVICE"})


@dataclass(frozen=True, slots=True)
class ToldDataset:
    """A dataset of an event: its name, and its facets by their names."""

    dataset: Dataset
    facets: Json

    @property
    def names(self) -> tuple[Dataset, ...]:
        """All names of it, its own first."""
        listed = _mapping(self.facets.get("symlinks")).get("identifiers") or ()
        return (self.dataset, *(Dataset(str(one["namespace"]), str(one["name"])) for one in listed))


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """An event.

    Attributes:
        event_id: SHA-256 of it.
        time: UTC.
        kind: the eventType; JOB or DATASET for an event that is of no run.
        run_id: the run; of an event without one what its job, or its dataset, gives.
        job_namespace: of the job; None for an event about a dataset.
        job_name: of the job.
        inputs: the datasets that were read.
        outputs: those that were written.
        content: all of it.
    """

    event_id: str
    time: datetime
    kind: str
    run_id: str
    job_namespace: str | None
    job_name: str | None
    inputs: tuple[ToldDataset, ...]
    outputs: tuple[ToldDataset, ...]
    content: Json

    @property
    def integration(self) -> str | None:
        """What ran it: DBT, AIRFLOW, FLINK and so on."""
        found = self._job_facet("jobType").get("integration")
        return None if found is None else str(found)

    @property
    def is_endless(self) -> bool:
        """Whether its job goes on without an end."""
        return self._job_facet("jobType").get("processingType") in _WITHOUT_END

    @property
    def is_submitted(self) -> bool:
        """Whether it tells that a job of Flink runs, whose integration may tell no end (OpenLineage 1.53)."""
        return self.integration == "FLINK" and self.kind == "START"

    @property
    def parent_run_id(self) -> str | None:
        """The run that started this one."""
        parent = _mapping(_mapping(_mapping(self.content.get("run")).get("facets")).get("parent"))
        found = _mapping(parent.get("run")).get("runId")
        return None if found is None else str(found)

    def without_secrets(self, redact: Callable[[str], str]) -> bytes:
        """All of it as JSON, its SQL as `redact` gives it."""
        sql = self._job_facet("sql")
        if "query" not in sql:
            return to_json(self.content)
        job = dict(self.content["job"])
        job["facets"] = {**job["facets"], "sql": {**sql, "query": redact(str(sql["query"]))}}
        return to_json({**self.content, "job": job})

    def _job_facet(self, name: str) -> Json:
        return _mapping(_mapping(_mapping(self.content.get("job")).get("facets")).get(name))


def read_events(path: Path) -> Iterator[ToldEvent]:
    """The events of a file, in its order.

    Raises:
        EventInvalid: a part of it is no event.
        ImportFailed: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for where, found in _documents(file, path):
                yield event_of(found, where)
    except OSError as error:
        raise ImportFailed(
            f"{path} cannot be read ({error.strerror or error})", "name a file that this user may read"
        ) from error


def _documents(file: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """Each document with where it stands."""
    first = file.readline()
    alone = _parsed(first)
    if isinstance(alone, dict):  # one a line
        yield f"{path}:1", alone
        for number, line in enumerate(file, 2):
            if line.strip():
                yield f"{path}:{number}", _require(line, f"{path}:{number}")
        return
    rest = first + file.read()
    if not rest.strip():
        return
    found = _require(rest, str(path))
    if isinstance(found, list):
        yield from ((f"{path}, event {number}", one) for number, one in enumerate(found, 1))
    else:
        yield str(path), found


def _parsed(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def _require(content: bytes, where: str) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise EventInvalid(f"{where} is no JSON ({error})", _WAY_OUT) from error


def event_of(content: Any, where: str) -> ToldEvent:
    """An event out of its JSON.

    Args:
        content: a document.
        where: it stands, for the error.

    Raises:
        EventInvalid: it is no event.

    >>> told = {"eventTime": "2026-11-20T12:00:00Z", "job": {"namespace": "n", "name": "j"}}
    >>> event_of(told, "x:1").kind
    'JOB'
    """
    if not isinstance(content, dict):
        raise EventInvalid(f"{where} is no event but {type(content).__name__}", _WAY_OUT)
    job, run = _mapping(content.get("job")), _mapping(content.get("run"))
    try:
        time = _time(content["eventTime"])
        if not job:
            told = (_dataset(content["dataset"]),)
            _look(told[0])
            identity = f"dataset:{told[0].dataset.namespace}/{told[0].dataset.name}"
            return ToldEvent(_id(content), time, "DATASET", _made(identity), None, None, (), told, content)
        namespace, name = str(job["namespace"]), str(job["name"])
        # Flink names a table that only this job knows, as one over files, without a namespace (2.3).
        of_job = f"{namespace}/{name}"
        kind = str(content.get("eventType") or "OTHER").upper() if run else "JOB"
        if run and kind not in _KINDS:
            raise EventInvalid(f"{where}: there is no eventType {kind!r}", _WAY_OUT)
        run_id = str(run["runId"]) if run else _made(f"job:{namespace}/{name}")
        inputs = tuple(_dataset(one, of_job) for one in content.get("inputs") or ())
        outputs = tuple(_dataset(one, of_job) for one in content.get("outputs") or ())
        for one in (*inputs, *outputs):
            _look(one)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        missing = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise EventInvalid(f"{where} is no event: {missing}", _WAY_OUT) from error
    return ToldEvent(_id(content), time, kind, run_id, namespace, name, inputs, outputs, content)


def column_inputs(output: ToldDataset) -> Iterator[tuple[Dataset, str, str | None, str | None]]:
    """The source, its column, the target's column (None: all of them) and what was done; each once."""
    facet = output.facets.get("columnLineage")
    if not isinstance(facet, dict):
        return
    listed = [(None, one) for one in facet.get("dataset") or ()]
    for column, told in (facet.get("fields") or {}).items():
        listed += [
            (column, {"was": told.get("transformationType"), **one}) for one in told.get("inputFields") or ()
        ]
    seen = set()
    for column, one in listed:
        for how in _steps(one, whole=column is None):
            found = (Dataset(str(one["namespace"]), str(one["name"])), str(one["field"]), column, how)
            if found not in seen:
                seen.add(found)
                yield found


def _steps(told: Mapping[str, Any], *, whole: bool) -> list[str | None]:
    """IDENTITY, TRANSFORMATION, AGGREGATION or INDIRECT; None where the event does not say."""
    found: list[str | None] = []
    for step in told.get("transformations") or ():
        indirect = step.get("type") == INDIRECT
        found.append(INDIRECT if indirect else step.get("subtype") or "TRANSFORMATION")
    if found:
        return found
    if whole:
        return [INDIRECT]
    # Of versions before 1-1-0: IDENTITY, or MASKED.
    was = told.get("was")
    return [("IDENTITY" if was == "IDENTITY" else "TRANSFORMATION") if was else None]


def _dataset(told: Json, otherwise: str = "") -> ToldDataset:
    """A dataset; `otherwise` is the namespace of one that has none."""
    own = {
        **_mapping(told.get("facets")),
        **_mapping(told.get("inputFacets")),
        **_mapping(told.get("outputFacets")),
    }
    return ToldDataset(Dataset(str(told["namespace"]) or otherwise, str(told["name"])), own)


def _look(told: ToldDataset) -> None:
    """Raise what reading its names and columns would."""
    for _ in (told.names, *column_inputs(told)):
        pass


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _time(text: str) -> datetime:
    # Python 3.10 knows neither the Z nor more or fewer digits than six.
    whole, point, rest = text.replace("Z", "+00:00").replace("z", "+00:00").partition(".")
    if point:
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        whole += f".{digits[:6].ljust(6, '0')}{rest[len(digits) :]}"
    found = datetime.fromisoformat(whole)
    return found.astimezone(timezone.utc) if found.tzinfo else found.replace(tzinfo=timezone.utc)


def _id(content: Json) -> str:
    """The same for two events that differ in the order of their keys alone."""
    return _made_of(to_json(content, sort_keys=True))


def _made(identity: str) -> str:
    return _made_of(identity.encode("utf-8", "surrogatepass"))


def _made_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
