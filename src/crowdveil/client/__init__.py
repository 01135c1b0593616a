"""Take part in campaigns as a device: check a campaign, draw once, record it, and send the same report until confirmed.

device              `Device`: look, explain, take a seat, draw, send
device_status       what became of a device's answers
explain             what the participant is told before anything is sent
information         how many bits a report carries at most
history, excluded   from visits to the one place to report; places that are never reported
ledger, events      what was ever drawn and what it cost; the owner's limits; the place of a report until it is drawn
ledger_file         the ledger on the disk; a constraint stops a second draw for a report
ledger_transfer     the ledger on its way to another device
invite_link         what an invite link says, to compare the server with
participant_client  the requests of a device
operator            the requests of an operator: `Operator` runs campaigns
retry               retries a request until an answer comes
transport           sends a request over HTTPS
fleet               many devices on one machine, for demonstrations and load tests
round_waiter        lets them wait for the next round together
"""

from crowdveil.client.device import CheckedCampaign, Device, DeviceSettings
from crowdveil.client.device_status import DeviceStatus
from crowdveil.client.events import LedgerEntry, ReportKey
from crowdveil.client.excluded import ExcludedPlace
from crowdveil.client.history import LocationHistory
from crowdveil.client.invite_link import InviteLink
from crowdveil.client.ledger import Ledger
from crowdveil.client.operator import Operator
from crowdveil.client.retry import RetryPolicy
from crowdveil.client.transport import HttpReply, HttpRequest, HttpTransport, Transport
from crowdveil.errors import NoOpenRound, ServerRefused
from crowdveil.limits import PrivacyLimits, Spent

__all__ = [
    "CheckedCampaign",
    "Device",
    "DeviceSettings",
    "DeviceStatus",
    "ExcludedPlace",
    "HttpReply",
    "HttpRequest",
    "HttpTransport",
    "InviteLink",
    "Ledger",
    "LedgerEntry",
    "LocationHistory",
    "NoOpenRound",
    "Operator",
    "PrivacyLimits",
    "ReportKey",
    "RetryPolicy",
    "ServerRefused",
    "Spent",
    "Transport",
]
