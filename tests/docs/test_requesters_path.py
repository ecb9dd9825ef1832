"""The path of a requester in the tutorial: 500 texts, 3 labels, 60 dollars, 3 cents and 95 %, in six requests."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docs.pages import PROJECT, blocks_of

PAGE = PROJECT / "docs" / "tutorial.md"
HEADING = "## 6. A job with money: 500 texts for 60 dollars"
MOST_REQUESTS = 6

# Stands in front of curl: it notes the address, the status and the body of every response.
COUNTING = r"""
set -euo pipefail
curl() { command curl --write-out '\n%{stderr}@@ %{method} %{http_code} %{url}\n' "$@"; }
"""


@pytest.fixture
def commands() -> str:
    """The commands of this section, and nothing else of the page but the address of the service."""
    text = PAGE.read_text(encoding="utf-8")
    first = text.count("\n", 0, text.index(HEADING)) + 1
    last = text.count("\n", 0, text.index("\n## ", text.index(HEADING) + 1)) + 1
    blocks = [block for block in blocks_of(PAGE) if first < block.line <= last and block.language == "bash"]
    assert len(blocks) == MOST_REQUESTS - 1  # one of them asks and answers
    return "".join(block.text for block in blocks)


def test_the_requesters_path_takes_six_requests_and_none_fails(commands: str, served: str, tmp_path: Path):
    script = f'{COUNTING}API={served}/v1\n{commands}\necho "$JOB" > job'
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    requests = [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("@@ ")]
    assert [(method, url.rsplit("/", 1)[-1]) for method, _, url in requests] == [
        ("POST", "forecast"),
        ("POST", "jobs"),
        ("POST", "items"),
        ("POST", "next"),
        ("POST", "answers"),
        ("GET", "results?limit=1000"),
    ]
    assert all(status in {"200", "201"} for _, status, _ in requests), requests
    bodies = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    is_as_asked_for(status_of(served, (tmp_path / "job").read_text().strip()), bodies)


def is_as_asked_for(status: dict[str, Any], bodies: list[dict[str, Any]]) -> None:
    forecast, added, answer, results = bodies  # the others are read by the commands themselves
    assert (forecast["items"], forecast["budget"]) == (500, "60")
    assert added == {"added": 500, "unchanged": 0, "warnings": []}
    assert (answer["accepted"], answer["counted"]) == (True, True)
    assert len(results["results"]) == 500
    assert (status["budget"], status["answer_cost"], status["spent"]) == ("60", "0.03", "0.03")
    assert status["requirement"] == {"kind": "posterior", "min_probability": 0.95}
    assert len(status["labels"]) == 3
    assert (status["warnings"], status["state"]) == ([], "running")


def status_of(served: str, job: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{served}/v1/jobs/{job}", timeout=30).json()
    return found
