import { verify } from "node:crypto";
import { isOf, type NoteVerifier, readKeyOfType, readSignatures } from "./signedNote.ts";

/** Type of the keys whose Ed25519 signatures have the form `cosignature/v1` of C2SP tlog-cosignature. */
const cosignatureV1 = 4;

/** Bytes of a cosignature: a time in seconds, and the signature. */
const timeBytes = 8;
const signatureBytes = 64;

/** Reads the verifier key of a witness (`name+id+base64`). Throws if it is none of type 0x04, or its id is not its own. */
export const readCosignerKey = (text: string): NoteVerifier => readKeyOfType(cosignatureV1, text);

/**
 * Returns the line of a witness's valid cosignature of a checkpoint's text among lines of signatures; undefined if there is none. Lines of
 * other keys are ignored.
 */
export function cosignatureIn(
  lines: string,
  { text, cosigner }: { text: string; cosigner: NoteVerifier },
): string | undefined {
  const own = (readSignatures(lines) ?? []).filter(isOf(cosigner));
  return own.find(({ signature }) => isCosignature(signature, { text, cosigner }))?.line;
}

function isCosignature(bytes: Buffer, { text, cosigner }: { text: string; cosigner: NoteVerifier }): boolean {
  if (bytes.length !== timeBytes + signatureBytes) return false;
  const message = `cosignature/v1\ntime ${bytes.readBigUInt64BE()}\n${text}`;
  return verify(null, Buffer.from(message), cosigner.publicKey, bytes.subarray(timeBytes));
}
