"""The device SDK: checks a campaign, draws once, keeps a ledger, sends the same value until it is acknowledged."""

from crowdveil.client.caps import Caps
from crowdveil.client.device import Device, Offer, Settings
from crowdveil.client.events import Entry
from crowdveil.client.ledger import Ledger
from crowdveil.client.line import Declined, Patience
from crowdveil.client.transport import HttpTransport, Reply, Request, Transport
from crowdveil.client.whereabouts import Where

__all__ = [
    "Caps",
    "Declined",
    "Device",
    "Entry",
    "HttpTransport",
    "Ledger",
    "Offer",
    "Patience",
    "Reply",
    "Request",
    "Settings",
    "Transport",
    "Where",
]
