import { createHmac } from "node:crypto";
import type { KeyRing } from "#src/platform/secrets/keyRing.ts";
import type { Dependencies } from "../dependencies.ts";

/** Four digits, each four as likely as any other. They are in the approval mail and nowhere else. */
export function newConfirmCode({ ids }: Pick<Dependencies, "ids">): string {
  for (;;) {
    const drawn = ids.random(2).readUInt16BE();
    // 65,536 is no multiple of 10,000: the rest above the last one would make low codes more likely.
    if (drawn < 60_000) return String(drawn % 10_000).padStart(4, "0");
  }
}

/** What is kept of a code: an HMAC in hex, bound to its notification. With the log alone nobody can try the ten thousand codes. */
export const confirmCodeMac = (deps: { keyRing: KeyRing }, notificationId: string, code: string): string =>
  macOf(deps.keyRing.deriveKey(purpose), notificationId, code);

/** The same under every key of the ring: the code may have been drawn before the first key was replaced. */
export const confirmCodeMacs = (deps: { keyRing: KeyRing }, notificationId: string, code: string): string[] =>
  deps.keyRing.deriveKeys(purpose).map((key) => macOf(key, notificationId, code));

const purpose = "approval-confirm-code";

const macOf = (key: Buffer, notificationId: string, code: string): string =>
  createHmac("sha256", key)
    .update(JSON.stringify([notificationId, code]))
    .digest("hex");
