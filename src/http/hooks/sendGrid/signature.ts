import { createPublicKey, type KeyObject, verify } from "node:crypto";

/** Why a post is not accepted as the provider's; `late`: validly signed, but too long ago or in the future. */
export type SignatureFault = "unsigned" | "forged" | "late";

const signatureHeader = "x-twilio-email-event-webhook-signature";
const timestampHeader = "x-twilio-email-event-webhook-timestamp";

const earliestMs = 5 * 60_000;

type SignedPost = { headers: Readonly<Record<string, string | string[] | undefined>>; body: Buffer; now: Date };

/**
 * Makes a function that verifies posts with SendGrid's public key (SPKI DER in base64): ECDSA over the timestamp and the exact bytes of the
 * body. It returns undefined for a genuine post. `oldestHours`: maximum age of the signature, because retries are genuine.
 */
export function signatureJudge(
  publicKey: string,
  { oldestHours }: { oldestHours: number },
): (post: SignedPost) => SignatureFault | undefined {
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
