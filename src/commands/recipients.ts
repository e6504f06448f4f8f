import { invalid } from "#streams/decider.ts";
import type { DraftContent } from "#streams/draft/content.ts";

/** As many as a request may name itself (decisions 4). */
const maxCopies = 50;

/** A message to very many is not answered to all of them unseen. */
export function requireFewCopies({ cc }: Pick<DraftContent, "cc">): void {
  if (cc.length <= maxCopies) return;
  throw invalid("reply_all", `that message has more than ${maxCopies} other recipients; name the ones you mean in cc`);
}

/** No address twice across to, cc and bcc, whatever its case: providers refuse it (decisions 4). */
export function requireDistinctRecipients(content: Pick<DraftContent, "to" | "cc" | "bcc">): void {
  const seen = new Set<string>();
  for (const field of ["to", "cc", "bcc"] as const) {
    for (const address of content[field]) {
      const folded = address.toLowerCase();
      if (seen.has(folded)) {
        throw invalid(field, `${address} is a recipient already; name each address once`);
      }
      seen.add(folded);
    }
  }
}
