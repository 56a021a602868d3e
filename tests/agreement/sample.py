"""A sample of Spark's SQL files in a process of its own: the files make and drop tables as they like.

In: a folder of this run, where to write, the files. Out: JSON: the rows of the benchmark's table, and every
statement that is not as it should be.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.corpus import Corpus
from benchmarks.sessions import session
from benchmarks.sql_corpus import check, faults, rows
from benchmarks.sql_files import sql_files
from benchmarks.sql_world import SETTINGS


def main() -> None:
    """Run the sample."""
    root, result, chosen = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    corpus = Corpus()
    files = [file for file in sql_files(corpus.sql_inputs()) if file.name in chosen]
    with session(root, SETTINGS) as spark:
        checked = check(spark, corpus, files, root, print)
    found = {
        "files": sorted({one.file for one in checked}),
        "rows": [asdict(row) for row in rows(checked)],
        "faults": list(faults(checked)),
    }
    result.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
