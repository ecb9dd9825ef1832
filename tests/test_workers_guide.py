"""The commands of docs/workers.md run as printed."""

import json
import re
import shutil
import subprocess

import pytest


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl: install it to run the commands")
def test_the_commands_run_as_printed(project, served, tmp_path):
    """The cheapest is asked first, and the expert not while the crowd is there."""
    blocks = re.findall(r"```bash\n(.*?)```", (project / "docs" / "workers.md").read_text(), flags=re.DOTALL)
    script = "\necho; echo ----\n".join(blocks).replace("http://127.0.0.1:8000", served)
    command = ["bash", "-euc", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    created, first, then = done.stdout.split("\n----\n")
    assert created == '{"registered":4}{"added":2,"unchanged":0}'
    assert json.loads(first)["assignments"][0]["worker"] == "model"
    answers, asked = re.fullmatch(r"(.*\})(\{\"status\".*)", then.strip(), flags=re.DOTALL).groups()
    assert answers.count('"continue"') == 2
    assert json.loads(asked)["assignments"][0]["worker"] in {"ann", "bob"}
