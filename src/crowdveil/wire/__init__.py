"""What devices, operators and the server say to each other: versioned messages, defined once.

JSON over HTTP; every message is a frozen, strict model that refuses unknown fields. `Message.to_bytes` is its canonical
form (sorted keys, no spaces, ASCII), `Message.from_bytes` reads and checks. A round's policy is no message of its own:
it travels as `Policy.to_bytes()` under `POLICY_MEDIA_TYPE`, the same bytes for everybody, with `policy_etag(hash)`.
"""

from crowdveil.vocabulary import CampaignState, ParticipantState
from crowdveil.wire.area import AreaRequest, AreaShape, Estimates, RoundEstimate
from crowdveil.wire.message import POLICY_MEDIA_TYPE, PROTOCOL, Message, first_error, policy_etag, secret_digest
from crowdveil.wire.operator import (
    AuditRecord,
    AuditRound,
    AuditSelection,
    CampaignList,
    CampaignPlan,
    CampaignSummary,
    CampaignView,
    Health,
    InviteRequest,
    Invites,
    Preview,
    PreviewPoint,
    RoundView,
    SelectionRow,
    StateChange,
)
from crowdveil.wire.participant import STATUS_BYTES, Announcement, ParticipantStatus, Receipt, Report, Seat, SeatRequest
from crowdveil.wire.problem import PROBLEM_MEDIA_TYPE, PROBLEMS, Problem, ProblemKind
from crowdveil.wire.schemas import json_schemas

__all__ = [
    "POLICY_MEDIA_TYPE",
    "PROBLEMS",
    "PROBLEM_MEDIA_TYPE",
    "PROTOCOL",
    "STATUS_BYTES",
    "Announcement",
    "AreaRequest",
    "AreaShape",
    "AuditRecord",
    "AuditRound",
    "AuditSelection",
    "CampaignList",
    "CampaignPlan",
    "CampaignState",
    "CampaignSummary",
    "CampaignView",
    "Estimates",
    "Health",
    "InviteRequest",
    "Invites",
    "Message",
    "ParticipantState",
    "ParticipantStatus",
    "Preview",
    "PreviewPoint",
    "Problem",
    "ProblemKind",
    "Receipt",
    "Report",
    "RoundEstimate",
    "RoundView",
    "Seat",
    "SeatRequest",
    "SelectionRow",
    "StateChange",
    "first_error",
    "json_schemas",
    "policy_etag",
    "secret_digest",
]
