import { createPublicKey, type KeyObject, verify } from "node:crypto";

/** Why a post does not count as the provider's; `late`: it is signed, but at another time than about now. */
export type Doubt = "unsigned" | "forged" | "late";

const signatureHeader = "x-twilio-email-event-webhook-signature";
const timestampHeader = "x-twilio-email-event-webhook-timestamp";

/** A late repetition is genuine: SendGrid posts a mail again for 72 hours, and what is refused until then is lost. A day more does no harm. */
const oldestMs = 96 * 3_600_000;
const earliestMs = 5 * 60_000;

type Signed = { headers: Readonly<Record<string, string | string[] | undefined>>; body: Buffer; now: Date };

/**
 * Judges posts by the public key of a security policy (base64 of the DER of SPKI): ECDSA over the timestamp and the exact bytes of the body. Returns
 * undefined for a genuine one.
 */
export function signatureJudge(publicKey: string): (post: Signed) => Doubt | undefined {
  const key: KeyObject = createPublicKey({ key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" });
  return ({ headers, body, now }) => {
    const [signature, timestamp] = [headers[signatureHeader], headers[timestampHeader]];
    if (typeof signature !== "string" || typeof timestamp !== "string") return "unsigned";
    const signed = Buffer.concat([Buffer.from(timestamp), body]);
    if (!verify("sha256", signed, key, Buffer.from(signature, "base64"))) return "forged";
    const agoMs = now.getTime() - Number(timestamp) * 1_000;
    return agoMs <= oldestMs && agoMs >= -earliestMs ? undefined : "late";
  };
}
