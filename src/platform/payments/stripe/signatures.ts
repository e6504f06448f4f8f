import Stripe from "stripe";

/** How old a signature may be, in seconds. Stripe signs each repetition again. */
const toleranceSeconds = 300;
const maxHeaderLength = 2_000;

/** What a call says that one of these secrets has signed lately, as parsed JSON; undefined: none of them has. */
export function signedContent(
  { body, signature }: { body: Buffer; signature: string | undefined },
  { secrets, nowMs }: { secrets: readonly string[]; nowMs: number },
): unknown {
  if (signature === undefined || signature.length > maxHeaderLength) return undefined;
  for (const secret of secrets) {
    try {
      return Stripe.webhooks.constructEvent(body, signature, secret, toleranceSeconds, undefined, nowMs);
    } catch {
      // Signed by another secret, or by nobody.
    }
  }
  return undefined;
}
