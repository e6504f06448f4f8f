import { html, type Markup, trusted } from "#src/html/html.ts";
import { readableTime } from "#src/html/times.ts";
import { tokensSheet } from "#src/html/tokens.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";
import type { CaughtMail } from "#src/mail/out/outbox.ts";

/** All caught mail, newest first. */
export const listPage = (mails: CaughtMail[]): Markup =>
  layout(
    "Outbox",
    html`<header><h1>Outbox</h1><p>Mail is caught here instead of being delivered. Newest first. Reload to see new mail.</p></header>
<main>${mails.length === 0 ? html`<p class="empty">Nothing has been sent yet. Mail to approvers and customers appears here, for example when an agent writes a draft: <a href="/docs">how to begin</a>.</p>` : html`<ol class="mails">${mails.map(listed)}</ol>`}</main>`,
  );

const listed = (mail: CaughtMail): Markup => html`<li><a href="/outbox/${mail.id}">
<span class="subject">${subjectOf(mail)}</span>
<span class="people">${visibleLine(mail.from.name || mail.from.address)} → ${mail.envelope.to.join(", ")}</span>
<span class="excerpt">${shortLine(mail.text, 140)}</span>
<time datetime="${mail.at.toISOString()}">${readableTime(mail.at.toISOString())}</time></a></li>`;

/** Renders a mail as its recipient would see it, with its envelope and headers. */
export const mailPage = (mail: CaughtMail): Markup =>
  layout(
    subjectOf(mail),
    html`<header><a class="back" href="/outbox">← Outbox</a><h1>${subjectOf(mail)}</h1></header>
<main>
<dl>
<dt>From</dt><dd>${visibleLine(mail.from.name ? `${mail.from.name} <${mail.from.address}>` : mail.from.address)}</dd>
<dt>Delivered to</dt><dd>${mail.envelope.to.join(", ")}</dd>
<dt>Caught</dt><dd>${readableTime(mail.at.toISOString())}</dd>
${mail.attachments.length > 0 && html`<dt>Attached</dt><dd>${mail.attachments.map((file) => `${visibleLine(file.filename)} (${file.bytes} bytes)`).join(", ")}</dd>`}
</dl>
${mail.html !== null && html`<section><h2>As HTML</h2><iframe title="The mail's HTML" src="/outbox/${mail.id}/html" sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe></section>`}
<section><h2>As text</h2><pre>${linked(mail.text)}</pre></section>
<details><summary>Headers</summary><dl>${Object.entries(mail.headers).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></details>
<p><a href="/outbox/${mail.id}/raw">Download the mail as it was handed over (.eml)</a></p>
</main>`,
  );

export const missingPage = (): Markup =>
  layout(
    "Not found",
    html`<header><a class="back" href="/outbox">← Outbox</a><h1>Not found</h1><p>There is no such mail in the outbox.</p></header>`,
  );

/** The form for the operator's token. `notice`: why the last one was refused. */
export const tokenPage = (notice?: string): Markup =>
  layout(
    "Outbox",
    html`<header><h1>Outbox</h1><p>Type the value of <code>OUTBOX_TOKEN</code> to see the caught mail.</p></header>
<main><form method="post" action="/outbox">${notice && html`<p role="alert">${notice}</p>`}
<label for="token">Token</label><input id="token" name="token" type="password" required autocomplete="off">
<button>Open the outbox</button></form></main>`,
  );

/** A mail's own HTML for the frame. Not sanitised: the headers it is served with block everything but styles and links. */
export const bodyPage = (body: string): string => `<!doctype html><meta charset="utf-8"><base target="_blank">${body}`;

const subjectOf = (mail: CaughtMail): string => visibleLine(mail.subject) || "(no subject)";

const link = /(https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]'])/;

/** The text with web addresses as links: every second part of the split is an address. */
const linked = (text: string): Markup[] =>
  text
    .split(link)
    .map((part, n) =>
      n % 2 === 1 ? html`<a href="${part}" target="_blank" rel="noopener noreferrer">${part}</a>` : html`${part}`,
    );

const layout = (title: string, content: Markup): Markup => html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${trusted(style)}</style></head>
<body>${content}</body>
</html>
`;

const style = `${tokensSheet}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: var(--space-l) var(--space-m) var(--space-3xl); background: var(--page); color: var(--ink); font: var(--text-m)/1.55 var(--font); overflow-wrap: anywhere; }
h1 { margin: var(--space-2xs) 0; font-size: var(--text-2xl); line-height: 1.25; } h2 { margin: 0 0 var(--space-xs); font-size: var(--text-s); color: var(--soft); }
header p, .empty, .people, .excerpt, time, dt, .back { color: var(--soft); }
a { color: var(--link); } a:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: var(--radius-s); }
.mails { list-style: none; margin: var(--space-m) 0; padding: 0; } .mails li { margin: 0 0 var(--space-s); }
.mails a, section, main > dl, details { display: block; padding: var(--space-s) var(--space-m); background: var(--card); border: 1px solid var(--line); border-radius: var(--radius-m); color: inherit; text-decoration: none; }
.mails a:hover { border-color: var(--link); } .mails span, .mails time { display: block; font-size: var(--text-xs); } .mails .subject { font-size: var(--text-m); font-weight: 600; }
main > * { margin: 0 0 var(--space-m); } dl { display: grid; grid-template-columns: max-content 1fr; gap: var(--space-2xs) var(--space-m); } dd { margin: 0; } details dl { margin: var(--space-s) 0 0; }
@media (max-width: 32rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin: 0 0 var(--space-xs); } }
pre { margin: 0; white-space: pre-wrap; font: var(--text-s)/1.5 var(--mono); } pre a, p a { text-decoration: underline; }
iframe { width: 100%; height: 80vh; min-height: 20rem; border: 1px solid var(--line); border-radius: var(--radius-s); background: Canvas; resize: vertical; color-scheme: light; }
summary { cursor: pointer; min-height: 1.5rem; }
label { display: block; font-weight: 600; } input, button { font: inherit; min-height: var(--tap); padding: var(--space-xs) var(--space-s); border: 1px solid var(--soft); border-radius: var(--radius-s); background: var(--card); color: inherit; }
input { display: block; width: 100%; margin: var(--space-xs) 0 var(--space-s); } button { cursor: pointer; font-weight: 600; } [role=alert] { font-weight: 600; }
`;
