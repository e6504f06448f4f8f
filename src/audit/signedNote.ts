import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";

/** Text and its Ed25519 signatures, in the form of C2SP signed-note. A key is named, and known by the first four bytes of a hash. */
export type NoteSigner = { name: string; privateKey: KeyObject; verifierKey: string };

/** A public key that verifies notes of one name. */
export type NoteVerifier = { name: string; id: Buffer; publicKey: KeyObject };

const ed25519 = 1;

/** DER of an Ed25519 key without its 32 bytes (RFC 8410). */
const privatePrefix = Buffer.from("302e020100300506032b657004220420", "hex");
const publicPrefix = Buffer.from("302a300506032b6570032100", "hex");

const rawPublicKey = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ type: "spki", format: "der" }).subarray(publicPrefix.length);

const keyId = (name: string, typed: Buffer): Buffer =>
  createHash("sha256").update(`${name}\n`).update(typed).digest().subarray(0, 4);

/** Makes a signer from 32 secret bytes. `name` has no spaces and no plus sign. */
export function noteSigner(name: string, seed: Buffer): NoteSigner {
  const privateKey = createPrivateKey({ key: Buffer.concat([privatePrefix, seed]), format: "der", type: "pkcs8" });
  const typed = Buffer.concat([Buffer.from([ed25519]), rawPublicKey(privateKey)]);
  const verifierKey = `${name}+${keyId(name, typed).toString("hex")}+${typed.toString("base64")}`;
  return { name, privateKey, verifierKey };
}

/** Reads a verifier key (`name+id+base64`) of a log. Throws if it is none of Ed25519, or its id is not its own. */
export const readVerifierKey = (text: string): NoteVerifier => readKeyOfType(ed25519, text);

/** Reads a verifier key whose Ed25519 key signs in the way that `type` names. Throws if it is none of it, or its id is not its own. */
export function readKeyOfType(type: number, text: string): NoteVerifier {
  const [, name = "", id = "", encoded = ""] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/.exec(text) ?? [];
  const typed = Buffer.from(encoded, "base64");
  if (typed[0] !== type || typed.length !== 33) throw new Error(`not a verifier key of Ed25519 and of type ${type}`);
  if (keyId(name, typed).toString("hex") !== id) throw new Error("the id of the verifier key is not that of its key");
  const der = Buffer.concat([publicPrefix, typed.subarray(1)]);
  return { name, id: Buffer.from(id, "hex"), publicKey: createPublicKey({ key: der, format: "der", type: "spki" }) };
}

/** Signs a text, which ends with a newline. Returns the note: the text, an empty line, the signature. */
export const signNote = (text: string, signer: NoteSigner): string => `${text}\n${signatureLine(text, signer)}`;

function signatureLine(text: string, { name, privateKey }: NoteSigner): string {
  const typed = Buffer.concat([Buffer.from([ed25519]), rawPublicKey(privateKey)]);
  const signature = Buffer.concat([keyId(name, typed), sign(null, Buffer.from(text), privateKey)]);
  return `— ${name} ${signature.toString("base64")}\n`;
}

/** A signature of a note: its line, the name and id of its key, and what the key has made. */
export type NoteSignature = { line: string; name: string; id: Buffer; signature: Buffer };

/** Reads lines of signatures, each of which ends with a newline. Undefined if a line is none. */
export function readSignatures(lines: string): NoteSignature[] | undefined {
  if (!lines.endsWith("\n")) return undefined;
  const signatures: NoteSignature[] = [];
  for (const line of lines.slice(0, -1).split("\n")) {
    const [, name, encoded = ""] = /^— ([^\s+]+) ([A-Za-z0-9+/]+=*)$/.exec(line) ?? [];
    if (name === undefined) return undefined;
    const bytes = Buffer.from(encoded, "base64");
    signatures.push({ line: `${line}\n`, name, id: bytes.subarray(0, 4), signature: bytes.subarray(4) });
  }
  return signatures;
}

/** Divides a note into its text and the lines of its signatures. Undefined if it is none. */
export function splitNote(note: string): { text: string; signatures: NoteSignature[] } | undefined {
  const end = note.lastIndexOf("\n\n");
  const signatures = end < 0 ? undefined : readSignatures(note.slice(end + 2));
  return signatures && { text: note.slice(0, end + 1), signatures };
}

/** True if a signature says that it was made by this key, whether or not it is valid. */
export const isOf =
  ({ name, id }: NoteVerifier) =>
  (signature: NoteSignature): boolean =>
    signature.name === name && signature.id.equals(id);
