"""The way of a vote, and of a request for work, stays short: counted by `bench/trace.py`."""

import importlib.util
import sys
from types import ModuleType

import pytest

MOST_OF_THE_SERVICE = 15  # modules of the api, the use cases, the store and the domain
MOST_OF_ALL = 22  # with the arithmetic of the default policy
WAY_OF_A_VOTE = [
    "app.use_cases.work.batching",
    "app.store.jobs",
    "app.use_cases.work.record",
    "app.use_cases.work.ledger",
    "app.use_cases.work.judging",
]


@pytest.fixture(scope="module")
def tracing(project) -> ModuleType:
    spec = importlib.util.spec_from_file_location("trace_bench", project / "bench" / "trace.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("request_kind", ["answer", "next"])
async def test_a_request_passes_few_modules(tracing, database_url, request_kind):
    trace = await tracing.trace_request(database_url, request_kind)
    service = [module for module in trace.functions if not module.startswith("app.policy.")]
    assert "app.use_cases.work.batching" in service
    assert len(service) <= MOST_OF_THE_SERVICE, service
    assert len(trace.functions) <= MOST_OF_ALL, list(trace.functions)


async def test_a_vote_takes_the_way_that_the_architecture_page_tells(tracing, database_url):
    """In the order of first entry; and only judging asks the engine to judge."""
    trace = await tracing.trace_request(database_url, "answer")
    entered = [module for module in trace.functions if module in WAY_OF_A_VOTE]
    assert entered == WAY_OF_A_VOTE
    assert "Engine.judge" in trace.functions["app.policy.engine"]
    assert "_judge_now" in trace.functions["app.use_cases.work.judging"]
