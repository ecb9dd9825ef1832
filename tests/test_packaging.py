"""What is shipped: a wheel that works where the source is not, and containers that need no secret in a file."""

import asyncio
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.databases import create_database


@pytest.fixture(scope="module")
def wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `pip install .` would build, built by the same backend without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=120)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the wheel's content and its commands."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder)]
    subprocess.run([*command, str(wheel)], check=True, capture_output=True, timeout=120)
    return folder


def run_installed(installed: Path, *command: str) -> str:
    """Run a command that finds the installed wheel before the source; the dependencies are those of this process."""
    environment = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(
        command, cwd=installed, env=environment, check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_all_modules_and_nothing_else(project, wheel):
    """Every module of app and migrations, the marker of type information, and no test, bench or document."""
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    modules = {
        str(path.relative_to(project)) for folder in ("app", "migrations") for path in (project / folder).rglob("*.py")
    }
    assert modules <= shipped
    assert "app/py.typed" in shipped
    assert {name.split("/")[0] for name in shipped} == {"app", "migrations"}


def test_the_installed_command_starts(installed):
    assert "serve" in run_installed(installed, str(installed / "bin" / "suffice"), "--help")


def test_the_installed_package_brings_its_migrations(installed, database_url):
    """A new database gets its tables from the wheel alone."""
    url = asyncio.run(create_database(database_url, "from_the_wheel"))
    program = f"import app.store.connection as c; c.migrate({url!r}); print(c.__file__)"
    assert Path(run_installed(installed, sys.executable, "-c", program).strip()).is_relative_to(installed)


def test_compose_has_both_services_with_healthchecks_and_no_secret(project):
    text = (project / "docker-compose.yml").read_text()
    compose = yaml.safe_load(text)
    assert set(compose["services"]) == {"database", "suffice"}
    assert "healthcheck" in compose["services"]["database"]
    assert compose["services"]["suffice"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert compose["volumes"].keys() == {"database"}
    secrets = [line for line in text.splitlines() if "PASSWORD:" in line]
    assert secrets
    assert all("${POSTGRES_PASSWORD:?" in line for line in secrets)


def stages_of(dockerfile: Path) -> list[list[tuple[str, str]]]:
    """The instructions of each stage of a Dockerfile, as (word, rest)."""
    text = dockerfile.read_text().replace("\\\n", " ")
    lines = [line.partition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    stages: list[list[tuple[str, str]]] = []
    for word, _, rest in lines:
        if word == "FROM":
            stages.append([])
        stages[-1].append((word, rest.strip()))
    return stages


def test_the_image_is_built_from_what_is_here(project):
    """Two stages; the first copies only files of the project, the second only what the first has built."""
    build, image = stages_of(project / "Dockerfile")
    copied = [rest.split()[:-1] for word, rest in build if word == "COPY"]
    assert [name for names in copied for name in names if not (project / name).exists()] == []
    assert {"app", "migrations", "requirements.txt"} <= {name for names in copied for name in names}
    assert [rest.split()[0] for word, rest in image if word == "COPY"] == ["--from=build"]


def test_the_image_runs_the_installed_command_and_not_as_root(project, installed):
    _, image = stages_of(project / "Dockerfile")
    assert [rest for word, rest in image if word == "USER"][-1] == "suffice"
    [command] = [json.loads(rest) for word, rest in image if word == "CMD"]
    said = run_installed(installed, str(installed / "bin" / command[0]), *command[1:], "--help")
    assert "--port" in said


def test_one_port_is_served_checked_and_published(project):
    _, image = stages_of(project / "Dockerfile")
    settings = dict(one.split("=", 1) for word, rest in image if word == "ENV" for one in rest.split())
    port = settings["SUFFICE_PORT"]
    assert [rest for word, rest in image if word == "EXPOSE"] == [port]
    [check] = [rest for word, rest in image if word == "HEALTHCHECK"]
    assert f"http://127.0.0.1:{port}/readyz" in check
    compose = yaml.safe_load((project / "docker-compose.yml").read_text())
    [published] = compose["services"]["suffice"]["ports"]
    assert published.startswith("127.0.0.1:")  # only this machine
    assert published.rpartition(":")[2] == port
