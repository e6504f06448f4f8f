import { html, type Markup, trusted } from "#src/html/html.ts";
import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { BundleRequest } from "../channel.ts";
import { unlinked } from "./excerpt.ts";

type Bundle = Pick<BundleRequest, "count" | "drafts" | "link" | "expiresAt">;

const limits = { subject: 100, address: 100, recipients: 3 };

/** One mail about several drafts. Its subject has our own words alone; what others wrote is short, and no mail program makes a link of it. */
export function renderBundleMail(bundle: Bundle): { subject: string; text: string; html: string } {
  const { count, link } = bundle;
  const subject = `${count} ${count === 1 ? "draft waits" : "drafts wait"} for your decision`;
  const lead = `One page lists ${count === 1 ? "it" : "them all"}, and each draft has a page of its own, where you read and decide it. Nothing is sent before you decide.`;
  const lines = bundle.drafts.map(lineOf);
  const more = count > lines.length ? `and ${count - lines.length} more` : undefined;
  const facts = [
    `The link works until ${readableTime(bundle.expiresAt)}. Opening it changes nothing.`,
    "Anyone who has this mail can decide about these drafts. Forwarding it gives away the right to decide.",
  ];
  const said = { subject, lead, lines, more, link, facts };
  return { subject, text: asText(said), html: asHtml(said) };
}

type Line = { subject: string; to: string };
type Said = { subject: string; lead: string; lines: Line[]; more: string | undefined; link: string; facts: string[] };

function lineOf({ subject, to }: Bundle["drafts"][number]): Line {
  const shown = to.slice(0, limits.recipients).map((address) => shortLine(address, limits.address));
  const others = to.length - shown.length;
  return {
    subject: unlinked(shortLine(subject, limits.subject)) || "(no subject)",
    to: unlinked([...shown, ...(others > 0 ? [`${others} more`] : [])].join(", ")),
  };
}

const label = "Review the drafts";

function asText({ subject, lead, lines, more, link, facts }: Said): string {
  const list = [...lines.map((line) => `  | ${line.subject}\n  |   to ${line.to}`), ...(more ? [`  ${more}`] : [])];
  return [
    subject.toUpperCase(),
    lead,
    list.join("\n"),
    `${label.toUpperCase()}\n${link}`,
    `--\n${facts.join("\n")}`,
  ].join("\n\n");
}

const asHtml = ({ subject, lead, lines, more, link, facts }: Said): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${subject}</title>
<style>${trusted(darkStyle)}</style>
</head>
<body class="page" style="margin:0;padding:0;background-color:#f4f6f8;-webkit-text-size-adjust:100%;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="page" style="background-color:#f4f6f8;"><tr><td align="center" style="padding:16px 8px;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="card" style="max-width:600px;background-color:#ffffff;border:1px solid #d5dbe1;border-radius:12px;">
<tr><td style="padding:24px 20px 8px;">
<h1 class="ink" style="margin:0 0 8px;${font}font-size:24px;line-height:1.25;font-weight:700;color:#1b2430;">${subject}</h1>
<p class="soft" style="margin:0;${font}font-size:16px;line-height:1.5;color:#4f5b69;">${lead}</p>
</td></tr>
<tr><td style="padding:8px 20px;"><ul class="ink" style="margin:8px 0;padding-left:20px;color:#1b2430;">${lines.map(item)}</ul>
${more && html`<p class="soft" style="margin:0;${font}font-size:14px;line-height:1.5;color:#4f5b69;">${more}</p>`}</td></tr>
<tr><td style="padding:8px 20px;">${button(link)}</td></tr>
<tr><td class="line" style="padding:14px 20px 22px;border-top:1px solid #d5dbe1;">${facts.map((fact) => html`<p class="soft" style="margin:0 0 6px;${font}font-size:13px;line-height:1.5;color:#4f5b69;">${fact}</p>`)}</td></tr>
</table>
</td></tr></table>
</body>
</html>
`.markup;

const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;";

const item = ({ subject, to }: Line): Markup =>
  html`<li style="margin:0 0 8px;${font}font-size:16px;line-height:1.5;overflow-wrap:anywhere;word-break:break-word;"><bdi>${subject}</bdi><br><span class="soft" style="font-size:14px;color:#4f5b69;">to <bdi>${to}</bdi></span></li>`;

const button = (link: string): Markup =>
  html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0;"><tr><td align="center" bgcolor="#0b57b0" style="background-color:#0b57b0;border-radius:8px;">
<a href="${link}" style="display:block;padding:15px 20px;${font}font-size:18px;line-height:1.2;font-weight:700;color:#ffffff;text-decoration:none;border-radius:8px;">${label}</a>
</td></tr></table>`;

const darkStyle = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
.page { background-color: #12161b !important; } .card { background-color: #1b2128 !important; border-color: #39434f !important; }
.line { border-color: #39434f !important; } .ink { color: #e8ecf0 !important; } .soft { color: #a9b4c0 !important; }
}
`;
