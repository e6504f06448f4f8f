import Stripe from "stripe";

/** Seconds for which a signature is valid. Stripe signs each repetition again. */
const toleranceSeconds = 300;
const maxHeaderLength = 2_000;

/**
 * Returns the content of a call signed recently with one of these secrets, parsed as JSON and undefined if it is none. Returns undefined
 * if none of them signed the call.
 */
export function signedContent(
  { body, signature }: { body: Buffer; signature: string | undefined },
  { secrets, nowMs }: { secrets: readonly string[]; nowMs: number },
): { content: unknown } | undefined {
  if (signature === undefined || signature.length > maxHeaderLength) return undefined;
  const isSigned = secrets.some((secret) => {
    try {
      return Stripe.webhooks.signature?.verifyHeader(body, signature, secret, toleranceSeconds, undefined, nowMs);
    } catch {
      // Not signed with this secret. A malformed header has errors of other types than a wrong signature.
      return false;
    }
  });
  return isSigned ? { content: parsed(body) } : undefined;
}

/** Parsed here, because the library's own parser refuses events without their data (thin payloads). */
function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
