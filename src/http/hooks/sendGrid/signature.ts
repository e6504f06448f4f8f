import { createPublicKey, type KeyObject, verify } from "node:crypto";

/** Why a post does not count as the provider's; `late`: it is signed, but at another time than about now. */
export type Doubt = "unsigned" | "forged" | "late";

const signatureHeader = "x-twilio-email-event-webhook-signature";
const timestampHeader = "x-twilio-email-event-webhook-timestamp";

const earliestMs = 5 * 60_000;

type Signed = { headers: Readonly<Record<string, string | string[] | undefined>>; body: Buffer; now: Date };

/**
 * Judges posts by a public key of SendGrid's (base64 of the DER of SPKI): ECDSA over the timestamp and the exact bytes of the body. Returns undefined for
 * a genuine one. `oldestHours`: how long ago it may have been signed, since a late repetition is genuine.
 */
export function signatureJudge(
  publicKey: string,
  { oldestHours }: { oldestHours: number },
): (post: Signed) => Doubt | undefined {
  const key: KeyObject = createPublicKey({ key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" });
  return ({ headers, body, now }) => {
    const [signature, timestamp] = [headers[signatureHeader], headers[timestampHeader]];
    if (typeof signature !== "string" || typeof timestamp !== "string") return "unsigned";
    const signed = Buffer.concat([Buffer.from(timestamp), body]);
    if (!verify("sha256", signed, key, Buffer.from(signature, "base64"))) return "forged";
    const agoMs = now.getTime() - Number(timestamp) * 1_000;
    return agoMs <= oldestHours * 3_600_000 && agoMs >= -earliestMs ? undefined : "late";
  };
}
