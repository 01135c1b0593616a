"""Check the addresses that a server is given, before anything else is done."""

from __future__ import annotations

import socket
from ipaddress import ip_address, ip_network

from crowdveil.errors import InputError


def check_address(host: str, port: int) -> None:
    """Refuse an address that this machine cannot listen at; port 0 stands for any free port."""
    if not 0 <= port <= 65_535:
        raise InputError("port", port, "should be from 0 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError("host", host, f"is not an address of this machine ({error.strerror})") from None
    with socket.socket(family, kind, protocol) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(address)
        except OSError as error:
            field, value = ("host", host) if port == 0 else ("port", f"{host}:{port}")
            raise InputError(field, value, f"cannot be listened at ({error.strerror}); choose another") from None


def check_proxy(address: str) -> str:
    """Refuse what is neither the address of a machine nor a network, and return it as it is compared."""
    try:
        network = ip_network(address)
    except ValueError:
        expected = "should be an address such as 127.0.0.1, or a network such as 10.0.0.0/8"
        raise InputError("trusted_proxy", address, expected) from None
    if network.prefixlen == 0:
        raise InputError("trusted_proxy", address, "should not be every address: anyone could then claim any address")
    return str(network.network_address) if network.prefixlen == network.max_prefixlen else str(network)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
