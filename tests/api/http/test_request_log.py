"""The logs belong to the process, so only an application that starts may configure them."""

import logging

import pytest
import structlog

from app.main import create_app
from app.settings import Settings


def test_an_application_that_is_only_built_leaves_the_logs_alone():
    """Somebody who builds one for its OpenAPI document, or to send it requests in a test, keeps their own logs."""
    before = structlog.get_config(), logging.getLogger().handlers[:]
    create_app(Settings(database_url="postgresql://nowhere", log_level="error"))
    assert (structlog.get_config(), logging.getLogger().handlers) == before


@pytest.mark.usefixtures("served")
def test_a_served_application_leaves_the_logs_of_other_tests_alone():
    """Warnings that another test waits for are not lost, although the service in this process writes errors only."""
    with structlog.testing.capture_logs() as logs:
        structlog.get_logger().warning("seen")
    assert [entry["event"] for entry in logs] == ["seen"]
