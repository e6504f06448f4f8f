import { visibleLine } from "#src/html/visible.ts";
import type { ShownAuthentication } from "../approvalView.ts";

/** Proof of a message's sender. `verified` null: not checked yet. `phrase`: the result in a few words. */
export type SenderProof = { verified: boolean | null; phrase: string; sentences: string[] };

export function proofOf(authentication: ShownAuthentication | null): SenderProof {
  if (authentication === null) {
    return {
      verified: null,
      phrase: "sender not checked yet",
      sentences: ["The sender has not been checked yet."],
    };
  }
  const { spf, dkim, dmarc, aligned } = authentication;
  const checks = `SPF ${visibleLine(spf)}, DKIM ${visibleLine(dkim)}, DMARC ${visibleLine(dmarc)}`;
  if (!aligned) {
    return {
      verified: false,
      phrase: "sender NOT verified",
      sentences: [`We cannot verify the sender (${checks}). This message may be forged.`],
    };
  }
  return {
    verified: true,
    phrase: "sender verified",
    sentences: [`The sender is verified (${checks}).`, coverage(authentication.covers ?? [])],
  };
}

const names = { to: "To", cc: "Cc", reply_to: "Reply-To" } as const;

/** Says which address fields cannot have been changed in transit. */
function coverage(covers: NonNullable<ShownAuthentication["covers"]>): string {
  const fields = Object.keys(names) as (keyof typeof names)[];
  const proven = ["From", ...fields.filter((field) => covers.includes(field)).map((field) => names[field])];
  const others = fields.filter((field) => !covers.includes(field)).map((field) => names[field]);
  const unproven = others.length > 0 ? ` ${listed(others)} ${others.length === 1 ? "is" : "are"} not.` : "";
  return `${listed(proven)} ${proven.length === 1 ? "is" : "are"} proven.${unproven}`;
}

const listed = (items: string[]): string =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
