"""The schema guards the truth by itself, and migrations lead to it and back."""

import asyncio
import json
from uuid import uuid4

import numpy as np
import pytest
from alembic import command
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from app.store.connection import alembic_config, create_engine, current_revision, head_revision, migrate
from app.store.tables import metadata


@pytest.fixture
async def empty_database(database: AsyncEngine, database_url: str):
    name = f"empty_{uuid4().hex[:8]}"
    outside_transactions = database.execution_options(isolation_level="AUTOCOMMIT")
    async with outside_transactions.connect() as connection:
        await connection.execute(text(f"CREATE DATABASE {name}"))
        yield database_url.replace("/postgres?", f"/{name}?")
        await connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def in_thread(function, *arguments):
    """Alembic runs a loop of its own."""
    return asyncio.get_running_loop().run_in_executor(None, function, *arguments)


async def test_the_tables_are_what_the_migrations_make(database_url: str):
    """`alembic check`: nothing in the tables is missing from the migrations."""
    await in_thread(command.check, alembic_config(database_url))


async def test_up_down_and_up_again(empty_database: str):
    await in_thread(migrate, empty_database)
    await in_thread(command.downgrade, alembic_config(empty_database), "base")
    await in_thread(migrate, empty_database)
    await in_thread(command.check, alembic_config(empty_database))


async def test_degrees_of_clarity_are_summed(empty_database: str):
    """0017: a state of five degrees per class becomes the class's log-probability; others stay as they are.

    Answers against labels are counted, and what was learned from gold about the former confidence is learned again.
    """
    joint = np.array([[0.5, 0.1, 0.1, 0.05, 0.05], [0.1, 0.05, 0.03, 0.01, 0.01]])
    known = np.array([[0.0, *[-1e9] * 4], [-1e9] * 5])
    kept = {1: np.log(joint).ravel(), 2: known.ravel(), 3: np.log([0.8, 0.2])}
    await in_thread(command.upgrade, alembic_config(empty_database), "0016")
    engine, job = create_engine(empty_database, connections=1), uuid4()
    async with engine.begin() as connection:
        policy = '{"worker_model": {"kind": "auto"}}'
        learned = "UPDATE job SET calibration = '{}', answers = 8, refit_at = 30"
        await connection.execute(text(JOB.format(columns="", values="")), {"job": job})
        await connection.execute(text("UPDATE job SET policy = CAST(:policy AS jsonb)"), {"policy": policy})
        await connection.execute(text(learned))
        resolved = ITEM.format(cost="1", votes="{2,3}", max_open_assignments="0", state="resolved", label="1")
        await connection.execute(text(resolved.replace("1, 'a'", "4, 'a4'")), {"job": job})
        for number, state in kept.items():
            item = ITEM.format(cost="1", votes="{1,0}", max_open_assignments="3", state="open", label="NULL")
            item = item.replace("1, 'a'", f"{number}, 'a{number}'")
            await connection.execute(text(item), {"job": job})
            change = text("UPDATE item SET model_state = :state WHERE item_id = :item")
            await connection.execute(change, {"state": state.tolist(), "item": number})
    await engine.dispose()
    await in_thread(migrate, empty_database)
    engine = create_engine(empty_database, connections=1)
    async with engine.connect() as connection:
        rows = await connection.execute(text("SELECT item_id, model_state FROM item"))
        found = {row.item_id: row.model_state for row in rows}
        kept_of_job = (await connection.execute(text("SELECT dissent_sum, calibration, refit_at FROM job"))).one()
    await engine.dispose()
    assert np.exp(found[1]) == pytest.approx(joint.sum(axis=1))
    assert np.exp(found[2]) == pytest.approx([1, 0])
    assert found[3] == kept[3].tolist()
    assert tuple(kept_of_job) == (pytest.approx(np.log(3)), None, 8)


