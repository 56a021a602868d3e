"""`audit backup run | verify | restore | estimate`: scheduled backups, their files, what a lock will bind."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NoReturn

import click

from audit.cli.bars import bars
from audit.cli.output import Output, json_option
from audit.cli.signals import ended_by_signals
from audit.cli.standard_output import hand_over
from audit.cli.tool import Tool, root_option
from audit.core.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from audit.time_travel.backups.content.backup_content import BackupContent
    from audit.time_travel.backups.service import BackupRun, Backups
    from audit.time_travel.backups.verify_backups import VerifiedBackup

_LEAST_SECONDS = 10


@click.group()
def backup() -> None:
    """Make scheduled backups, verify and restore backups, estimate what a retention lock binds."""


@backup.command()
@click.option(
    "--watch", is_flag=True, help="Go on until it is stopped, as a service; else one run, as cron starts it."
)
@click.option(
    "--every", default=60, show_default=True, metavar="SECONDS", type=click.IntRange(_LEAST_SECONDS),
    help="With --watch: how long to wait between two runs.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only list what is due.")
@root_option
@json_option
def run(tool: Tool, output: Output, watch: bool, every: int, dry_run: bool) -> None:  # noqa: FBT001 - click's way
    """Make the backups that are due, and delete those that have expired.

    It can run twice at once, and be killed at any time: the next run goes on. What it does is on record.
    With --watch a run that fails, as for a store that does not answer, is told, and the next one tries again.
    """
    if watch and dry_run:
        raise click.UsageError("--watch and --dry-run: one run lists what is due, give one of them")
    with tool.services() as services:
        if watch:
            _watch(tool, output, services.backups, every)
        found = services.backups.due(tool.actor()) if dry_run else _run(tool, output, services.backups)
    if found or output.as_json:
        _show(output, found, "Due" if dry_run else "Backups")
    else:
        output.progress("No backup is due, and none has expired")
    if any(one.what == "FAILED" for one in found):
        raise click.exceptions.Exit(1)


@backup.command()
@click.argument("backup_set", required=False)
@root_option
@json_option
def verify(tool: Tool, output: Output, backup_set: str | None) -> None:
    """Read back every file of all backups, or those of BACKUP_SET (schema.name), and compare.

    Exit code 1 if a file is missing or not as it was. No Spark is started.
    """
    from rich.progress import BarColumn, DownloadColumn, TransferSpeedColumn

    from audit.time_travel.backups.verify_backups import verified_backups

    tool.require_audit()
    with bars(BarColumn(), DownloadColumn(), TransferSpeedColumn()) as bar:
        task = bar.add_task("Reading", total=None)
        found = list(
            verified_backups(tool.config, backup_set, lambda size: bar.advance(task, size), tool.conf)
        )
    damaged = [one for one in found if one.damages]
    if output.as_json:
        output.rows([_row(one) for one in found])
    elif damaged:
        output.rows(
            [
                {"backup set": one.backup_set, "backup": one.backup_id, "file": path, "problem": problem}
                for one in damaged
                for path, problem in one.damages
            ],
            title="Not as it was",
        )
    total = sum(one.bytes for one in found)
    unread = sum(one.unread for one in found)
    if unread:
        output.progress(f"{unread:,} large files have no hash yet: audit backup run reads them")
    if not output.as_json and not damaged:
        whole = f"All files of {_backups(found)} are as they were: {total:,} bytes.\n"
        hand_over(whole if found else "There is no backup yet.\n")
    if damaged:
        output.progress(f"Damaged: {len(damaged):,} of {_backups(found)}")
        raise click.exceptions.Exit(1)


@backup.command()
@click.argument("backup_set")
@click.argument("name")
@click.option("--identifier", metavar="ID", help="Of the backup; the newest one by default.")
@click.option("--replace", is_flag=True, help="A table that is there gets the backup as its newest version.")
@click.option("--dry-run", is_flag=True, help="Only list what the backup holds. No Spark is started.")
@root_option
@json_option
def restore(
    tool: Tool,
    output: Output,
    backup_set: str,
    name: str,
    identifier: str | None,
    replace: bool,  # noqa: FBT001 - click's way
    dry_run: bool,  # noqa: FBT001 - click's way
) -> None:
    """Restore a backup of BACKUP_SET (schema.name) as NAME: a table (schema.name), or a schema.

    It runs CREATE … FROM BACKUP SET, which is on record. A killed restore goes on when it is run again.
    """
    from rich.progress import BarColumn, MofNCompleteColumn

    from audit.time_travel.backups.content.take_backup import Watch, watched
    from audit.time_travel.backups.stored_backups import stored_backup
    from lineage.names import split_name, sql_name

    tool.require_audit()
    found = stored_backup(tool.config, backup_set, identifier, tool.conf)
    content, domain = found.content, found.content.domain
    if dry_run:
        of = f"backup {found.backup_id} of {found.backup_set.name}, {content.bytes:,} bytes"
        output.rows([*_held(content)], title=f"{domain.value.capitalize()} {name} would be made of {of}")
        for one in content.left_out:
            output.progress(f"{one.name} is not in it: {one.reason}")
        return
    create = "CREATE OR REPLACE" if replace else "CREATE"
    text = (
        f"{create} {domain.value.upper()} {sql_name(split_name(name))}"
        f" FROM BACKUP SET {sql_name(split_name(found.backup_set.name))} IDENTIFIER '{found.backup_id}'"
    )
    with tool.audited_spark() as spark, bars(BarColumn(), MofNCompleteColumn()) as bar:
        files = bar.add_task("Files restored", total=content.files)
        with watched(Watch(lambda _: bar.advance(files))):
            ((said,),) = spark.sql(text).collect()
    if output.as_json:
        output.rows([{"status": said, "backup": found.backup_id, "bytes": content.bytes}])
    else:
        hand_over(f"{said}\n")


@backup.command()
@click.argument("name")
@click.option("--days", default=365, show_default=True, type=click.IntRange(1), help="EXPIRE_AFTER_DAYS.")
@click.option("--schema", "is_schema", is_flag=True, help="NAME is a schema.")
@root_option
@json_option
def estimate(tool: Tool, output: Output, name: str, days: int, is_schema: bool) -> None:  # noqa: FBT001 - click's way
    """Estimate the bytes that daily backups of NAME (schema.table) will bind under a retention lock.

    What changed in the last 30 days goes on for so many days.
    """
    from lineage.names import split_name

    with tool.services() as services:
        found = services.backups.estimate(split_name(name), days, tool.actor().time, is_schema=is_schema)
    output.rows(
        [
            {
                "object": name,
                "bytes now": found.bytes_now,
                "bytes that change a day": found.bytes_a_day,
                "days": days,
                "bytes bound": found.bytes_bound,
            }
        ],
        title="A retention lock will bind",
    )


def _held(content: BackupContent) -> Iterator[dict[str, Any]]:
    """What a backup holds, a row each."""
    for one in content.tables:
        counted = {"version": one.version, "files": one.files, "bytes": one.bytes}
        yield {"object": one.name[-1], "kind": "TABLE", **counted}
    for kind, found in (("VIEW", content.views), ("FUNCTION", content.functions)):
        for facts in found:
            yield {"object": facts["name"], "kind": kind, "version": None, "files": 0, "bytes": 0}


def _backups(found: Sequence[VerifiedBackup]) -> str:
    return f"{len(found):,} backup{'' if len(found) == 1 else 's'}"


def _watch(tool: Tool, output: Output, backups: Backups, every: int) -> NoReturn:
    """Run again and again, until a signal ends it."""
    with ended_by_signals():
        while True:
            try:
                found = _run(tool, output, backups)
            except AuditError as error:
                # A bucket that does not answer now does so later.
                output.progress(f"this run has failed, the next one tries again: {error}")
            else:
                if found:
                    _show(output, found, "Backups")
            time.sleep(every)


def _show(output: Output, found: Sequence[BackupRun], title: str) -> None:
    rows: list[dict[str, Any]] = [
        {
            "backup set": one.backup_set,
            "what": one.what,
            "backup": one.backup_id,
            "bytes": one.bytes,
            "problem": one.problem,
        }
        for one in found
    ]
    output.rows(rows, title=title)


def _run(tool: Tool, output: Output, backups: Backups) -> list[BackupRun]:
    from rich.progress import BarColumn, TextColumn

    from audit.cli.time_travel.backup_records import DoneRun, record_runs
    from audit.core.clock import SystemClock
    from audit.time_travel.backups.content.take_backup import Watch

    done: list[DoneRun] = []
    with bars(BarColumn(), TextColumn("{task.completed:,}")) as bar:
        files, read = bar.add_task("Files taken", total=None), bar.add_task("Bytes read", total=None)
        watch = Watch(lambda _: bar.advance(files), lambda size: bar.advance(read, size))
        clock = SystemClock()
        began = clock.now()
        try:
            for one in backups.run_schedules(tool.actor(), watch):
                ended = clock.now()
                done.append(DoneRun(one, began, ended))
                began = ended
        finally:  # what is done before an error is on record, too
            record_runs(tool, output, done)
    return [one.run for one in done]


def _row(one: VerifiedBackup) -> dict[str, Any]:
    return {
        "backup_set": one.backup_set,
        "backup": one.backup_id,
        "files": one.files,
        "bytes": one.bytes,
        "without_hash": one.unread,
        "damages": [{"file": path, "problem": problem} for path, problem in one.damages],
    }
