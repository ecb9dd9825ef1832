"""The commands of docs/plans.md run as printed, and what it says of their outcome is so."""

import json
import re
import shutil
import subprocess

import pytest


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl: install it to run the commands")
def test_the_commands_run_as_printed(project, served, tmp_path):
    blocks = re.findall(r"```bash\n(.*?)```", (project / "docs" / "plans.md").read_text(), flags=re.DOTALL)
    script = "\necho; echo ----\n".join(blocks).replace("http://127.0.0.1:8000", served)
    command = ["bash", "-euc", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    costs, job, fitness, split, ending = done.stdout.split("\n----\n")
    curve = json.loads(costs)
    chosen = curve["chosen"]
    assert [row["needs"] for row in chosen["votes_to_win"][:3]] == [3, 5, 6]
    assert (round(chosen["answers"], 1), round(chosen["accuracy"], 3), chosen["cost"][:4]) == (7.1, 0.9, "0.35")
    assert min(row["answers"] for row in curve["fixed"] if row["accuracy"] >= 0.9) == 17
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")
    assert json.loads(job)["plan"]["compared"]["code"] == "too-early"
    assert json.loads(fitness)["best"] == "model-crowd-expert"
    assert json.loads(split)["take"] == "better"
    forecast, operation = ending.split('{"id"')
    assert json.loads(forecast)["items"] == 300
    assert json.loads('{"id"' + operation)["kind"] == "forecast"
