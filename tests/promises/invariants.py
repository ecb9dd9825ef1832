"""What must be true of a job's rows at every instant, counted in SQL."""

from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

INVARIANTS = {
    "money": """
        SELECT count(*) FROM job WHERE job_id = :job AND (
            spent <> (SELECT coalesce(sum(cost), 0) FROM answer WHERE job_id = :job)
            OR reserved <> (SELECT coalesce(sum(cost), 0) FROM assignment WHERE job_id = :job AND state = 'live')
            OR spent + reserved > budget)""",
    "in flight": """
        SELECT count(*) FROM item i WHERE job_id = :job AND open_assignments <> (
            SELECT count(*) FROM assignment a
            WHERE a.job_id = i.job_id AND a.item_id = i.item_id AND a.state = 'live')""",
    "votes": """
        SELECT count(*) FROM item i JOIN job j USING (job_id)
        WHERE job_id = :job AND (SELECT sum(v) FROM unnest(votes) v) <> (
            SELECT count(*) FROM answer a WHERE a.job_id = i.job_id AND a.item_id = i.item_id AND NOT a.withheld
        ) * (CASE j.policy -> 'answer' ->> 'kind'
            WHEN 'choices' THEN json_array_length(j.policy -> 'labels') ELSE 1 END)""",
    "votes by label": """
        SELECT count(*) FROM item i JOIN job j USING (job_id), unnest(i.votes) WITH ORDINALITY AS v(given, place)
        WHERE i.job_id = :job AND v.given <> (
            SELECT count(*) FROM answer a
            WHERE a.job_id = i.job_id AND a.item_id = i.item_id AND a.counted AND NOT a.withheld
                AND CASE j.policy -> 'answer' ->> 'kind'
                    WHEN 'choices' THEN a.label >> ((v.place - 1) / 2)::int & 1 = (v.place - 1) % 2  -- no, yes, no, ...
                    ELSE a.label = v.place - 1 END)""",
    "counters": """
        SELECT count(*) FROM job j WHERE job_id = :job AND (
            answers <> (SELECT count(*) FROM answer WHERE job_id = :job)
            OR items <> (SELECT count(*) FROM item WHERE job_id = :job)
            OR resolved <> (SELECT count(*) FROM item WHERE job_id = :job AND state = 'resolved')
            OR given_up <> (SELECT count(*) FROM item WHERE job_id = :job AND state = 'given_up')
            OR abs(progress - (SELECT sum(progress) FROM item WHERE job_id = :job)) > 1e-6)""",
    "an answer twice": """
        SELECT count(*) FROM (
            SELECT 1 FROM answer WHERE job_id = :job AND worker IS NOT NULL
            GROUP BY item_id, worker HAVING count(*) > 1
            UNION ALL
            SELECT 1 FROM answer WHERE job_id = :job AND assignment_id IS NOT NULL
            GROUP BY assignment_id HAVING count(*) > 1) repeated""",
    "a lease twice": """
        SELECT count(*) FROM (
            SELECT 1 FROM assignment WHERE job_id = :job AND worker IS NOT NULL
            GROUP BY item_id, worker HAVING count(*) > 1) repeated""",
    "answered or not": """
        SELECT count(*) FROM assignment a
        LEFT JOIN answer g ON g.job_id = a.job_id AND g.assignment_id = a.assignment_id
        WHERE a.job_id = :job AND (a.state = 'answered') <> (g.answer_id IS NOT NULL)""",
    "a lease of what was answered": """
        SELECT count(*) FROM assignment a JOIN answer g USING (job_id, item_id, worker)
        WHERE a.job_id = :job AND a.state = 'live'""",
}

AT_REST = {
    "a lease that outlives its time": "SELECT count(*) FROM assignment WHERE job_id = :job AND state = 'live'",
    "money held back": "SELECT count(*) FROM job WHERE job_id = :job AND reserved <> 0",
    "answers out": "SELECT count(*) FROM item WHERE job_id = :job AND open_assignments <> 0",
}


async def broken_invariants(database: AsyncEngine, job_id: str, *, at_rest: bool = False) -> dict[str, int]:
    """How often each law is broken, for those that are; `at_rest` once every lease has had its time."""
    laws = INVARIANTS | (AT_REST if at_rest else {})
    async with database.connect() as connection:
        counts = {name: await connection.scalar(text(query), {"job": UUID(job_id)}) for name, query in laws.items()}
    return {name: count for name, count in counts.items() if count}
