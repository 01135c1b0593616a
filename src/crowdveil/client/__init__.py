"""The device SDK: checks a campaign, draws once, keeps a ledger, sends the same value until it is acknowledged.

`Operator` is the other end: it runs campaigns.
"""

from crowdveil.client.device import Device, DeviceSettings, Offer
from crowdveil.client.events import LedgerEntry
from crowdveil.client.history import LocationHistory
from crowdveil.client.ledger import Ledger
from crowdveil.client.operator import Operator
from crowdveil.client.privacy_limits import PrivacyLimits
from crowdveil.client.retry import RetryPolicy
from crowdveil.client.transport import HttpReply, HttpRequest, HttpTransport, Transport
from crowdveil.errors import NoOpenRound, ServerRefused

__all__ = [
    "Device",
    "DeviceSettings",
    "HttpReply",
    "HttpRequest",
    "HttpTransport",
    "Ledger",
    "LedgerEntry",
    "LocationHistory",
    "NoOpenRound",
    "Offer",
    "Operator",
    "PrivacyLimits",
    "RetryPolicy",
    "ServerRefused",
    "Transport",
]
