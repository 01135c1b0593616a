// Check what a server signed: Ed25519, keys and signatures in hex.

import { hashes, verify } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";
import { InputError } from "../errors";
import { fromHex } from "../platform/bytes";

// The browser's own SHA-512 is there on secure pages only, and answers later; this one works everywhere, at once.
hashes.sha512 = sha512;

/** Refuse a signature that this public key did not make over these bytes. */
export function checkSignature(serverKey: string, signature: string, data: Uint8Array): void {
  const [key, signed] = [fromHex(serverKey), fromHex(signature)];
  // Not the looser rules of ZIP 215: one key, one message and one signature give the same verdict as in Python.
  if (key === null || signed === null || !isSigned(signed, data, key)) {
    throw new InputError("signature", signature.slice(0, 12), `was not made with the server's key ${serverKey.slice(0, 12)}`);
  }
}

function isSigned(signed: Uint8Array, data: Uint8Array, key: Uint8Array): boolean {
  try {
    return verify(signed, data, key, { zip215: false });
  } catch {
    return false; // a key or signature of the wrong length, or no point of the curve
  }
}
