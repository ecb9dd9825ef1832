"""openapi-python-client makes a client from the document that works through a job against the running service."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

GENERATOR = Path(sys.executable).parent / "openapi-python-client"
PACKAGE = "suffice_generated_client"


@pytest.fixture(scope="module")
def generated(served: str, tmp_path_factory: pytest.TempPathFactory):
    """The generated package, importable, with the operations that the generator left out."""
    folder = tmp_path_factory.mktemp("client")
    document = folder / "openapi.json"
    document.write_text(httpx.get(f"{served}/openapi.json", timeout=60).text)
    config = folder / "config.yml"
    config.write_text("post_hooks: []\n")  # formatting the client takes longer than making it
    command = [GENERATOR, "generate", "--path", document, "--output-path", folder / PACKAGE, "--meta", "none"]
    subprocess.run([*command, "--config", config], check=True, capture_output=True, timeout=60)
    sys.path.insert(0, str(folder))
    yield folder / PACKAGE, json.loads(document.read_text())
    sys.path.remove(str(folder))


def test_no_operation_is_left_out(generated):
    package, document = generated
    made = {path.stem for path in package.glob("api/*/*.py")} - {"__init__"}
    assert made == {
        operation["operationId"] for methods in document["paths"].values() for operation in methods.values()
    }


def test_every_module_can_be_imported(generated):
    package, _ = generated
    names = [".".join(path.relative_to(package.parent).with_suffix("").parts) for path in package.glob("**/*.py")]
    for name in sorted(names):
        importlib.import_module(name.removesuffix(".__init__"))


@pytest.mark.usefixtures("generated")
def test_it_works_through_a_job(served):
    def operation(tag: str, name: str):
        return importlib.import_module(f"{PACKAGE}.api.{tag}.{name}")

    models = importlib.import_module(f"{PACKAGE}.models")
    with importlib.import_module(f"{PACKAGE}.client").Client(base_url=served) as client:
        _work_through_a_job(operation, models, client)


def _work_through_a_job(operation, models, client) -> None:
    job = operation("jobs", "create_job").sync(client=client, body=models.JobIn(labels=["cat", "dog"], budget="10"))
    assert isinstance(job, models.JobOut)
    assert (job.state, job.budget, job.worker_model.kind) == ("running", "10", "auto")

    items = [models.ItemIn(key=key, payload={"url": f"https://example.org/{key}.jpg"}) for key in ("i1", "i2")]
    added = operation("items", "add_items").sync(job.id, client=client, body=items)
    assert (added.added, added.unchanged) == (2, 0)

    body = models.NextIn(worker="w1", count=1)
    [assignment] = operation("work", "next_assignments").sync(job.id, client=client, body=body).assignments
    answer = models.AnswerIn(assignment=assignment.id, label="cat")
    recorded = operation("work", "send_answers").sync(job.id, client=client, body=answer)
    assert (recorded.item, recorded.accepted, recorded.verdict) == (assignment.item, True, "continue")

    results = operation("results", "list_results").sync(job.id, client=client)
    votes = {one.item: one.votes.to_dict() for one in results.results}
    assert votes[assignment.item] == {"cat": 1, "dog": 0}

    refused = operation("work", "send_answers").sync(
        job.id, client=client, body=models.AnswerIn(item="i1", worker="w1", label="bird")
    )
    assert isinstance(refused, models.Problem)
    assert refused.code == "label-unknown"