async def test_stored_forecasts_have_the_words_of_the_api(empty_database: str):
    """0018, and back: facts of forecasts are renamed in jobs and operations; other outcomes stay as they are."""
    former, renamed = '{"level": 0.9, "sample": 4}', {"interval_probability": 0.9, "simulated_items": 4}
    await in_thread(command.upgrade, alembic_config(empty_database), "0017")
    engine, job = create_engine(empty_database, connections=1), uuid4()
    async with engine.begin() as connection:
        await connection.execute(text(JOB.format(columns="", values="")), {"job": job})
        await connection.execute(text("UPDATE job SET forecast = CAST(:found AS jsonb)"), {"found": former})
        for number, kind in enumerate(("forecast", "replay")):
            operation = (
                "INSERT INTO operation (job_id, operation_id, kind, state, outcome, created_at) "
                "VALUES (:job, :number, :kind, 'done', CAST(:found AS jsonb), now())"
            )
            given = {"job": job, "number": number, "kind": kind, "found": former}
            await connection.execute(text(operation), given)
    await engine.dispose()

    async def stored() -> list[dict]:
        engine = create_engine(empty_database, connections=1)
        async with engine.connect() as connection:
            query = "SELECT forecast FROM job UNION ALL (SELECT outcome FROM operation ORDER BY operation_id)"
            found = [row.forecast for row in await connection.execute(text(query))]
        await engine.dispose()
        return found

    await in_thread(migrate, empty_database)
    assert await stored() == [renamed, renamed, json.loads(former)]
    await in_thread(command.downgrade, alembic_config(empty_database), "0017")
    assert await stored() == [json.loads(former)] * 3


async def test_the_database_is_at_the_head(database: AsyncEngine):
    assert await current_revision(database) == head_revision()


async def test_an_empty_database_has_no_revision(empty_database: str):
    engine = create_engine(empty_database, connections=1)
    assert await current_revision(engine) is None
    await engine.dispose()


async def test_every_primary_key_starts_with_the_job(database: AsyncEngine):
    """What lets the schema be distributed by job."""

    def first_columns(connection):
        inspector = inspect(connection)
        return {name: inspector.get_pk_constraint(name)["constrained_columns"][0] for name in metadata.tables}

    async with database.connect() as connection:
        assert set((await connection.run_sync(first_columns)).values()) == {"job_id"}


JOB = "INSERT INTO job (job_id, policy, lease_seconds, created_at{columns}) VALUES (:job, '{{}}', 60, now(){values})"
ITEM = (
    "INSERT INTO item (job_id, item_id, key, cost, votes, priority, tie_break, max_open_assignments, confidence, "
    "progress, reason, state, label) VALUES (:job, 1, 'a', {cost}, '{votes}', 0, 0, {max_open_assignments}, 0.5, 0, "
    "'{{}}', '{state}', {label})"
)


@pytest.mark.parametrize(
    ("columns", "values", "constraint"),
    [
        (", budget, spent", ", 5, 6", "ck_job_never_over_budget"),
        (", budget, spent, reserved", ", 5, 3, 2.000001", "ck_job_never_over_budget"),
        (", budget", ", -1", "ck_job_budget_is_an_amount"),
        (", budget", ", 'NaN'", "ck_job_budget_is_an_amount"),
        (", spent", ", -1", "ck_job_money_is_not_negative"),
        (", reserved", ", -0.01", "ck_job_money_is_not_negative"),
        (", resolved", ", 1", "ck_job_items_add_up"),
        (", answers", ", -1", "ck_job_counts_are_not_negative"),
    ],
)
async def test_no_job_row_can_break_a_promise(database, columns, values, constraint):
    async with database.connect() as connection:
        with pytest.raises(IntegrityError, match=constraint):
            await connection.execute(text(JOB.format(columns=columns, values=values)), {"job": uuid4()})


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ({"cost": "0"}, "ck_item_cost_is_an_amount"),
        ({"cost": "'NaN'"}, "ck_item_cost_is_an_amount"),
        ({"votes": "{1,-1}"}, "ck_item_votes_are_not_negative"),
        ({"state": "lost", "max_open_assignments": "0"}, "ck_item_state_is_known"),
        ({"state": "resolved", "max_open_assignments": "0"}, "ck_item_resolved_has_a_label"),
        ({"label": "1"}, "ck_item_resolved_has_a_label"),
        ({"state": "given_up"}, "ck_item_closed_wants_nothing"),
        ({"max_open_assignments": "-1"}, "ck_item_counts_are_not_negative"),
    ],
)
async def test_no_item_row_can_break_a_promise(database, change, constraint):
    good = {"cost": "1", "votes": "{0,0}", "max_open_assignments": "3", "state": "open", "label": "NULL"}
    job = uuid4()
    async with database.connect() as connection:
        await connection.execute(text(JOB.format(columns="", values="")), {"job": job})
        with pytest.raises(IntegrityError, match=constraint):
            await connection.execute(text(ITEM.format(**good | change)), {"job": job})
