"""What the server keeps: a row per participant to select from, counts per symbol to learn from, and nothing else.

One schema on SQLite (a file) and PostgreSQL. What must never happen is forbidden by the database itself (constraints
and triggers, `migrations/`), not by the code path:

- one report for each participant and campaign; it is never changed, and never taken back
- a report belongs to the open round of its participant's seat, and is a symbol of that round's policy
- a closed round's counts add up to its reports, and it is never changed
- one round of a campaign at a time; one seat for each secret, and for each invite

    with open_store("sqlite:////var/lib/crowdveil/crowdveil.sqlite") as store:
        create_campaign(store, "coffee", plan_json, offer="A free coffee", seed=7, created=now)
        set_state(store, "coffee", "open")
        open_round(store, "coffee", 0, policy, size=100)
        seat = take_seat(store, "coffee", secret_hash)
        outcomes = add_reports(store, [Report("coffee", seat.participant, seat.round, seat.policy_hash, 17, digest)])
        round = close_round(store, "coffee", 0)

Every function is one transaction: when it returns, all of it is on disk; when it raises `StoreError`, none of it is.
All may be called from any thread and from several processes at once. Neither arrival times nor addresses are kept.
"""

from crowdveil.store.campaigns import (
    Campaign,
    add_operator,
    create_campaign,
    get_campaign,
    list_campaigns,
    operators,
    set_state,
)
from crowdveil.store.database import Store, open_store
from crowdveil.store.participants import (
    NoSeat,
    SeatClaim,
    StoredSeat,
    add_invites,
    is_participant,
    seats_of,
    take_seat,
    take_seats,
)
from crowdveil.store.reports import ReportOutcome, ReportRows, StoredReport, add_reports, reports_of, rows_of
from crowdveil.store.rounds import (
    RoundProgress,
    RoundRow,
    StoredEstimate,
    claim_round,
    close_round,
    closed_rounds,
    estimates_of,
    last_estimate,
    open_round,
    policy_bytes,
    progress,
    reported,
    rounds_of,
    save_estimate,
)
from crowdveil.store.selections import participant_state, save_selection, selection_of
from crowdveil.vocabulary import NULL, CampaignState, ParticipantState

__all__ = [
    "NULL",
    "Campaign",
    "CampaignState",
    "NoSeat",
    "ParticipantState",
    "ReportOutcome",
    "ReportRows",
    "RoundProgress",
    "RoundRow",
    "SeatClaim",
    "Store",
    "StoredEstimate",
    "StoredReport",
    "StoredSeat",
    "add_invites",
    "add_operator",
    "add_reports",
    "claim_round",
    "close_round",
    "closed_rounds",
    "create_campaign",
    "estimates_of",
    "get_campaign",
    "is_participant",
    "last_estimate",
    "list_campaigns",
    "open_round",
    "open_store",
    "operators",
    "participant_state",
    "policy_bytes",
    "progress",
    "reported",
    "reports_of",
    "rounds_of",
    "rows_of",
    "save_estimate",
    "save_selection",
    "seats_of",
    "selection_of",
    "set_state",
    "take_seat",
    "take_seats",
]
