import { createHmac } from "node:crypto";
import type { KeyRing } from "#src/platform/secrets/keyRing.ts";
import type { Dependencies } from "../dependencies.ts";

/** Draws a uniformly distributed four-digit code. It is contained in the approval mail only. */
export function newConfirmCode({ ids }: Pick<Dependencies, "ids">): string {
  for (;;) {
    const drawn = ids.random(2).readUInt16BE();
    // 65,536 is no multiple of 10,000: using the rest would make low codes more likely.
    if (drawn < 60_000) return String(drawn % 10_000).padStart(4, "0");
  }
}

/**
 * Returns the stored form of a code: an HMAC in hex, bound to its notification. The log alone does
 * not suffice to try the ten thousand codes.
 */
export const confirmCodeMac = (deps: { keyRing: KeyRing }, notificationId: string, code: string): string =>
  macOf(deps.keyRing.deriveKey(purpose), notificationId, code);

/** Returns the HMACs under every key of the ring: the code may have been drawn before the first key was replaced. */
export const confirmCodeMacs = (deps: { keyRing: KeyRing }, notificationId: string, code: string): string[] =>
  deps.keyRing.deriveKeys(purpose).map((key) => macOf(key, notificationId, code));

const purpose = "approval-confirm-code";

const macOf = (key: Buffer, notificationId: string, code: string): string =>
  createHmac("sha256", key)
    .update(JSON.stringify([notificationId, code]))
    .digest("hex");
