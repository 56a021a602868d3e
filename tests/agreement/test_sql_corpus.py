"""Spark's own SQL files: cut as its suite cuts them, and a sample of them plain and audited."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.corpus import Corpus
from benchmarks.sql_corpus import SAMPLE
from benchmarks.sql_files import answered, sql_files


def test_files_are_cut_as_sparks_suite_cuts_them():
    """The statements of every file are those that its result file answers, text for text, in order."""
    corpus = Corpus()
    results = corpus.sql_results()
    files = [file for file in sql_files(corpus.sql_inputs()) if file.name in results]
    cut = {file.name: list(file.statements) for file in files}
    assert cut == {name: [sql for sql, _ in answered(results[name])] for name in cut}
    assert sum(len(file.statements) for file in files if file.skipped is None) == 19_284


@pytest.mark.spark
@pytest.mark.long("500 statements on two sessions: two minutes; tests/jobs has jobs, plain and audited")
def test_sample_answers_the_same_and_is_understood(tmp_path):
    """The audit changes no answer, records each statement once, and no engine is wrong."""
    result = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.agreement.sample", str(tmp_path), str(result), *SAMPLE]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3_000:]
    found = json.loads(result.read_text(encoding="utf-8"))
    assert found["files"] == sorted(SAMPLE)
    missed = [row["what"] for row in found["rows"] if row["met"] is False]
    assert missed == [], "\n".join(found["faults"])
