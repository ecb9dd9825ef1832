"""The README's tour runs as printed, and what it says of the project is so."""

import json
import re
import shutil
import subprocess
from typing import Literal

import numpy as np
import pytest

from app.policy.allocation import Allocation, Circumstances
from app.policy.belief import Array, Facts, State
from app.policy.prospect import Prospect
from app.policy.requirements import Ratio
from app.policy.workers import Anonymous
from app.settings import Settings


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl: install it to run the README's tour")
def test_the_tour_runs_as_printed(project, served, tmp_path):
    """Every bash block in order, in one shell, as a person would paste them."""
    blocks = re.findall(r"```bash\n(.*?)```", (project / "README.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 11
    separator = "\necho; echo ----\n"
    script = separator.join(blocks).replace("http://127.0.0.1:8000", served)
    command = ["bash", "-euc", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    items, given, answers, outcome, table, plan, workers, mix, block, refit, many = done.stdout.split("\n----\n")
    assert json.loads(items) == {"added": 2, "unchanged": 0}
    assert json.loads(given)["assignments"][0]["worker"] == "ann"
    verdicts = [json.loads(line) for line in answers.split("\n") if line]
    assert [verdict["verdict"] for verdict in verdicts] == ["continue", "continue", "stop"]
    results, status = outcome.split("}{", 1)
    assert json.loads(results + "}")["results"][0]["label"] == "cat"
    assert json.loads("{" + status)["items"]["resolved"] == 1
    header, first, second = table.splitlines()
    assert header == "item,label,confidence,state,reason_code,reason,votes.cat,votes.dog"
    assert first.startswith("i1,cat,")
    assert second.startswith("i2,,0.5,open,")
    assert json.loads(plan)["offer"]["promise"]["accuracy"] >= 0.9
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")
    assert {one["worker"] for one in json.loads(workers)["workers"]} == {"ann", "bob", "eve"}
    chosen = json.loads(mix[mix.index('{"status"') :])["assignments"]
    assert {(one["worker"], one["cost"]) for one in chosen} == {("model", "0.001")}
    blocked, active = (json.loads(part) for part in _objects(block))
    assert (blocked["status"], active["status"]) == ("blocked", "active")
    asked, operations = (json.loads(part) for part in _objects(refit))
    assert asked["kind"] == "refit"
    assert operations["operations"][0]["id"] == asked["id"]
    assert many == '{"added":2,"unchanged":0}{"added":1,"unchanged":1}'


def _objects(text: str) -> list[str]:
    """JSON objects that stand one after the other."""
    found, decoder = [], json.JSONDecoder()
    while text:
        _, end = decoder.raw_decode(text)
        found.append(text[:end])
        text = text[end:]
    return found


def test_every_setting_is_in_the_table(project):
    readme = (project / "README.md").read_text()
    table = dict(re.findall(r"^\| `([A-Z_]+)` \| `?([^`|]*?)`? \|", readme, flags=re.MULTILINE))
    settings = {
        field.validation_alias or f"SUFFICE_{name.upper()}": field.default
        for name, field in Settings.model_fields.items()
    }
    assert set(table) == set(settings)
    for variable, default in settings.items():
        shown = "none" if default is None else f"{default:g}" if isinstance(default, float) else str(default)
        assert table[variable] == shown, variable


def test_the_example_policy_works(project):
    """The allocation in "Add a policy" is pasted into a module and asked for its priorities."""
    [source] = re.findall(r"```python\n(.*?)```", (project / "README.md").read_text(), flags=re.DOTALL)
    names = {
        "Allocation": Allocation,
        "Array": Array,
        "Circumstances": Circumstances,
        "Literal": Literal,
        "Prospect": Prospect,
        "__name__": "pasted",
    }
    exec(source, names)  # noqa: S102  it is our own README
    state = State(np.array([[2.0, 1.0], [0.0, 0.0]]), np.empty((2, 0)))
    prospect = Prospect.of(Anonymous(), state, Facts.plain(2))
    assert names["FewestVotes"]().priority(prospect, Circumstances(Ratio())).tolist() == [-3.0, 0.0]


def test_make_alone_lists_the_targets(project):
    said = subprocess.run(["make"], cwd=project, capture_output=True, text=True, check=True).stdout
    for target in ("serve", "test", "lint", "bench"):
        assert f"make {target} " in said
