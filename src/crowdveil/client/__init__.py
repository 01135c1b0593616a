"""Take part in campaigns as a device: check a campaign, draw once, record it, and send the same report until confirmed.

device              `Device`: look, explain, take a seat, draw, send
privacy_limits      the limits of the device's owner; every check of a campaign and its policy against them
explain             what the participant is told before anything is sent
history             from visits to the one place to report
ledger, events      what was ever drawn and its loss; a constraint stops a second draw in a campaign
participant_client  the requests of a device
operator            the requests of an operator: `Operator` runs campaigns
retry               retries a request until an answer comes
transport           sends a request over HTTPS
fleet               many devices on one machine, for demonstrations and load tests
round_waiter        lets them wait for the next round together
"""

from crowdveil.client.device import CheckedCampaign, Device, DeviceSettings
from crowdveil.client.events import LedgerEntry
from crowdveil.client.history import LocationHistory
from crowdveil.client.ledger import Ledger
from crowdveil.client.operator import Operator
from crowdveil.client.privacy_limits import PrivacyLimits
from crowdveil.client.retry import RetryPolicy
from crowdveil.client.transport import HttpReply, HttpRequest, HttpTransport, Transport
from crowdveil.errors import NoOpenRound, ServerRefused

__all__ = [
    "CheckedCampaign",
    "Device",
    "DeviceSettings",
    "HttpReply",
    "HttpRequest",
    "HttpTransport",
    "Ledger",
    "LedgerEntry",
    "LocationHistory",
    "NoOpenRound",
    "Operator",
    "PrivacyLimits",
    "RetryPolicy",
    "ServerRefused",
    "Transport",
]
