import { Rejected } from "#streams/decider.ts";
import type { DraftContent } from "#streams/draft/content.ts";

/** No address twice across to, cc and bcc, whatever its case: providers refuse it (decisions 4). */
export function requireDistinctRecipients(content: Pick<DraftContent, "to" | "cc" | "bcc">): void {
  const seen = new Set<string>();
  for (const field of ["to", "cc", "bcc"] as const) {
    for (const address of content[field]) {
      const folded = address.toLowerCase();
      if (seen.has(folded)) {
        throw new Rejected("invalid_request", `${field}: ${address} is a recipient already; name each address once`);
      }
      seen.add(folded);
    }
  }
}
