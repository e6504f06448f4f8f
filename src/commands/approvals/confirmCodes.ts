import { createHmac } from "node:crypto";
import type { KeyRing } from "#src/platform/secrets/keyRing.ts";
import type { Dependencies } from "../dependencies.ts";

/** Draws a uniformly distributed four-digit code. Only the approval mail contains it. */
export function newConfirmCode({ ids }: Pick<Dependencies, "ids">): string {
  for (;;) {
    const drawn = ids.random(2).readUInt16BE();
    // Drop numbers from 60,000 on: 65,536 is not a multiple of 10,000, so using them would make low codes more likely.
    if (drawn < 60_000) return String(drawn % 10_000).padStart(4, "0");
  }
}

/**
 * Returns the stored form of a code: an HMAC in hex, bound to the code's notification. Because the HMAC needs a key, a reader of the log
 * cannot find the code by trying all ten thousand.
 */
export const confirmCodeMac = (deps: { keyRing: KeyRing }, notificationId: string, code: string): string =>
  macOf(deps.keyRing.deriveKey(purpose), notificationId, code);

/**
 * Returns the HMACs of a code under every key of the ring, because the ring's first key may have been replaced after the code was drawn.
 */
export const confirmCodeMacs = (deps: { keyRing: KeyRing }, notificationId: string, code: string): string[] =>
  deps.keyRing.deriveKeys(purpose).map((key) => macOf(key, notificationId, code));

const purpose = "approval-confirm-code";

const macOf = (key: Buffer, notificationId: string, code: string): string =>
  createHmac("sha256", key)
    .update(JSON.stringify([notificationId, code]))
    .digest("hex");
