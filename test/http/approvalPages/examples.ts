import type { ApprovalList, ListedDraft } from "#src/channels/approvalList.ts";
import type { Renewal } from "#src/channels/approvalRenewal.ts";
import type { UnsubscribeLink } from "#src/commands/serviceMail/unsubscribes.ts";
import { attack } from "#test/channels/email/examples.ts";

const at = "2026-11-20T12:00:00.000Z";
const listed = (state: ListedDraft["state"], more: Partial<ListedDraft> = {}): ListedDraft => ({
  subject: "Re: Order 48213 arrived damaged",
  to: ["marta.lind@posten.example"],
  since: at,
  state,
  ...more,
});
const waits = (warnings: number | null): ListedDraft["state"] => ({ kind: "waits", token: "a-token", warnings });
const longWord = "Donaudampfschifffahrtsgesellschaft".repeat(8);

/** The second page of three, with a draft in each state, and with texts that are long, hostile or written from right to left. */
export const listOfAll: ApprovalList = {
  total: 112,
  waiting: 103,
  page: 2,
  pages: 3,
  expiresAt: "2026-11-23T09:00:00.000Z",
  drafts: [
    listed(waits(0)),
    listed(waits(null)),
    listed(waits(4), {
      subject: `Re: ${attack}\u202egpj.exe`,
      to: [`"${attack}"@evil.example`, ..."abcde".split("").map((name) => `${name}@partner.example`)],
    }),
    listed(waits(1), { subject: longWord, to: [`${longWord}@x.example`] }),
    listed(
      { kind: "decided", outcome: { decision: "sent", by: `Anna ${attack}`, at } },
      { subject: "הזמנה 48213 הגיעה פגומה" },
    ),
    listed({ kind: "decided", outcome: { decision: "failed", by: null, at } }, { subject: "", since: null }),
    listed({ kind: "changed" }),
    listed({ kind: "closed" }),
    listed({ kind: "elsewhere" }),
    listed({ kind: "broken" }),
  ],
};

export const expiredLink: Extract<Renewal, { place: unknown }> = {
  ...{ workspaceId: "ws_01HARBOUR", workspaceName: `Harbour ${attack} https://evil.example/`, kind: "possible" },
  place: { type: "email", address: `"${attack}"@${longWord}.example` },
};

export const stopLink: UnsubscribeLink = {
  address: "anna@harbour.example",
  workspaceId: "ws_01HARBOUR",
  workspaceName: `Harbour ${attack} https://evil.example/`,
  stopped: false,
  standing: "valid",
};
