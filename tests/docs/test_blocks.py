"""Every block of the documentation runs as printed, against a real service, and prints what the page shows."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import SHOWN, Block, all_pages, blocks_of, name_of
from tests.public_sets import FOLDER

EXECUTED = ("bash", "python")
# What needs a terminal of its own, root, docker or minutes is shown as `console`, and there is little of it.
NOT_EXECUTED = ("console", "text", "mermaid")
MOST_CONSOLE = 14
SECONDS_PER_PAGE = 120

# Differ from run to run, or from machine to machine.
VOLATILE = {"id", "created_at", "expires_at", "finished_at", "started_at", "since", "at", "progress"}

# A refused request fails the block, and still shows its problem.
PRELUDE = """
set -euo pipefail
curl() { command curl --fail-with-body --show-error "$@"; }
"""
MARK = "@@ end of block @@"

pages_with_blocks = [page for page in all_pages() if any(block.language in EXECUTED for block in blocks_of(page))]


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl: install it to run the documentation's commands")
@pytest.mark.parametrize("page", pages_with_blocks, ids=name_of)
def test_the_blocks_run_as_printed(page: Path, served: str, tmp_path: Path):
    """One shell session per page, as a person would paste them."""
    blocks = blocks_of(page)
    executed = [block for block in blocks if block.language in EXECUTED]
    script = [PRELUDE, *_commands(executed, served, tmp_path)]
    done = subprocess.run(
        ["bash", "-c", "".join(script)],
        cwd=tmp_path,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS_PER_PAGE,
        check=False,
    )
    printed = done.stdout.split(f"\n{MARK}\n")
    if done.returncode:
        failed = executed[len(printed) - 1]
        raise AssertionError(f"{name_of(page)}:{failed.line} failed\n{printed[-1]}\n{done.stderr}")
    for block, shown in _shown_after(blocks):
        _assert_shows(f"{name_of(page)}:{shown.line}", shown.text, printed[executed.index(block)])


def _commands(blocks: list[Block], served: str, folder: Path) -> Iterator[str]:
    """The blocks as commands of a shell. Python blocks that follow each other are one program."""
    for number, (language, group) in enumerate(itertools.groupby(blocks, key=lambda block: block.language)):
        texts = [block.text.replace("http://127.0.0.1:8000", served) for block in group]
        if language == "python":
            (folder / f"block_{number}.py").write_text(f"\nprint('\\n{MARK}')\n".join(texts))
            texts = [f"python block_{number}.py\n"]
        yield "".join(f"{text}\necho; echo '{MARK}'\n" for text in texts)


def _environment() -> dict[str, str]:
    """The commands of this environment come first; nothing of the caller's configuration is seen."""
    ours = Path(sys.executable).parent
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SUFFICE_")}
    for name in ("DATABASE_URL", "PYTHONDONTWRITEBYTECODE"):  # the commands start often: their code is compiled once
        kept.pop(name, None)
    return kept | {"PATH": f"{ours}:{kept['PATH']}", "MPLBACKEND": "agg", "SUFFICE_PUBLIC_SETS": str(FOLDER)}


def _shown_after(blocks: list[Block]) -> list[tuple[Block, Block]]:
    """Each block that shows output, with the block that printed it."""
    return [
        (before, shown)
        for before, shown in itertools.pairwise(blocks)
        if shown.language == SHOWN and before.language in EXECUTED
    ]


def _assert_shows(where: str, shown: str, printed: str) -> None:
    """The last JSON value that was printed has all that is shown. An ellipsis stands for any text."""
    expected = json.loads(shown)
    values = _json_values(printed)
    assert values, f"{where}: the block before it printed no JSON"
    _compare(where, expected, values[-1])


def _json_values(text: str) -> list[Any]:
    values, decoder, at = [], json.JSONDecoder(), 0
    while (start := min((text.find(each, at) for each in "{[" if text.find(each, at) >= 0), default=-1)) >= 0:
        try:
            value, at = decoder.raw_decode(text, start)
            values.append(value)
        except json.JSONDecodeError:
            at = start + 1
    return values


def _compare(where: str, shown: Any, printed: Any) -> None:
    if isinstance(shown, dict):
        assert isinstance(printed, dict), f"{where}: {printed!r} is not an object"
        for key, value in shown.items():
            assert key in printed, f"{where}.{key} is not in the response, which has {sorted(printed)}"
            if key not in VOLATILE:
                _compare(f"{where}.{key}", value, printed[key])
    elif isinstance(shown, list):
        assert isinstance(printed, list), f"{where}: {printed!r} is not a list"
        assert len(printed) >= len(shown), f"{where}: only {len(printed)} of {len(shown)} entries came"
        for number, (one, other) in enumerate(zip(shown, printed, strict=False)):
            _compare(f"{where}[{number}]", one, other)
    elif isinstance(shown, float):
        assert printed == pytest.approx(shown, abs=0.0051), f"{where}: {printed!r} is not about {shown!r}"
    elif shown == "…":
        assert isinstance(printed, str), f"{where}: {printed!r} is not a text"
    else:
        assert printed == shown, f"{where}: {printed!r} is not {shown!r}"


def test_every_block_says_what_it_is():
    """A block without a language, or of one that nobody runs, could rot unseen."""
    known = {*EXECUTED, *NOT_EXECUTED, SHOWN}
    unknown = [
        f"{name_of(page)}:{block.line} {block.language!r}"
        for page in all_pages()
        for block in blocks_of(page)
        if block.language not in known
    ]
    assert not unknown


def test_few_blocks_are_not_executed():
    console = [
        f"{name_of(page)}:{block.line}"
        for page in all_pages()
        for block in blocks_of(page)
        if block.language == "console"
    ]
    assert len(console) <= MOST_CONSOLE, console
