import { html, type Markup } from "#src/html/html.ts";
import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import { beforeSending } from "../card/beforeSending.ts";
import type { BundleRequest } from "../channel.ts";
import { unlinked } from "./excerpt.ts";
import { font, light, mailFrame, row } from "./mailFrame.ts";

type Bundle = Pick<BundleRequest, "count" | "drafts" | "link" | "humanRequired" | "namedOnly" | "expiresAt">;

const limits = { subject: 100, address: 100, recipients: 3 };

/** Renders one mail about several drafts. The subject quotes nobody; quotations are short, and mail programs make no links of them. */
export function renderBundleMail(bundle: Bundle): { subject: string; text: string; html: string } {
  const { count, link, humanRequired } = bundle;
  const subject = `${count} ${count === 1 ? "draft waits" : "drafts wait"} for your decision`;
  const lead = `One page lists ${count === 1 ? "it" : "them all"}, and each draft has its own page, where you read it and decide. ${beforeSending({ humanRequired, approvals: null })}`;
  const lines = bundle.drafts.map(lineOf);
  const more = count > lines.length ? `and ${count - lines.length} more` : undefined;
  const facts = [
    `The link works until ${readableTime(bundle.expiresAt)}. Opening it decides nothing. You cannot decide by replying to this mail.`,
    bundle.namedOnly
      ? "The pages ask you to sign in. Only members of the workspace can decide."
      : "Anyone who has this mail can decide about these drafts. Forwarding it gives away the right to decide.",
  ];
  const said = { subject, lead, lines, more, link, facts };
  return { subject, text: asText(said), html: asHtml(said) };
}

type BundleLine = { subject: string; to: string };
type BundleTexts = {
  subject: string;
  lead: string;
  lines: BundleLine[];
  more: string | undefined;
  link: string;
  facts: string[];
};

function lineOf({ subject, to }: Bundle["drafts"][number]): BundleLine {
  const shown = to.slice(0, limits.recipients).map((address) => shortLine(address, limits.address));
  const others = to.length - shown.length;
  return {
    subject: unlinked(shortLine(subject, limits.subject)) || "(no subject)",
    to: unlinked([...shown, ...(others > 0 ? [`${others} more`] : [])].join(", ")),
  };
}

const label = "Review the drafts";

function asText({ subject, lead, lines, more, link, facts }: BundleTexts): string {
  const list = [...lines.map((line) => `  | ${line.subject}\n  |   to ${line.to}`), ...(more ? [`  ${more}`] : [])];
  return [
    subject.toUpperCase(),
    lead,
    list.join("\n"),
    `${label.toUpperCase()}\n${link}`,
    `--\n${facts.join("\n")}`,
  ].join("\n\n");
}

const asHtml = ({ subject, lead, lines, more, link, facts }: BundleTexts): string =>
  mailFrame({
    subject,
    title: subject,
    lead: html`<p class="soft" style="margin:0;${font}font-size:16px;line-height:1.5;color:${light.soft};">${lead}</p>`,
    rows: html`${row(html`<ul class="ink" style="margin:8px 0;padding-left:20px;color:${light.ink};">${lines.map(item)}</ul>
${more && html`<p class="soft" style="margin:0;${font}font-size:14px;line-height:1.5;color:${light.soft};">${more}</p>`}`)}
${row(button(link))}`,
    facts,
  });

const item = ({ subject, to }: BundleLine): Markup =>
  html`<li style="margin:0 0 8px;${font}font-size:16px;line-height:1.5;overflow-wrap:anywhere;word-break:break-word;"><bdi>${subject}</bdi><br><span class="soft" style="font-size:14px;color:${light.soft};">to <bdi>${to}</bdi></span></li>`;

const button = (link: string): Markup =>
  html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0;"><tr><td align="center" bgcolor="${light.link}" style="background-color:${light.link};border-radius:8px;">
<a href="${link}" style="display:block;padding:15px 20px;${font}font-size:18px;line-height:1.2;font-weight:700;color:${light["on-button"]};text-decoration:none;border-radius:8px;">${label}</a>
</td></tr></table>`;
