import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { type DnsRecord, recordInWords } from "./domainWords.ts";

/** A table of DNS records of a domain: values to enter at the DNS provider, and what was found. */
export const recordsTable = (
  records: readonly DnsRecord[],
  which = "DNS records",
): Markup => html`<div class="scroll" role="region" aria-label="Table of ${which}" tabindex="0"><table class="records">
<thead><tr><th scope="col">Type</th><th scope="col">Name</th><th scope="col">Value</th><th scope="col">State</th></tr></thead>
<tbody>${records.map(row)}</tbody></table></div>
`;

const row = ({ type, host, fqdn, value, priority, purpose, status, reason }: DnsRecord): Markup => html`<tr>
<td>${type}${priority !== null && html`<br><span class="meta">priority ${priority}</span>`}</td>
<td>${copied(host, `the name ${fqdn}`)}<span class="meta">in full: <bdi>${fqdn}</bdi></span></td>
<td>${value === "" ? html`<span class="meta">Your mail provider has not announced it yet.</span>` : copied(value, `the value of ${fqdn}`)}<span class="meta">${purpose}</span></td>
<td><strong class="found ${status}">${recordInWords[status]}</strong>${reason !== null && html`<br><bdi class="reason" lang="">${shortLine(reason, 800)}</bdi>`}</td>
</tr>
`;

/** A value that a click selects completely; with script it also has a copy button. */
const copied = (text: string, what: string): Markup =>
  html`<div class="to-copy"><code>${text}</code><button type="button" class="button quiet" data-copy="" hidden aria-label="Copy ${what}">Copy</button></div>`;
