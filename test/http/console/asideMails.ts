import { randomUUID } from "node:crypto";

type Letter = { from?: string; subject?: string; headers?: readonly string[]; type?: string; body?: string };

/** A mail as lines; without anything else a customer's plain one. */
export const letter = ({
  from = "Carla <carla@customer.example>",
  subject = "My order",
  headers = [],
  type = "text/plain; charset=utf-8",
  body = "Where is it?",
}: Letter): string =>
  [
    `Message-ID: <${randomUUID()}@customer.example>`,
    `From: ${from}`,
    `Subject: ${subject}`,
    ...headers,
    "MIME-Version: 1.0",
    `Content-Type: ${type}`,
    "",
    body,
    "",
  ].join("\r\n");

const part = (type: string, ...lines: string[]): string =>
  ["--b", `Content-Type: ${type}`, "", ...lines, ""].join("\r\n");
const parts = (...all: string[]): string => [...all, "--b--"].join("\r\n");
const answers = (id: string): string[] => [`In-Reply-To: <${id}>`, `References: <${id}>`];

/** An automatic reply, by one of the signs that programs give. */
export const automaticReplies: Readonly<Record<string, Letter>> = {
  "RFC 3834": { headers: ["Auto-Submitted: auto-replied"] },
  Exchange: { subject: "Automatische Antwort: My order", headers: ["Auto-Submitted: auto-generated"] },
  "a help desk": { headers: ["X-Autoreply: yes"] },
  "an old vacation program": { headers: ["Precedence: auto_reply"] },
};

/** Gmail's reaction to a mail of ours. */
export const reactionTo = (id: string, emoji: string, more: Letter = {}): string =>
  letter({
    headers: answers(id),
    type: 'multipart/alternative; boundary="b"',
    body: parts(
      part("text/plain; charset=utf-8", emoji, "", "Carla reacted via Gmail"),
      part("text/vnd.google.email-reaction+json", JSON.stringify({ version: 1, emoji })),
    ),
    ...more,
  });

/** A server's words about a recipient of a mail of ours. */
export type Said = { address: string; action: "failed" | "delayed"; code: string; words: string };

/** A server's report about a mail of ours. */
export const reportOf = (id: string, said: readonly Said[]): string =>
  letter({
    from: "MAILER-DAEMON@mx.example",
    subject: "Undelivered Mail",
    type: 'multipart/report; report-type=delivery-status; boundary="b"',
    body: parts(
      part(
        "message/delivery-status",
        "Reporting-MTA: dns; mx.example",
        "",
        ...said.flatMap(({ address, action, code, words }) => [
          `Final-Recipient: rfc822; ${address}`,
          `Action: ${action}`,
          `Status: ${code}`,
          `Diagnostic-Code: smtp; ${words}`,
          "",
        ]),
      ),
      part("text/rfc822-headers", `Message-ID: <${id}>`),
    ),
  });

/** A receipt: the recipient's program says that a mail of ours was displayed. */
export const receiptOf = (id: string): string =>
  letter({
    subject: "Read: My order",
    type: 'multipart/report; report-type=disposition-notification; boundary="b"',
    body: parts(
      part(
        "message/disposition-notification",
        "Final-Recipient: rfc822; carla@customer.example",
        `Original-Message-ID: <${id}>`,
        "Disposition: manual-action/MDN-sent-manually; displayed",
      ),
    ),
  });
