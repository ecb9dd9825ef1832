"""The tables. Every primary key starts with the job, so that jobs can be distributed over machines."""

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    false,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, REAL

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

ZERO = text("0")

job = Table(
    "job",
    metadata,
    Column("job_id", Uuid, primary_key=True),
    Column("name", Text),
    Column("policy", JSON, nullable=False),  # JSONB would lose the order of the tiers
    Column("lease_seconds", Integer, nullable=False),
    Column("paused", Boolean, nullable=False, server_default=false()),
    Column("budget", Numeric),
    Column("answer_cost", Numeric, nullable=False, server_default=text("1")),  # of items without a cost of their own
    Column("spent", Numeric, nullable=False, server_default=ZERO),
    Column("reserved", Numeric, nullable=False, server_default=ZERO),
    # Counters are on the row that every writer locks: reading them scans nothing, and they change with the money.
    Column("items", BigInteger, nullable=False, server_default=ZERO),
    Column("last_item", BigInteger, nullable=False, server_default=ZERO),  # the highest number of an item, ever
    Column("resolved", BigInteger, nullable=False, server_default=ZERO),
    Column("given_up", BigInteger, nullable=False, server_default=ZERO),
    Column("assignments", BigInteger, nullable=False, server_default=ZERO),
    Column("answers", BigInteger, nullable=False, server_default=ZERO),
    Column("imported", BigInteger, nullable=False, server_default=ZERO),  # of the answers: their times are the sender's
    Column("progress", Double, nullable=False, server_default=ZERO),  # the sum over the items
    Column("inverse_costs", Double, nullable=False, server_default=ZERO),  # the sum of 1 / cost over the items
    Column("price", Double, nullable=False, server_default=text("1")),  # that workers are expected to charge
    Column("repriced_to", BigInteger),  # up to this item all are judged by that price; null: all items are
    Column("least_cost", Numeric, nullable=False, server_default=ZERO),  # no item costs less; 0 without items
    # The stage of the worker model and why; at how many answers the next refit starts, null if never.
    Column("stage", SmallInteger, nullable=False, server_default=ZERO),
    Column("stage_choice", JSONB(none_as_null=True)),
    Column("calibration", JSONB(none_as_null=True)),  # what items of known truth show about confidence
    Column("calibration_prior", JSONB(none_as_null=True)),  # what an earlier job shows about it
    # How far each source of opinions is believed, and who repeats it: of priors, then of features.
    Column("sources", JSONB(none_as_null=True)),
    Column("refit_at", BigInteger),
    Column("operations", BigInteger, nullable=False, server_default=ZERO),
    Column("gold_items", BigInteger, nullable=False, server_default=ZERO),  # that can be assigned as gold
    Column("feature_length", Integer),  # of an item's features; null while no item has had any
    Column(
        "recounts", BigInteger, nullable=False, server_default=ZERO
    ),  # how many times votes were removed or put back
    Column("blocks", BigInteger, nullable=False, server_default=ZERO),  # how many workers the test has blocked
    Column("reputation", Uuid),  # the job whose worker skills this job started with
    Column("plan", JSONB(none_as_null=True)),  # the plan that the job was made from, with what it predicted
    Column("forecast", JSONB(none_as_null=True)),  # the latest, without its curve, because it is loaded with every job
    # Labels that answers made, so without gold that the requester gave; how often one came, changed or went.
    Column("labeled", BigInteger, nullable=False, server_default=ZERO),
    Column("label_changes", BigInteger, nullable=False, server_default=ZERO),
    Column("confidence_sum", Double, nullable=False, server_default=ZERO),  # over these labels
    Column("dissent_sum", Double, nullable=False, server_default=ZERO),  # of log(1 + answers against the label)
    Column("audits", BigInteger, nullable=False, server_default=ZERO),
    Column("audit", JSONB(none_as_null=True)),  # what the latest audit shows
    Column("created_at", DateTime(timezone=True), nullable=False),
    CheckConstraint("budget >= 0 AND budget < 'Infinity'", name="budget_is_an_amount"),
    CheckConstraint("spent >= 0 AND reserved >= 0", name="money_is_not_negative"),
    CheckConstraint("spent + reserved <= budget", name="never_over_budget"),
    CheckConstraint("lease_seconds > 0", name="lease_lasts"),
    CheckConstraint("resolved >= 0 AND given_up >= 0 AND resolved + given_up <= items", name="items_add_up"),
    CheckConstraint("assignments >= 0 AND answers >= 0", name="counts_are_not_negative"),
    Index("ix_job_newest", text("created_at DESC"), text("job_id DESC")),
)

