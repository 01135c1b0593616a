"""Create the tables, and the triggers for what a constraint cannot express.

A released migration is never edited, so it names every column itself instead of importing `schema`.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything."""
    _tables()
    if op.get_bind().dialect.name == "sqlite":
        _sqlite_triggers()
    else:
        _postgresql_triggers()


def _tables() -> None:
    op.create_table(
        "operators",
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("added", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="operators_pk"),
        sa.CheckConstraint("role IN ('owner', 'planner', 'viewer')", name="operators_role"),
    )
    op.create_table(
        "operator_tokens",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("operator", sa.String(63), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("made", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="operator_tokens_pk"),
        sa.ForeignKeyConstraint(["operator"], ["operators.name"], name="operator_tokens_operator", ondelete="CASCADE"),
        sa.UniqueConstraint("token_hash", name="operator_tokens_once"),
        sa.CheckConstraint("length(token_hash) = 64", name="operator_tokens_hash"),
    )
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("private_key", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="signing_keys_pk"),
        sa.CheckConstraint("id = 1", name="signing_keys_only_one"),
        sa.CheckConstraint("length(private_key) = 64", name="signing_keys_private_key"),
    )
    op.create_table(
        "campaigns",
        sa.Column("id", sa.String(63), nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("terms", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("enrolment", sa.String(16), nullable=False),
        sa.Column("offer", sa.Text, nullable=False),
        sa.Column("seed", sa.String(64), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("panel", sa.Boolean, nullable=False),
        sa.Column("operator", sa.String(63)),
        sa.Column("failure", sa.Text),
        sa.Column("finished", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="campaigns_pk"),
        sa.ForeignKeyConstraint(["operator"], ["operators.name"], name="campaigns_operator", ondelete="SET NULL"),
        sa.CheckConstraint("state IN ('draft', 'open', 'paused', 'closed', 'finished')", name="campaigns_state"),
        sa.CheckConstraint("enrolment IN ('open', 'invite')", name="campaigns_enrolment"),
        sa.CheckConstraint("(state = 'finished') = (finished IS NOT NULL)", name="campaigns_finished_at"),
    )
    op.create_table(
        "retired_campaigns",
        sa.Column("id", sa.String(63), nullable=False),
        sa.PrimaryKeyConstraint("id", name="retired_campaigns_pk"),
    )
    op.create_table(
        "campaign_shares",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("operator", sa.String(63), nullable=False),
        sa.PrimaryKeyConstraint("campaign", "operator", name="campaign_shares_pk"),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="campaign_shares_campaign"),
        sa.ForeignKeyConstraint(["operator"], ["operators.name"], name="campaign_shares_operator", ondelete="CASCADE"),
    )
    op.create_table(
        "activity",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("operator", sa.String(63), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("campaign", sa.String(63)),
        sa.Column("detail", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("number", name="activity_pk"),
        sa.CheckConstraint("length(detail) <= 200", name="activity_detail"),
    )
    op.create_table(
        "rounds",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("claimed_until", sa.BigInteger),
        sa.Column("policy", sa.LargeBinary),
        sa.Column("policy_hash", sa.String(64)),
        sa.Column("symbols", sa.Integer),
        sa.Column("size", sa.Integer),
        sa.Column("opened", sa.BigInteger),
        sa.Column("deadline", sa.BigInteger),
        sa.Column("notice", sa.Text),
        sa.Column("counts", sa.Text),
        sa.Column("nulls", sa.Integer),
        sa.PrimaryKeyConstraint("campaign", "number", name="rounds_pk"),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="rounds_campaign"),
        sa.CheckConstraint("state IN ('opening', 'open', 'closed')", name="rounds_state"),
        sa.CheckConstraint("number >= 0", name="rounds_number"),
        sa.CheckConstraint("size > 0", name="rounds_size"),
        sa.CheckConstraint(
            "state = 'opening' OR (policy IS NOT NULL AND length(policy_hash) = 64 AND symbols >= 2"
            " AND notice IS NOT NULL)",
            name="rounds_policy",
        ),
        sa.CheckConstraint(
            "(state = 'closed') = (counts IS NOT NULL) AND (counts IS NULL) = (nulls IS NULL)", name="rounds_counts"
        ),
    )
    op.create_index(
        "rounds_one_at_a_time",
        "rounds",
        ["campaign"],
        unique=True,
        sqlite_where=sa.text("state <> 'closed'"),
        postgresql_where=sa.text("state <> 'closed'"),
    )
    op.create_table(
        "invites",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("invite_hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("campaign", "round", "invite_hash", name="invites_pk"),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="invites_campaign"),
    )
    op.create_table(
        "participants",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "number", name="participants_pk"),
        sa.ForeignKeyConstraint(["campaign", "round"], ["rounds.campaign", "rounds.number"], name="participants_round"),
        sa.UniqueConstraint("secret_hash", "campaign", name="participants_secret_once"),
        sa.CheckConstraint("number >= 0 AND number < 9007199254740992", name="participants_number"),
        sa.CheckConstraint("length(secret_hash) = 64", name="participants_secret_hash"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "seat_counts",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("seated", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "round", name="seat_counts_pk"),
        sa.ForeignKeyConstraint(["campaign", "round"], ["rounds.campaign", "rounds.number"], name="seat_counts_round"),
        sa.CheckConstraint("seated >= 0", name="seat_counts_seated"),
    )
    op.create_table(
        "reports",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("participant", sa.BigInteger, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("symbol", sa.Integer),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("campaign", "participant", name="reports_once"),
        sa.ForeignKeyConstraint(
            ["campaign", "participant"],
            ["participants.campaign", "participants.number"],
            name="reports_seat",
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("symbol >= 0 AND symbol < 100000000", name="reports_symbol"),
        sa.CheckConstraint("length(digest) = 64", name="reports_digest"),
        sqlite_with_rowid=False,
    )
    op.create_index("reports_by_round", "reports", ["round", "campaign", "symbol"])
    op.create_table(
        "refusals",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("reason", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "round", "reason", name="refusals_pk"),
        sa.ForeignKeyConstraint(["campaign", "round"], ["rounds.campaign", "rounds.number"], name="refusals_round"),
    )
    op.create_table(
        "estimates",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("prior", sa.Text, nullable=False),
        sa.Column("grade_shares", sa.Text, nullable=False),
        sa.Column("outside_share", sa.Double, nullable=False),
        sa.Column("expected_coverage", sa.Double),
        sa.Column("expectation", sa.Text),
        sa.PrimaryKeyConstraint("campaign", "round", name="estimates_pk"),
        sa.ForeignKeyConstraint(["campaign", "round"], ["rounds.campaign", "rounds.number"], name="estimates_round"),
    )
    op.create_table(
        "selections",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("request", sa.Text),
        sa.Column("made", sa.BigInteger, nullable=False),
        sa.Column("rounds", sa.Integer, nullable=False),
        sa.Column("people", sa.Integer, nullable=False),
        sa.Column("missing", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "number", name="selections_pk"),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="selections_campaign"),
        sa.CheckConstraint("number >= 0", name="selections_number"),
        sa.CheckConstraint("people >= 0", name="selections_people"),
    )
    op.create_table(
        "selected",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("selection", sa.Integer, nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("participant", sa.BigInteger, nullable=False),
        sa.Column("target", sa.Integer, nullable=False),
        sa.Column("chance", sa.Double, nullable=False),
        sa.Column("chosen", sa.String(6), nullable=False),
        sa.PrimaryKeyConstraint("campaign", "selection", "rank", name="selected_pk"),
        sa.ForeignKeyConstraint(
            ["campaign", "selection"], ["selections.campaign", "selections.number"], name="selected_by"
        ),
        sa.ForeignKeyConstraint(
            ["campaign", "participant"], ["reports.campaign", "reports.participant"], name="selected_reported"
        ),
        sa.UniqueConstraint("participant", "campaign", "selection", name="selected_once"),
        sa.CheckConstraint("rank >= 0", name="selected_rank"),
        sa.CheckConstraint("target >= 0", name="selected_target"),
        sa.CheckConstraint("chosen IN ('symbol', 'filled')", name="selected_chosen"),
    )


# --- what a CHECK cannot express ------------------------------------------------------------------------------

NEEDS_OPEN_ROUND = "a report needs a seat in the same round, which is open, and whose policy has its symbol"
NEVER_CHANGED = "is never changed or deleted"
ONLY_WITH_CAMPAIGN = "is deleted only with its campaign"
ONLY_FINISHED = "only a finished campaign is deleted with its rounds, and its id is retired then"
ONLY_RETIRED = "a campaign that was started is deleted only once its id is retired"
NEVER_AGAIN = "the id of a campaign that was started is never used again"
ONLY_WITH_SEAT = "a report is deleted only with its seat"
ONLY_WHILE_OPEN = "a seat is deleted only while its round is open, or with its campaign"
COUNTS_FIT = "the counts of a closed round add up to its reports"
NEEDS_CLOSED = "a selection is made once, when the campaign is closed, or of a panel that was started"
FINISHED_SELECTS = "a campaign that is asked once is finished by its selection"
ONLY_ITS_PEOPLE = "a selection has as many people as it says"


def _sqlite_triggers() -> None:
    op.execute(f"""
        CREATE TRIGGER reports_open_round BEFORE INSERT ON reports
        WHEN NOT EXISTS (
            SELECT 1 FROM rounds WHERE campaign = NEW.campaign AND number = NEW.round AND state = 'open'
            AND (NEW.symbol IS NULL OR NEW.symbol < symbols))
        OR NOT EXISTS (
            SELECT 1 FROM participants WHERE campaign = NEW.campaign AND number = NEW.participant AND round = NEW.round)
        BEGIN SELECT RAISE(ABORT, '{NEEDS_OPEN_ROUND}'); END""")
    op.execute(f"""
        CREATE TRIGGER rounds_closed_counts BEFORE UPDATE ON rounds
        WHEN NEW.state = 'closed' AND (
            NEW.nulls <> (SELECT count(*) FROM reports
                          WHERE campaign = NEW.campaign AND round = NEW.number AND symbol IS NULL)
            OR (SELECT coalesce(sum(value), 0) FROM json_each(NEW.counts))
               <> (SELECT count(*) FROM reports
                   WHERE campaign = NEW.campaign AND round = NEW.number AND symbol IS NOT NULL))
        BEGIN SELECT RAISE(ABORT, '{COUNTS_FIT}'); END""")
    op.execute(f"""
        CREATE TRIGGER selections_once_closed BEFORE INSERT ON selections
        WHEN NOT EXISTS (
            SELECT 1 FROM campaigns WHERE id = NEW.campaign
            AND (CASE WHEN panel THEN state <> 'draft' ELSE state = 'closed' AND NEW.number = 0 END))
        BEGIN SELECT RAISE(ABORT, '{NEEDS_CLOSED}'); END""")
    op.execute(f"""
        CREATE TRIGGER campaigns_finished BEFORE UPDATE ON campaigns
        WHEN NEW.state = 'finished' AND NOT NEW.panel
            AND NOT EXISTS (SELECT 1 FROM selections WHERE campaign = NEW.id)
        BEGIN SELECT RAISE(ABORT, '{FINISHED_SELECTS}'); END""")
    op.execute(f"""
        CREATE TRIGGER selected_only_its_people BEFORE INSERT ON selected
        WHEN NEW.rank >= (SELECT people FROM selections WHERE campaign = NEW.campaign AND number = NEW.selection)
        BEGIN SELECT RAISE(ABORT, '{ONLY_ITS_PEOPLE}'); END""")
    op.execute(f"""
        CREATE TRIGGER reports_only_with_seat BEFORE DELETE ON reports
        WHEN EXISTS (SELECT 1 FROM participants WHERE campaign = OLD.campaign AND number = OLD.participant)
        BEGIN SELECT RAISE(ABORT, '{ONLY_WITH_SEAT}'); END""")
    op.execute(f"""
        CREATE TRIGGER participants_while_open BEFORE DELETE ON participants
        WHEN NOT EXISTS (
            SELECT 1 FROM rounds WHERE campaign = OLD.campaign AND number = OLD.round AND state = 'open')
        AND NOT EXISTS (SELECT 1 FROM retired_campaigns WHERE id = OLD.campaign)
        BEGIN SELECT RAISE(ABORT, '{ONLY_WHILE_OPEN}'); END""")
    op.execute(f"""
        CREATE TRIGGER retired_campaigns_finished BEFORE INSERT ON retired_campaigns
        WHEN NOT EXISTS (SELECT 1 FROM campaigns WHERE id = NEW.id AND state = 'finished')
        BEGIN SELECT RAISE(ABORT, '{ONLY_FINISHED}'); END""")
    op.execute(f"""
        CREATE TRIGGER campaigns_deleted BEFORE DELETE ON campaigns
        WHEN OLD.state <> 'draft' AND NOT EXISTS (SELECT 1 FROM retired_campaigns WHERE id = OLD.id)
        BEGIN SELECT RAISE(ABORT, '{ONLY_RETIRED}'); END""")
    op.execute(f"""
        CREATE TRIGGER campaigns_new_id BEFORE INSERT ON campaigns
        WHEN EXISTS (SELECT 1 FROM retired_campaigns WHERE id = NEW.id)
        BEGIN SELECT RAISE(ABORT, '{NEVER_AGAIN}'); END""")
    for table, which in (("selections", "true"), ("selected", "true"), ("rounds", "OLD.state = 'closed'")):
        op.execute(f"""
            CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}
            WHEN {which} AND NOT EXISTS (SELECT 1 FROM retired_campaigns WHERE id = OLD.campaign)
            BEGIN SELECT RAISE(ABORT, 'a row of {table} {ONLY_WITH_CAMPAIGN}'); END""")
    for table, verbs, when in (
        ("reports", ("UPDATE",), ""),
        ("participants", ("UPDATE",), ""),
        ("signing_keys", ("UPDATE", "DELETE"), ""),
        ("selections", ("UPDATE",), ""),
        ("selected", ("UPDATE",), ""),
        ("activity", ("UPDATE", "DELETE"), ""),
        ("retired_campaigns", ("UPDATE", "DELETE"), ""),
        ("rounds", ("UPDATE",), "WHEN OLD.state = 'closed'"),
    ):
        for verb in verbs:
            op.execute(f"""
                CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} {when}
                BEGIN SELECT RAISE(ABORT, 'a row of {table} {NEVER_CHANGED}'); END""")


def _postgresql_triggers() -> None:
    # Once for all reports of a statement. FOR SHARE: closing the round waits for these reports, or they wait, and the
    # second query finds the round closed, because each query of a function sees what was committed before it.
    # Scalar subqueries: for a join with a table that has no statistics yet, PostgreSQL would read the whole table.
    op.execute(f"""
        CREATE FUNCTION crowdveil_reports_open_round() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM rounds WHERE (campaign, number) IN (SELECT DISTINCT campaign, round FROM added)
                ORDER BY campaign, number FOR SHARE;
            PERFORM 1 FROM added WHERE round IS DISTINCT FROM
                    (SELECT seat.round FROM participants AS seat
                     WHERE seat.campaign = added.campaign AND seat.number = added.participant)
                OR coalesce(symbol, 0) >= coalesce(
                    (SELECT symbols FROM rounds WHERE rounds.campaign = added.campaign
                     AND rounds.number = added.round AND rounds.state = 'open'), 0);
            IF FOUND THEN
                RAISE EXCEPTION '{NEEDS_OPEN_ROUND}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NULL;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_rounds_closed_counts() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.nulls <> (SELECT count(*) FROM reports
                             WHERE campaign = NEW.campaign AND round = NEW.number AND symbol IS NULL)
               OR (SELECT coalesce(sum(one::bigint), 0) FROM json_array_elements_text(NEW.counts::json) AS one)
                  <> (SELECT count(*) FROM reports
                      WHERE campaign = NEW.campaign AND round = NEW.number AND symbol IS NOT NULL) THEN
                RAISE EXCEPTION '{COUNTS_FIT}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_selections_once_closed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM campaigns WHERE id = NEW.campaign
                AND (CASE WHEN panel THEN state <> 'draft' ELSE state = 'closed' AND NEW.number = 0 END)
                FOR SHARE;
            IF NOT FOUND THEN
                RAISE EXCEPTION '{NEEDS_CLOSED}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_campaigns_finished() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT NEW.panel AND NOT EXISTS (SELECT 1 FROM selections WHERE campaign = NEW.id) THEN
                RAISE EXCEPTION '{FINISHED_SELECTS}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_selected_only_its_people() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.rank >= (SELECT people FROM selections
                            WHERE campaign = NEW.campaign AND number = NEW.selection) THEN
                RAISE EXCEPTION '{ONLY_ITS_PEOPLE}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""")
    # When a report is deleted with its seat, the seat is gone already.
    op.execute(f"""
        CREATE FUNCTION crowdveil_reports_only_with_seat() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM participants WHERE campaign = OLD.campaign AND number = OLD.participant;
            IF FOUND THEN
                RAISE EXCEPTION '{ONLY_WITH_SEAT}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN OLD;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_participants_while_open() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM retired_campaigns WHERE id = OLD.campaign;
            IF FOUND THEN
                RETURN OLD;
            END IF;
            PERFORM 1 FROM rounds WHERE campaign = OLD.campaign AND number = OLD.round AND state = 'open' FOR SHARE;
            IF NOT FOUND THEN
                RAISE EXCEPTION '{ONLY_WHILE_OPEN}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN OLD;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_retired_campaigns_finished() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM campaigns WHERE id = NEW.id AND state = 'finished' FOR SHARE;
            IF NOT FOUND THEN
                RAISE EXCEPTION '{ONLY_FINISHED}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_campaigns_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM retired_campaigns WHERE id = OLD.id;
            IF NOT FOUND THEN
                RAISE EXCEPTION '{ONLY_RETIRED}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN OLD;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_campaigns_new_id() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM retired_campaigns WHERE id = NEW.id;
            IF FOUND THEN
                RAISE EXCEPTION '{NEVER_AGAIN}' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_only_with_campaign() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM retired_campaigns WHERE id = OLD.campaign;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'a row of % {ONLY_WITH_CAMPAIGN}', TG_TABLE_NAME
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN OLD;
        END $$""")
    op.execute(f"""
        CREATE FUNCTION crowdveil_never_changed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'a row of % {NEVER_CHANGED}', TG_TABLE_NAME
                USING ERRCODE = 'integrity_constraint_violation';
        END $$""")
    for trigger, when in (
        ("reports_open_round", "AFTER INSERT ON reports REFERENCING NEW TABLE AS added FOR EACH STATEMENT"),
        ("rounds_closed_counts", "BEFORE UPDATE ON rounds FOR EACH ROW WHEN (NEW.state = 'closed')"),
        ("selections_once_closed", "BEFORE INSERT ON selections FOR EACH ROW"),
        ("campaigns_finished", "BEFORE UPDATE ON campaigns FOR EACH ROW WHEN (NEW.state = 'finished')"),
        ("selected_only_its_people", "BEFORE INSERT ON selected FOR EACH ROW"),
        ("reports_only_with_seat", "BEFORE DELETE ON reports FOR EACH ROW"),
        ("participants_while_open", "BEFORE DELETE ON participants FOR EACH ROW"),
        ("retired_campaigns_finished", "BEFORE INSERT ON retired_campaigns FOR EACH ROW"),
        ("campaigns_deleted", "BEFORE DELETE ON campaigns FOR EACH ROW WHEN (OLD.state <> 'draft')"),
        ("campaigns_new_id", "BEFORE INSERT ON campaigns FOR EACH ROW"),
    ):
        op.execute(f"CREATE TRIGGER {trigger} {when} EXECUTE FUNCTION crowdveil_{trigger}()")
    never = "EXECUTE FUNCTION crowdveil_never_changed()"
    for table, verbs, when in (
        ("reports", "UPDATE", ""),
        ("participants", "UPDATE", ""),
        ("signing_keys", "UPDATE OR DELETE", ""),
        ("selections", "UPDATE", ""),
        ("selected", "UPDATE", ""),
        ("activity", "UPDATE OR DELETE", ""),
        ("retired_campaigns", "UPDATE OR DELETE", ""),
        ("rounds", "UPDATE", "WHEN (OLD.state = 'closed')"),
    ):
        op.execute(f"CREATE TRIGGER {table}_kept BEFORE {verbs} ON {table} FOR EACH ROW {when} {never}")
        op.execute(f"CREATE TRIGGER {table}_not_emptied BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {never}")
    for table, when in (("selections", ""), ("selected", ""), ("rounds", "WHEN (OLD.state = 'closed')")):
        only = "EXECUTE FUNCTION crowdveil_only_with_campaign()"
        op.execute(f"CREATE TRIGGER {table}_with_campaign BEFORE DELETE ON {table} FOR EACH ROW {when} {only}")
