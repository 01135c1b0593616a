"""The device SDK: checks a campaign, draws once, keeps a ledger, sends the same value until it is acknowledged.

`Operator` is the other end: it runs campaigns.
"""

from crowdveil.client.device import Device, NotYet, Offer, Settings
from crowdveil.client.events import Entry
from crowdveil.client.history import Where
from crowdveil.client.ledger import Ledger
from crowdveil.client.operator import Operator
from crowdveil.client.participant_client import Declined, Patience
from crowdveil.client.privacy_limits import Caps
from crowdveil.client.transport import HttpTransport, Reply, Request, Transport

__all__ = [
    "Caps",
    "Declined",
    "Device",
    "Entry",
    "HttpTransport",
    "Ledger",
    "NotYet",
    "Offer",
    "Operator",
    "Patience",
    "Reply",
    "Request",
    "Settings",
    "Transport",
    "Where",
]
