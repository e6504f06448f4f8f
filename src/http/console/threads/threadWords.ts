import { html, type Markup, type MarkupValue } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { WireMessage } from "../../present/messages.ts";
import type { WireThread } from "../../present/threads.ts";

/** The reader: times are shown in their zone. */
export type ThreadReader = { zone: string };

export const statusWords: Record<WireThread["status"], string> = {
  open: "Open",
  waiting: "Waiting for them",
  draft_pending: "Draft waiting",
  closed: "Closed",
};

export const priorityWords: Record<WireThread["priority"], string> = {
  low: "Low",
  normal: "Normal",
  high: "High",
  urgent: "Urgent",
};

export const deliveryWords: Record<NonNullable<WireMessage["delivery_status"]>, string> = {
  queued: "On its way",
  sent: "Sent",
  delivered: "Delivered",
  bounced: "Bounced: it could not be delivered",
  complained: "Sent, and reported as spam",
  failed: "Not sent",
};

const maxName = 80;

/** A person in a list: the name, or else the address; isolated from the text around it, whatever its direction. */
export const shortPerson = (name: string | null, address: string): Markup =>
  html`<bdi lang="">${shortLine(name ?? "", maxName) || shortLine(address, maxName) || "(no sender)"}</bdi>`;

/** The name and the address. The address is not shortened, because its end, the domain, matters most. */
export function person(name: string | null, address: string): Markup {
  const shownName = shortLine(name ?? "", maxName);
  const shownAddress = shortLine(address, 320);
  if (shownName === "") return html`<bdi lang="">${shownAddress || "(no sender)"}</bdi>`;
  return html`<bdi lang="">${shownName}</bdi> &lt;<bdi>${shownAddress}</bdi>&gt;`;
}

/** A conversation's subject, or "(no subject)". */
export const subjectLine = (subject: string, max: number): string => shortLine(subject, max) || "(no subject)";

/** A highlighted word next to others. */
export const badge = (words: MarkupValue, kind: "plain" | "notice" = "plain"): Markup =>
  html` <span class="badge ${kind === "notice" && "notice"}">${words}</span>`;
