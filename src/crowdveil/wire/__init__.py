"""What devices, operators and the server say to each other: versioned messages, defined once.

JSON over HTTP; every message is a frozen, strict model that refuses unknown fields. `Message.to_bytes` is its canonical
form (sorted keys, no spaces, ASCII), `Message.from_bytes` reads and checks. A round's policy is no message of its own:
it travels as `Policy.to_bytes()` under `POLICY_MEDIA_TYPE`, the same bytes for everybody, with `policy_etag(hash)`.
"""

from crowdveil.vocabulary import CampaignState, ParticipantState
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
from crowdveil.wire.participant import STATUS_BYTES, Announcement, ParticipantStatus, Receipt, Seat, SeatRequest, Upload
from crowdveil.wire.problem import PROBLEM_MEDIA_TYPE, PROBLEMS, Kind, Problem
from crowdveil.wire.schemas import json_schemas
from crowdveil.wire.shape import AreaRequest, AreaShape, Estimates, RoundEstimate

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
    "Kind",
    "Message",
    "ParticipantState",
    "ParticipantStatus",
    "Preview",
    "PreviewPoint",
    "Problem",
    "Receipt",
    "RoundEstimate",
    "RoundView",
    "Seat",
    "SeatRequest",
    "SelectionRow",
    "StateChange",
    "Upload",
    "first_error",
    "json_schemas",
    "policy_etag",
    "secret_digest",
]
