import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from "node:crypto";

/** Owner of a secret. It opens for exactly this workspace and field, so a row copied elsewhere stays closed. */
export type SealedFor = { workspaceId: string; field: string };

/** Encrypts stored secrets, and derives keys for other purposes. New secrets are sealed with the ring's first key; the others only open. */
export type KeyRing = {
  /** Returns `kid.iv.ciphertext.tag`, the last three in base64url. */
  seal(plain: string, owner: SealedFor): string;
  /** Throws CannotOpen: another owner, an unknown key, or altered text. */
  open(sealed: string, owner: SealedFor): string;
  /** True if a secret is sealed with the first key. */
  isNewest(sealed: string): boolean;
  /** Derives 32 bytes for one purpose from the first key. The result changes with a new first key. */
  deriveKey(purpose: string): Buffer;
  /** Derives them from every key, the first one first: for marks that must be recognised after a rotation. */
  deriveKeys(purpose: string): [Buffer, ...Buffer[]];
};

/** Seals a sealed secret with the first key, for the same owner. */
export type Reseal = (sealed: string, owner: SealedFor) => string;

/** Thrown if this ring cannot open a sealed secret. The message reveals nothing of the secret. */
export class CannotOpen extends Error {
  override readonly name = "CannotOpen";
}

const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;

type RingKey = { kid: string; secret: Buffer; sealing: KeyObject };

const derive = (secret: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, Buffer.alloc(0), `countersign/${purpose}`, keyBytes));

function parseKey(entry: string): RingKey {
  const [, kid, encoded] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+={0,2})$/.exec(entry.trim()) ?? [];
  if (!kid || !encoded)
    throw new Error(
      "a key ring is a comma-separated list of kid:base64, where kid has 1 to 32 characters of A-Z a-z 0-9 _ -",
    );
  const secret = Buffer.from(encoded, "base64");
  if (secret.length !== keyBytes) throw new Error(`key ${kid} has ${secret.length} bytes, not ${keyBytes}`);
  return { kid, secret, sealing: createSecretKey(derive(secret, "seal")) };
}

/** Creates a new entry of a ring, for an installation that makes its own. */
export const newRingKey = (kid: string): string => `${kid}:${randomBytes(keyBytes).toString("base64")}`;

// The key id is authenticated too. JSON keeps ("a", "bc") and ("ab", "c") apart.
const additionalData = (kid: string, owner: SealedFor): Buffer =>
  Buffer.from(JSON.stringify([kid, owner.workspaceId, owner.field]));

/** Reads `kid:base64,kid:base64,…` (32 bytes each; the first one encrypts). Throws on anything else, without repeating a key. */
export function createKeyRing(spec: string): KeyRing {
  const keys = spec.split(",").map(parseKey);
  const [first] = keys;
  if (!first) throw new Error("the key ring is empty");
  const byKid = new Map(keys.map((key) => [key.kid, key]));
  if (byKid.size !== keys.length) throw new Error("the key ring has the same kid twice");

  return {
    seal(plain, owner) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv("aes-256-gcm", first.sealing, iv, { authTagLength: tagBytes }).setAAD(
        additionalData(first.kid, owner),
      );
      const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return [first.kid, ...[iv, sealed, cipher.getAuthTag()].map((part) => part.toString("base64url"))].join(".");
    },
    open(sealed, owner) {
      const [kid = "", iv = "", text, tag = "", ...rest] = sealed.split(".");
      const key = byKid.get(kid);
      if (!key || text === undefined || rest.length > 0)
        throw new CannotOpen("none of this ring's keys encrypted this value");
      try {
        const decipher = createDecipheriv("aes-256-gcm", key.sealing, Buffer.from(iv, "base64url"), {
          authTagLength: tagBytes,
        });
        decipher.setAAD(additionalData(kid, owner)).setAuthTag(Buffer.from(tag, "base64url"));
        return Buffer.concat([decipher.update(Buffer.from(text, "base64url")), decipher.final()]).toString("utf8");
      } catch {
        throw new CannotOpen("the value was encrypted for another owner, or altered");
      }
    },
    isNewest: (sealed) => sealed.startsWith(`${first.kid}.`),
    deriveKey: (purpose) => derive(first.secret, purpose),
    deriveKeys: (purpose) => keys.map((key) => derive(key.secret, purpose)) as [Buffer, ...Buffer[]],
  };
}