item = Table(
    "item",
    metadata,
    Column("job_id", Uuid, primary_key=True),
    # 1, 2, 3 ... within the job; the number of a deleted item is not used again.
    Column("item_id", BigInteger, primary_key=True, autoincrement=False),
    Column("key", Text, nullable=False),
    Column("payload", JSON(none_as_null=True)),  # JSONB would change large numbers
    Column("cost", Numeric, nullable=False),
    # A label is the position of one, or several as the bits of a number; where answers are numbers, 0 is the estimate.
    Column("gold", BigInteger),
    Column("gold_value", Double),  # where answers are numbers
    Column("promoted", Boolean, nullable=False, server_default=false()),  # gold by the crowd, not by the requester
    Column("prior", ARRAY(Double)),
    Column("prior_answered", Boolean, nullable=False, server_default=false()),  # by its source: it no longer counts
    Column("features", ARRAY(Double)),
    Column("feature_opinion", ARRAY(Double)),  # what they say, by the latest refit; null where that does not count
    Column("state", Text, nullable=False, server_default=text("'open'")),
    Column("votes", ARRAY(Integer), nullable=False),
    Column("model_state", ARRAY(Double), nullable=False, server_default=text("'{}'")),  # what the worker model keeps
    Column("tier", SmallInteger, nullable=False, server_default=ZERO),  # a lower tier is asked first
    Column("priority", Double, nullable=False),  # within a tier the highest is asked first
    Column("tie_break", BigInteger, nullable=False),
    Column("max_open_assignments", Integer, nullable=False),  # how many assignments of it may be live at once
    Column("open_assignments", Integer, nullable=False, server_default=ZERO),
    Column("label", BigInteger),
    Column("confidence", Double, nullable=False),
    Column("progress", Double, nullable=False),
    Column("reason", JSONB, nullable=False),
    Column("joined", Double, nullable=False, server_default=ZERO),  # when, by the clock of `random`
    Column("scored", BigInteger, nullable=False, server_default=ZERO),  # the last answer compared with a label
    UniqueConstraint("job_id", "key"),
    ForeignKeyConstraint(["job_id"], ["job.job_id"], ondelete="CASCADE"),
    CheckConstraint("cost > 0 AND cost < 'Infinity'", name="cost_is_an_amount"),
    CheckConstraint("state IN ('open', 'resolved', 'given_up')", name="state_is_known"),
    CheckConstraint("(state = 'resolved') = (label IS NOT NULL)", name="resolved_has_a_label"),
    CheckConstraint("state = 'open' OR max_open_assignments = 0", name="closed_wants_nothing"),
    CheckConstraint("max_open_assignments >= 0 AND open_assignments >= 0", name="counts_are_not_negative"),
    CheckConstraint("0 <= ALL (votes)", name="votes_are_not_negative"),
    # The priority queue: an item leaves it while it has the most open assignments that it may have.
    Index(
        "ix_item_queue",
        "job_id",
        "tier",
        text("priority DESC"),
        "tie_break",
        postgresql_where=text("state = 'open' AND open_assignments < max_open_assignments"),
    ),
    Index("ix_item_state", "job_id", "state", "item_id"),
    Index("ix_item_label", "job_id", "label", "item_id", postgresql_where=text("label IS NOT NULL")),
    # The cheapest open item: without an answer that the money pays, the job is exhausted.
    Index("ix_item_open_cost", "job_id", "cost", postgresql_where=text("state = 'open'")),
    Index("ix_item_prior", "job_id", "item_id", postgresql_where=text("prior IS NOT NULL")),
    Index("ix_item_features", "job_id", "item_id", postgresql_where=text("features IS NOT NULL")),
    # What trusted workers are asked instead of the crowd, the cheapest first.
    Index(
        "ix_item_unsettled",
        "job_id",
        "cost",
        "item_id",
        postgresql_where=text("state = 'given_up' AND reason ->> 'code' = 'crowd-cannot-reach'"),
    ),
    # Gold is drawn at random: the first item from a random tie_break on.
    Index("ix_item_gold", "job_id", "tie_break", postgresql_where=text("gold IS NOT NULL")),
)

