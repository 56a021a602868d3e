"""The spool: a crash-safe, checksummed, group-committed journal on the local disk.

In: entries of the caller's thread and the worker about each statement. Out: sealed segments for ingest,
with exactly one record a statement, whatever crashes. It stands between execution and ingest.
"""

from audit.spool.cleanup import remove_ingested, retire
from audit.spool.entry import Durability, Entry, Kind
from audit.spool.liveness import SpoolInfo, find_spools, ingest_lock
from audit.spool.pending import RunningStatement
from audit.spool.recovery import DamagedSegment, RecoveryReport, recover
from audit.spool.segment import Damage, SegmentContent, read_segment
from audit.spool.spool import OnRecordFailure, Spool, SpoolStats
from audit.spool.waiting import waiting_events

__all__ = [
    "Damage",
    "DamagedSegment",
    "Durability",
    "Entry",
    "Kind",
    "OnRecordFailure",
    "RecoveryReport",
    "RunningStatement",
    "SegmentContent",
    "Spool",
    "SpoolInfo",
    "SpoolStats",
    "find_spools",
    "ingest_lock",
    "read_segment",
    "recover",
    "remove_ingested",
    "retire",
    "waiting_events",
]
