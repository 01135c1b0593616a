"""Store what the server needs: one row per participant to select from, counts per symbol to estimate from.

    schema           the tables: all that is stored
    migrations/      creates the tables, with the constraints and triggers
    database         opens the database, runs transactions
    campaigns        campaigns, their plans and states, the server's signing key
    deletion         what is deleted with a campaign, and which ids are never used again
    operators        operators, their tokens' hashes, with whom campaigns are shared
    visible          which campaigns an operator sees
    activity         the log of what operators changed
    rounds           rounds, policies, counts, estimates
    participants     invites, seats, withdrawals
    reports          reports: accepted once, or refused
    selections       selections, each once, and the state of each participant
    driver           the statements of every seat and report, on the driver's own cursor

There is one schema for SQLite (a file) and PostgreSQL. The database itself forbids what must never happen, by
constraints and triggers:

- one report for each participant and campaign; it is never changed, and deleted only with its seat
- a seat is deleted (its participant withdraws) only while its round is open
- a report belongs to the open round of its participant's seat, and is a symbol of that round's policy
- a closed round's counts add up to its reports, and it is never changed
- one round of a campaign at a time; one seat for each secret
- one selection of a campaign, any number of a panel; each is never changed
- a campaign that was started is deleted only as a whole, once it is finished, and its id is never used again
- the log of what operators did is only added to

    with open_store("sqlite:////var/lib/crowdveil/crowdveil.sqlite") as store:
        create_campaign(store, "coffee", plan_json, terms=terms_json, offer="A coffee", seed=seed, created=now)
        set_state(store, "coffee", "open")
        open_round(store, "coffee", 0, policy, notice=notice_json, size=100)
        seat = take_seat(store, "coffee", secret_hash)
        report = StoredReport("coffee", seat.participant, seat.round, seat.policy_hash, 17, digest)
        outcomes = add_reports(store, [report])
        round = close_round(store, "coffee", 0)

Every function is one transaction: when it returns, all of it is on disk; when it raises `StoreError`, none of it is.
All functions may be called from any thread and from several processes at once. Neither arrival times nor addresses are
stored.
"""

from crowdveil.extras import require_extra

require_extra("the server's database", "server")  # before the modules below import its libraries

# ruff: noqa: E402
from crowdveil.store.activity import ChangedBy, StoredActivity, list_activity, log_export
from crowdveil.store.campaigns import (
    Campaign,
    create_campaign,
    finish_panel,
    get_campaign,
    list_campaigns,
    replace_plan,
    set_failure,
    set_state,
    signing_key,
)
from crowdveil.store.database import Store, open_store
from crowdveil.store.deletion import delete_campaign
from crowdveil.store.operators import (
    MAX_TOKENS,
    KnownToken,
    StoredOperator,
    StoredToken,
    add_operator,
    add_token,
    known_tokens,
    list_operators,
    put_operator,
    remove_operator,
    revoke_token,
    share_campaign,
    shares_of,
    tokens_of,
    unshare_campaign,
)
from crowdveil.store.participants import (
    NoSeat,
    NotWithdrawn,
    SeatClaim,
    StoredSeat,
    add_invites,
    is_participant,
    seats_of,
    take_seat,
    take_seats,
    withdraw,
)
from crowdveil.store.reports import ReportOutcome, ReportRows, StoredReport, add_reports, report_rows, reports_of
from crowdveil.store.rounds import (
    RoundProgress,
    RoundRow,
    StoredEstimate,
    claim_round,
    close_round,
    closed_rounds,
    count_reports,
    estimates_of,
    last_estimate,
    open_round,
    policy_bytes,
    round_progress,
    rounds_of,
    save_estimate,
)
from crowdveil.store.selections import (
    SelectedBy,
    StoredSelection,
    participant_state,
    people_chosen,
    save_selection,
    selection_of,
    selections_of,
)
from crowdveil.vocabulary import NULL, CampaignState, ParticipantState

__all__ = [
    "MAX_TOKENS",
    "NULL",
    "Campaign",
    "CampaignState",
    "ChangedBy",
    "KnownToken",
    "NoSeat",
    "NotWithdrawn",
    "ParticipantState",
    "ReportOutcome",
    "ReportRows",
    "RoundProgress",
    "RoundRow",
    "SeatClaim",
    "SelectedBy",
    "Store",
    "StoredActivity",
    "StoredEstimate",
    "StoredOperator",
    "StoredReport",
    "StoredSeat",
    "StoredSelection",
    "StoredToken",
    "add_invites",
    "add_operator",
    "add_reports",
    "add_token",
    "claim_round",
    "close_round",
    "closed_rounds",
    "count_reports",
    "create_campaign",
    "delete_campaign",
    "estimates_of",
    "finish_panel",
    "get_campaign",
    "is_participant",
    "known_tokens",
    "last_estimate",
    "list_activity",
    "list_campaigns",
    "list_operators",
    "log_export",
    "open_round",
    "open_store",
    "participant_state",
    "people_chosen",
    "policy_bytes",
    "put_operator",
    "remove_operator",
    "replace_plan",
    "report_rows",
    "reports_of",
    "revoke_token",
    "round_progress",
    "rounds_of",
    "save_estimate",
    "save_selection",
    "seats_of",
    "selection_of",
    "selections_of",
    "set_failure",
    "set_state",
    "share_campaign",
    "shares_of",
    "signing_key",
    "take_seat",
    "take_seats",
    "tokens_of",
    "unshare_campaign",
    "withdraw",
]