assignment = Table(
    "assignment",
    metadata,
    Column("job_id", Uuid, primary_key=True),
    Column("assignment_id", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3 ... within the job
    Column("item_id", BigInteger, nullable=False),
    Column("worker", Text),
    Column("state", Text, nullable=False),
    Column("cost", Numeric, nullable=False),
    Column("leased_at", DateTime(timezone=True), nullable=False),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("why", JSONB, nullable=False),
    Column("tier", Text),  # that the request for work came with
    Column("audit_id", BigInteger),  # the audit that the answer belongs to; null: a vote
    # One row per item and worker: an assignment that expired is renewed in the same row.
    UniqueConstraint("job_id", "item_id", "worker"),
    ForeignKeyConstraint(["job_id", "item_id"], ["item.job_id", "item.item_id"], ondelete="CASCADE"),
    CheckConstraint("state IN ('live', 'answered', 'expired', 'released', 'skipped')", name="state_is_known"),
    CheckConstraint("cost >= 0", name="cost_is_not_negative"),
    CheckConstraint("expires_at > leased_at", name="lease_lasts"),
    Index("ix_assignment_live_by_expiry", "job_id", "expires_at", postgresql_where=text("state = 'live'")),
    Index("ix_assignment_live_by_worker", "job_id", "worker", postgresql_where=text("state = 'live'")),
)

answer = Table(
    "answer",
    metadata,
    Column("job_id", Uuid, primary_key=True),
    Column("answer_id", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3 ... in the order of commit
    Column("item_id", BigInteger, nullable=False),
    Column("worker", Text),
    Column("assignment_id", BigInteger),
    Column("tier", Text),  # with which the answer came; null: that of its worker
    Column("label", BigInteger, nullable=False),
    Column("value", Double),  # where answers are numbers; their label is 0
    Column("cost", Numeric, nullable=False),
    Column("late", Boolean, nullable=False),
    Column("counted", Boolean, nullable=False),
    Column("withheld", Boolean, nullable=False, server_default=false()),  # the worker is blocked and the vote removed
    Column("verdict", JSONB, nullable=False),  # the response, to repeat it for a duplicate
    Column("answered_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint("job_id", "item_id", "worker"),
    UniqueConstraint("job_id", "assignment_id"),
    ForeignKeyConstraint(["job_id", "item_id"], ["item.job_id", "item.item_id"], ondelete="CASCADE"),
    CheckConstraint("cost >= 0", name="cost_is_not_negative"),
    CheckConstraint("label >= 0", name="label_is_a_position"),
    Index("ix_answer_by_worker", "job_id", "worker", "answer_id"),
)

# Answers of an import that wait to be recorded, those of an item in one row, in the order in which they were sent.
imported_answers = Table(
    "imported_answers",
    metadata,
    Column("job_id", Uuid, primary_key=True),
    Column("item_id", BigInteger, primary_key=True, autoincrement=False),
    Column("workers", ARRAY(Text), nullable=False),
    Column("tiers", ARRAY(Text), nullable=False),
    Column("labels", ARRAY(BigInteger), nullable=False),
    Column("numbers", ARRAY(Double), nullable=False),  # null unless answers are numbers
    Column("answered_at", ARRAY(DateTime(timezone=True)), nullable=False),
    ForeignKeyConstraint(["job_id", "item_id"], ["item.job_id", "item.item_id"], ondelete="CASCADE"),
)

# The worker index of Abraham et al. (SIGIR 2016), as value per cost: see `UpperConfidence.ucb_score`.
# Every cast is written out, because Alembic compares the text with that of Postgres.
UCB_SCORE = (
    "power(greatest(2::double precision * CASE WHEN scored_answers = 0 THEN 2::double precision ELSE "
    "agreed_answers::double precision / scored_answers::double precision + 1::double precision "
    "/ sqrt(scored_answers::double precision) "
    "END - 1::double precision, 0::double precision), 2::double precision) "
    "/ greatest(price::double precision, 0.000000001::double precision)"
)

worker = Table(
    "worker",
    metadata,
    Column("job_id", Uuid, primary_key=True),
    Column("worker", Text, primary_key=True),
    Column("skill", ARRAY(Double)),  # the parameters of the worker model; null if nothing is learned yet
    Column("price", Numeric, nullable=False, server_default=text("1")),  # an answer costs this times the item's cost
    Column(
        "registered", Boolean, nullable=False, server_default=false()
    ),  # can be chosen by requests that name no worker
    Column("tier", Text),
    Column("accuracy", Double),  # by the skill; null if the model does not estimate it
    Column("copying_probability", Double),  # that the worker repeats a source; null if the last fit found no copiers
    Column("carried", ARRAY(Double)),  # the skill that came from another job
    # What a requester states about how often the worker is right, and how many checked answers that is worth.
    Column("stated_accuracy", Double),
    Column("stated_weight", Double),
    # Updated with every answer, so that no query counts rows.
    Column("answers", BigInteger, nullable=False, server_default=ZERO),
    Column("scored_answers", BigInteger, nullable=False, server_default=ZERO),  # compared with a label or with gold
    Column("agreed_answers", BigInteger, nullable=False, server_default=ZERO),  # of those, how many agreed
    Column("gold_asked", BigInteger, nullable=False, server_default=ZERO),
    Column("gold_right", BigInteger, nullable=False, server_default=ZERO),
    Column(
        "seconds", ARRAY(REAL), nullable=False, server_default=text("'{}'")
    ),  # from assignment to answer, the last few
    Column("status", Text, nullable=False, server_default=text("'active'")),
    Column("block", JSONB(none_as_null=True)),  # reason, evidence, time, and what is done with the votes
    Column("low_information", JSONB(none_as_null=True)),  # why the last refit gives this worker no work, since when
    Column("recount", Boolean, nullable=False, server_default=false()),  # the votes must still be removed or put back
    Column("pardoned_at", BigInteger),  # `scored_answers` when a requester last unblocked the worker
    Column("trusted", Boolean, nullable=False, server_default=false()),  # answers in audits are truth
    Column("ucb_score", Double, Computed(UCB_SCORE, persisted=True)),
    ForeignKeyConstraint(["job_id"], ["job.job_id"], ondelete="CASCADE"),
    CheckConstraint("price >= 0 AND price < 'Infinity'", name="price_is_an_amount"),
    CheckConstraint("status IN ('active', 'blocked')", name="status_is_known"),
    CheckConstraint("(status = 'blocked') = (block IS NOT NULL)", name="blocked_for_a_reason"),
    CheckConstraint(
        "0 <= agreed_answers AND agreed_answers <= scored_answers AND scored_answers <= answers", name="answers_add_up"
    ),
    CheckConstraint("0 <= gold_right AND gold_right <= gold_asked", name="gold_adds_up"),
    CheckConstraint("(stated_accuracy IS NULL) = (stated_weight IS NULL)", name="stated_with_a_weight"),
    Index("ix_worker_recount", "job_id", postgresql_where=text("recount")),
    Index("ix_worker_price", "job_id", "price", postgresql_where=text("status = 'active'")),
    Index("ix_worker_blocked", "job_id", "worker", postgresql_where=text("status = 'blocked'")),
    Index("ix_worker_low_information", "job_id", "worker", postgresql_where=text("low_information IS NOT NULL")),
    # The order in which workers are chosen if a request names none.
    Index(
        "ix_worker_ucb_score",
        "job_id",
        text("ucb_score DESC"),
        "worker",
        postgresql_where=text("registered AND status = 'active'"),
    ),
)

operation = Table(
    "operation",
    metadata,
    Column("job_id", Uuid, primary_key=True),
    Column("operation_id", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3 ... within the job
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("progress", Double, nullable=False, server_default=ZERO),
    Column("outcome", JSONB(none_as_null=True)),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("finished_at", DateTime(timezone=True)),
    ForeignKeyConstraint(["job_id"], ["job.job_id"], ondelete="CASCADE"),
    CheckConstraint("state IN ('waiting', 'running', 'done', 'failed')", name="state_is_known"),
    CheckConstraint("0 <= progress AND progress <= 1", name="progress_is_a_share"),
    Index("ix_operation_unfinished", "job_id", postgresql_where=text("state IN ('waiting', 'running')")),
)

audit = Table(
    "audit",
    metadata,
    Column("job_id", Uuid, primary_key=True),
    Column("audit_id", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3 ... within the job
    Column("state", Text, nullable=False),
    Column("min_accuracy", Double, nullable=False),
    Column("confidence", Double, nullable=False),
    Column("max_items", Integer, nullable=False),
    Column("population", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("label_changes", BigInteger, nullable=False),  # of the job, when the audit began
    Column("checked", Integer, nullable=False, server_default=ZERO),
    Column("correct", Integer, nullable=False, server_default=ZERO),
    Column("accuracy", JSONB(none_as_null=True)),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("finished_at", DateTime(timezone=True)),
    ForeignKeyConstraint(["job_id"], ["job.job_id"], ondelete="CASCADE"),
    CheckConstraint("state IN ('running', 'proven', 'refuted', 'exhausted')", name="state_is_known"),
    CheckConstraint("0 <= correct AND correct <= checked", name="checks_add_up"),
    Index("ix_audit_running", "job_id", unique=True, postgresql_where=text("state = 'running'")),
)

audit_item = Table(
    "audit_item",
    metadata,
    Column("job_id", Uuid, primary_key=True),
    Column("audit_id", BigInteger, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),  # 1, 2, 3 ... in the random order
    Column("item_id", BigInteger, nullable=False),
    Column("label", BigInteger, nullable=False),  # when the audit began
    Column("answer", BigInteger),  # the truth; null if it is not checked yet
    Column("worker", Text),
    Column("answered_at", DateTime(timezone=True)),
    UniqueConstraint("job_id", "audit_id", "item_id"),
    ForeignKeyConstraint(["job_id", "audit_id"], ["audit.job_id", "audit.audit_id"], ondelete="CASCADE"),
)

stored_response = Table(
    "stored_response",
    metadata,
    Column("job_id", Uuid, primary_key=True),  # all zeros for requests that create a job, so there is no foreign key
    Column("key", Text, primary_key=True),  # chosen by the sender
    Column("digest", LargeBinary, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("headers", JSON, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Index("ix_stored_response_created_at", "created_at"),
)
