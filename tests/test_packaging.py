"""What is shipped: a lock that pip understands, containers that need no secret in a file."""

import re
import tomllib

import yaml


def test_the_locks_pin_everything_with_hashes_and_name_no_host(project):
    for name in ("requirements.txt", "requirements-dev.txt"):
        lock = (project / name).read_text()
        requirements = re.findall(r"^([a-z][\w.-]*)(.*)$", lock, flags=re.MULTILINE | re.IGNORECASE)
        assert len(requirements) > 20
        assert all(rest.startswith(("==", "[")) for _, rest in requirements)
        assert lock.count("--hash=sha256:") >= len(requirements)
        assert "://" not in lock
        assert "-url" not in lock


def test_the_lock_holds_what_the_project_asks_for(project):
    asked = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    pinned = {line.split("==")[0] for line in (project / "requirements.txt").read_text().splitlines() if "==" in line}
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in asked["dependencies"]}
    assert names <= pinned
    assert asked["scripts"] == {"suffice": "app.cli:main"}
    assert asked["requires-python"] == ">=3.11"


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


def test_the_image_is_built_in_two_stages_and_does_not_run_as_root(project):
    steps = (project / "Dockerfile").read_text().splitlines()
    assert len([step for step in steps if step.startswith("FROM ")]) == 2
    assert "USER suffice" in steps
    assert any(step.startswith("HEALTHCHECK") for step in steps)
