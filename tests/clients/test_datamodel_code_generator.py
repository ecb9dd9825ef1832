"""datamodel-code-generator makes models from the document that build every body and read every response."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import httpx
import pytest

GENERATOR = Path(sys.executable).parent / "datamodel-codegen"


@pytest.fixture(scope="module")
def models(served: str, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("models")
    (folder / "openapi.json").write_text(httpx.get(f"{served}/openapi.json", timeout=60).text)
    command = [GENERATOR, "--input", folder / "openapi.json", "--input-file-type", "openapi"]
    options = ["--output", folder / "suffice_models.py", "--output-model-type", "pydantic_v2.BaseModel"]
    subprocess.run([*command, *options, "--formatters", "builtin"], check=True, capture_output=True, timeout=60)
    spec = importlib.util.spec_from_file_location("suffice_models", folder / "suffice_models.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["suffice_models"] = module
    spec.loader.exec_module(module)
    return module


def test_the_models_build_the_bodies_and_read_the_responses(models, served):
    def send(method: str, path: str, body: object = None) -> bytes:
        rows = body if isinstance(body, list) else [body]
        sent = [one.model_dump(mode="json", exclude_unset=True) for one in rows if one is not None]
        response = httpx.request(
            method, served + path, json=sent if isinstance(body, list) else sent[0] if sent else None, timeout=30
        )
        assert response.is_success, response.text
        return response.content

    created = send("POST", "/v1/jobs", models.JobIn(labels=["cat", "dog"], budget="10"))
    job = models.JobOut.model_validate_json(created)
    path = f"/v1/jobs/{job.id}"
    items = [models.ItemIn(key="i1", payload={"text": "Miau"}), models.ItemIn(key="i2")]
    assert models.ItemsAdded.model_validate_json(send("POST", f"{path}/items", items)).added == 2
    given = models.NextOut.model_validate_json(send("POST", f"{path}/next", models.NextIn(worker="w1")))
    [assignment] = given.assignments
    answer = models.AnswerIn(assignment=assignment.id, label="cat")
    recorded = models.AnswerOut.model_validate_json(send("POST", f"{path}/answers", answer))
    assert recorded.item == assignment.item
    results = models.ResultsOut.model_validate_json(send("GET", f"{path}/results"))
    assert {one.item: one.votes["cat"] for one in results.results}[assignment.item] == 1
    assert (
        models.ItemHistory.model_validate_json(send("GET", f"{path}/items/{assignment.item}")).answers[0].label == "cat"
    )
    assert models.WorkersOut.model_validate_json(send("GET", f"{path}/workers")).workers[0].worker == "w1"
