"""Define the tables for queries. `migrations/` creates them; a test compares the two.

What is stored of a participant: the hash of a secret, the round of the seat (`participants`), one symbol with the
digest of the report (`reports`), and the selections that chose them (`selected`). No time, no address, no name. An
invite is deleted when it is used, so that nothing ties a report to the person who was invited. An invite to a panel is
there once for each round: whoever answered before is invited to every renewal, as a new participant with a new secret.
Participants have random numbers, and their rows no rowid, so that neither shows the order of the seats.

What is stored of an operator: a name, a role, hashes of tokens, and what they did, when (`activity`, which has nothing
of participants but how many). The log is only added to.

A campaign that was started is deleted as a whole, once it is finished; its id stays in `retired_campaigns`, because
devices remember their answers by the campaign's id and round, and would take another campaign of that id for the same.

`seat_counts` has the number of seats of a round, apart from `rounds`, because reports lock their round's row against
changes, and would wait for seats.

Only the indexes on a row's number begin with the campaign. PostgreSQL assumes that a campaign without statistics has a
row or two, would choose any index that begins with the campaign, and would then read all its rows for every look-up.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

operators = Table(
    "operators",
    metadata,
    Column("name", String(63), nullable=False),
    Column("role", String(8), nullable=False),
    Column("added", BigInteger, nullable=False),
    PrimaryKeyConstraint("name", name="operators_pk"),
    CheckConstraint("role IN ('owner', 'planner', 'viewer')", name="operators_role"),
)

operator_tokens = Table(
    "operator_tokens",
    metadata,
    Column("id", String(12), nullable=False),
    Column("operator", String(63), nullable=False),
    Column("token_hash", String(64), nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("expires", BigInteger),
    PrimaryKeyConstraint("id", name="operator_tokens_pk"),
    ForeignKeyConstraint(["operator"], ["operators.name"], name="operator_tokens_operator", ondelete="CASCADE"),
    UniqueConstraint("token_hash", name="operator_tokens_once"),
    CheckConstraint("length(token_hash) = 64", name="operator_tokens_hash"),
)

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("id", Integer, nullable=False),
    Column("private_key", String(64), nullable=False),
    PrimaryKeyConstraint("id", name="signing_keys_pk"),
    CheckConstraint("id = 1", name="signing_keys_only_one"),
    CheckConstraint("length(private_key) = 64", name="signing_keys_private_key"),
)

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", String(63), nullable=False),
    Column("plan", Text, nullable=False),
    Column("terms", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("enrolment", String(16), nullable=False),
    Column("offer", Text, nullable=False),
    Column("seed", String(64), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("panel", Boolean, nullable=False),
    Column("operator", String(63)),  # who created it; NULL once that operator was removed
    Column("failure", Text),
    Column("finished", BigInteger),
    PrimaryKeyConstraint("id", name="campaigns_pk"),
    ForeignKeyConstraint(["operator"], ["operators.name"], name="campaigns_operator", ondelete="SET NULL"),
    CheckConstraint("state IN ('draft', 'open', 'paused', 'closed', 'finished')", name="campaigns_state"),
    CheckConstraint("enrolment IN ('open', 'invite')", name="campaigns_enrolment"),
    CheckConstraint("(state = 'finished') = (finished IS NOT NULL)", name="campaigns_finished_at"),
)

retired_campaigns = Table(
    "retired_campaigns",
    metadata,
    Column("id", String(63), nullable=False),
    PrimaryKeyConstraint("id", name="retired_campaigns_pk"),
)

campaign_shares = Table(
    "campaign_shares",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("operator", String(63), nullable=False),
    PrimaryKeyConstraint("campaign", "operator", name="campaign_shares_pk"),
    ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="campaign_shares_campaign"),
    ForeignKeyConstraint(["operator"], ["operators.name"], name="campaign_shares_operator", ondelete="CASCADE"),
)

activity = Table(
    "activity",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), nullable=False, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("operator", String(63), nullable=False),  # no foreign key: the log outlives the operator
    Column("action", String(32), nullable=False),
    Column("campaign", String(63)),
    Column("detail", String(200), nullable=False),
    PrimaryKeyConstraint("number", name="activity_pk"),
    CheckConstraint("length(detail) <= 200", name="activity_detail"),
)

rounds = Table(
    "rounds",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("claimed_until", BigInteger),
    Column("policy", LargeBinary),
    Column("policy_hash", String(64)),
    Column("symbols", Integer),
    Column("size", Integer),
    Column("opened", BigInteger),
    Column("deadline", BigInteger),
    Column("notice", Text),
    Column("counts", Text),
    Column("nulls", Integer),
    PrimaryKeyConstraint("campaign", "number", name="rounds_pk"),
    ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="rounds_campaign"),
    CheckConstraint("state IN ('opening', 'open', 'closed')", name="rounds_state"),
    CheckConstraint("number >= 0", name="rounds_number"),
    CheckConstraint("size > 0", name="rounds_size"),
    CheckConstraint(
        "state = 'opening' OR (policy IS NOT NULL AND length(policy_hash) = 64 AND symbols >= 2"
        " AND notice IS NOT NULL)",
        name="rounds_policy",
    ),
    CheckConstraint(
        "(state = 'closed') = (counts IS NOT NULL) AND (counts IS NULL) = (nulls IS NULL)", name="rounds_counts"
    ),
)

Index(
    "rounds_one_at_a_time",
    rounds.c.campaign,
    unique=True,
    sqlite_where=text("state <> 'closed'"),
    postgresql_where=text("state <> 'closed'"),
)

invites = Table(
    "invites",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("round", Integer, nullable=False),
    Column("invite_hash", String(64), nullable=False),
    PrimaryKeyConstraint("campaign", "round", "invite_hash", name="invites_pk"),
    ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="invites_campaign"),
)

participants = Table(
    "participants",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("secret_hash", String(64), nullable=False),
    Column("round", Integer, nullable=False),
    PrimaryKeyConstraint("campaign", "number", name="participants_pk"),
    ForeignKeyConstraint(["campaign", "round"], ["rounds.campaign", "rounds.number"], name="participants_round"),
    UniqueConstraint("secret_hash", "campaign", name="participants_secret_once"),
    CheckConstraint("number >= 0 AND number < 9007199254740992", name="participants_number"),
    CheckConstraint("length(secret_hash) = 64", name="participants_secret_hash"),
    sqlite_with_rowid=False,  # a rowid would record the order of the seats
)

seat_counts = Table(
    "seat_counts",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("round", Integer, nullable=False),
    Column("seated", Integer, nullable=False),
    PrimaryKeyConstraint("campaign", "round", name="seat_counts_pk"),
    ForeignKeyConstraint(["campaign", "round"], ["rounds.campaign", "rounds.number"], name="seat_counts_round"),
    CheckConstraint("seated >= 0", name="seat_counts_seated"),
)

reports = Table(
    "reports",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("participant", BigInteger, nullable=False),
    Column("round", Integer, nullable=False),
    Column("symbol", Integer),  # NULL: no frequent place, sent in the clear
    Column("digest", String(64), nullable=False),
    PrimaryKeyConstraint("campaign", "participant", name="reports_once"),
    ForeignKeyConstraint(  # that the round is the seat's is checked by the trigger reports_open_round
        ["campaign", "participant"],
        ["participants.campaign", "participants.number"],
        name="reports_seat",
        ondelete="CASCADE",
    ),
    CheckConstraint("symbol >= 0 AND symbol < 100000000", name="reports_symbol"),
    CheckConstraint("length(digest) = 64", name="reports_digest"),
    Index("reports_by_round", "round", "campaign", "symbol"),
    sqlite_with_rowid=False,  # a rowid would record the order of arrival
)

refusals = Table(
    "refusals",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("round", Integer, nullable=False),
    Column("reason", String(32), nullable=False),
    Column("number", Integer, nullable=False),
    PrimaryKeyConstraint("campaign", "round", "reason", name="refusals_pk"),
    ForeignKeyConstraint(["campaign", "round"], ["rounds.campaign", "rounds.number"], name="refusals_round"),
)

estimates = Table(
    "estimates",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("round", Integer, nullable=False),
    Column("prior", Text, nullable=False),
    Column("grade_shares", Text, nullable=False),
    Column("outside_share", Double, nullable=False),
    Column("expected_coverage", Double),
    Column("expectation", Text),
    PrimaryKeyConstraint("campaign", "round", name="estimates_pk"),
    ForeignKeyConstraint(["campaign", "round"], ["rounds.campaign", "rounds.number"], name="estimates_round"),
)

selections = Table(
    "selections",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("number", Integer, nullable=False),
    Column("request", Text),
    Column("made", BigInteger, nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("people", Integer, nullable=False),
    Column("missing", Text, nullable=False),
    PrimaryKeyConstraint("campaign", "number", name="selections_pk"),
    ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="selections_campaign"),
    CheckConstraint("number >= 0", name="selections_number"),
    CheckConstraint("people >= 0", name="selections_people"),
)

selected = Table(
    "selected",
    metadata,
    Column("campaign", String(63), nullable=False),
    Column("selection", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("participant", BigInteger, nullable=False),
    Column("target", Integer, nullable=False),
    Column("chance", Double, nullable=False),
    Column("chosen", String(6), nullable=False),
    PrimaryKeyConstraint("campaign", "selection", "rank", name="selected_pk"),
    ForeignKeyConstraint(["campaign", "selection"], ["selections.campaign", "selections.number"], name="selected_by"),
    ForeignKeyConstraint(
        ["campaign", "participant"], ["reports.campaign", "reports.participant"], name="selected_reported"
    ),
    UniqueConstraint("participant", "campaign", "selection", name="selected_once"),
    CheckConstraint("rank >= 0", name="selected_rank"),
    CheckConstraint("target >= 0", name="selected_target"),
    CheckConstraint("chosen IN ('symbol', 'filled')", name="selected_chosen"),
)
