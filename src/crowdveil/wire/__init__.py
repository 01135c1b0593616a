"""Define the versioned messages between devices, operators and the server, once.

    message       what all messages share: strict reading, the canonical form, types of fields
    terms         what a campaign fixes for its whole life, and the signed notice of each round
    signing       Ed25519: keys, signatures
    notices       whether a server showed different people different campaigns
    participant   announcement, seat, report, receipt, status, withdrawal
    operator      campaign plan and view, preview, invites, estimates
    team          operators, their roles and tokens, the activity log
    area          areas for the console's map
    audit         the exported selection, and the record from which anyone can repeat it
    problem       every error, as a problem document
    schemas       all of them as JSON Schema

Messages are JSON over HTTP. Each is a frozen, strict model that refuses unknown fields. `Message.to_bytes` gives its
canonical form (sorted keys, no spaces, ASCII); `Message.from_bytes` reads and checks. A round's policy is not a
message: it is sent as `Policy.to_bytes()` with the media type `POLICY_MEDIA_TYPE` and the ETag `policy_etag(hash)`, the
same bytes for everyone.
"""

from crowdveil.vocabulary import CampaignState, ParticipantState
from crowdveil.wire.area import AreaRequest, AreaShape
from crowdveil.wire.audit import AuditRecord, AuditRound, AuditSelection, SelectionRow
from crowdveil.wire.message import (
    MAX_SELECTIONS,
    POLICY_MEDIA_TYPE,
    PROTOCOL,
    Message,
    first_error,
    policy_etag,
    secret_digest,
    selection_seed,
)
from crowdveil.wire.notices import find_split
from crowdveil.wire.operator import (
    CampaignList,
    CampaignPlan,
    CampaignSummary,
    CampaignView,
    Estimates,
    Expectation,
    ExpectedPeople,
    ExpectedPlace,
    Health,
    InviteRequest,
    Invites,
    PanelRequest,
    Preview,
    PreviewPoint,
    ReplacedPlan,
    RoundEstimate,
    RoundView,
    SelectionList,
    SelectionView,
    StateChange,
)
from crowdveil.wire.participant import (
    STATUS_BYTES,
    Announcement,
    ParticipantStatus,
    Receipt,
    Report,
    Seat,
    SeatRequest,
    Withdrawal,
)
from crowdveil.wire.problem import PROBLEM_MEDIA_TYPE, PROBLEMS, Problem, ProblemKind
from crowdveil.wire.schemas import json_schemas
from crowdveil.wire.signing import new_private_key, public_key
from crowdveil.wire.team import (
    Activity,
    ActivityList,
    NewToken,
    OperatorList,
    OperatorView,
    RoleChange,
    SignedIn,
    TokenList,
    TokenRequest,
    TokenView,
)
from crowdveil.wire.terms import RoundNotice, Terms

__all__ = [
    "MAX_SELECTIONS",
    "POLICY_MEDIA_TYPE",
    "PROBLEMS",
    "PROBLEM_MEDIA_TYPE",
    "PROTOCOL",
    "STATUS_BYTES",
    "Activity",
    "ActivityList",
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
    "Expectation",
    "ExpectedPeople",
    "ExpectedPlace",
    "Health",
    "InviteRequest",
    "Invites",
    "Message",
    "NewToken",
    "OperatorList",
    "OperatorView",
    "PanelRequest",
    "ParticipantState",
    "ParticipantStatus",
    "Preview",
    "PreviewPoint",
    "Problem",
    "ProblemKind",
    "Receipt",
    "ReplacedPlan",
    "Report",
    "RoleChange",
    "RoundEstimate",
    "RoundNotice",
    "RoundView",
    "Seat",
    "SeatRequest",
    "SelectionList",
    "SelectionRow",
    "SelectionView",
    "SignedIn",
    "StateChange",
    "Terms",
    "TokenList",
    "TokenRequest",
    "TokenView",
    "Withdrawal",
    "find_split",
    "first_error",
    "json_schemas",
    "new_private_key",
    "policy_etag",
    "public_key",
    "secret_digest",
    "selection_seed",
]
