"""Store the estimate after each closed round, so that showing a campaign needs no new estimate."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "estimates",
        sa.Column("campaign", sa.String(63), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("prior", sa.Text, nullable=False),
        sa.Column("expected_coverage", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "round", name="estimates_pk"),
        sa.ForeignKeyConstraint(["campaign", "round"], ["rounds.campaign", "rounds.number"], name="estimates_round"),
    )
