import Stripe from "stripe";

/** Seconds for which a signature is valid. Stripe signs each repetition again. */
const toleranceSeconds = 300;
const maxHeaderLength = 2_000;

/** Returns the body, parsed as JSON, of a call signed recently with one of these secrets; undefined if none of them signed it. */
export function signedContent(
  { body, signature }: { body: Buffer; signature: string | undefined },
  { secrets, nowMs }: { secrets: readonly string[]; nowMs: number },
): unknown {
  if (signature === undefined || signature.length > maxHeaderLength) return undefined;
  for (const secret of secrets) {
    try {
      return Stripe.webhooks.constructEvent(body, signature, secret, toleranceSeconds, undefined, nowMs);
    } catch {
      // The event was not signed with this secret: try the next one.
    }
  }
  return undefined;
}
