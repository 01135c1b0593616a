"""Sign with a server's key, and check what it signed: Ed25519, keys and signatures in hex.

`cryptography` is imported where it is needed, because most programs that read messages never check a signature.
"""

from __future__ import annotations

from crowdveil.errors import InputError


def new_private_key() -> str:
    """Make a private key from the operating system's generator."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate().private_bytes_raw().hex()


def public_key(private_key: str) -> str:
    """Return the public key of a private one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(private_key)).public_key().public_bytes_raw().hex()


def sign(private_key: str, data: bytes) -> str:
    """Sign bytes."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(private_key)).sign(data).hex()


def check_signature(server_key: str, signature: str, data: bytes) -> None:
    """Refuse a signature that this public key did not make over these bytes."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(server_key)).verify(bytes.fromhex(signature), data)
    except (InvalidSignature, ValueError):
        expected = f"was not made with the server's key {server_key[:12]}"
        raise InputError("signature", signature[:12], expected) from None
