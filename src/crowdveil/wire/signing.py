"""Sign with a server's key, and check what it signed: Ed25519, keys and signatures in hex.

`cryptography` is imported where it is needed, because most programs that read messages never check a signature.
"""

from __future__ import annotations

from crowdveil.errors import InputError

SMALL_ORDER = frozenset(
    {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    }
)
"""Public keys whose multiples are so few that one signature passes for many messages, without the bit for the sign of
x; the last two are other ways to write the first two."""


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
        key = bytes.fromhex(server_key)
        if key[:-1].hex() + f"{key[-1] & 0x7F:02x}" in SMALL_ORDER:
            raise InvalidSignature
        Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(signature), data)
    except (InvalidSignature, ValueError, IndexError):
        expected = f"was not made with the server's key {server_key[:12]}"
        raise InputError("signature", signature[:12], expected) from None
