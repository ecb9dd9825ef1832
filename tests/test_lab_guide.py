"""The commands of docs/lab.md run as printed."""

import json
import re
import shlex

from click.testing import CliRunner

from app.cli import main


def test_the_commands_run_as_printed(project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```bash\n(.*?)```", (project / "docs" / "lab.md").read_text(), flags=re.DOTALL)
    commands = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert [command[:2] for command in commands] == [
        ["suffice", each] for each in ("simulate", "replay", "replay", "simulate")
    ]
    said = []
    for _, *arguments in commands:
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        said.append(done.stdout)
    rows = [json.loads(line) for line in said[1].splitlines()]
    assert [(row["policy"], row["labels_per_item"]) for row in rows] == [
        (policy, budget) for policy in ("information", "opt-kg") for budget in (1, 2, 3, 4)
    ]
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")
    assert said[3].splitlines()[1].startswith("information")
