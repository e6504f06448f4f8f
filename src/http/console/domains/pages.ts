import { nextCheckOf } from "#src/commands/domains/nextCheck.ts";
import { blankSlate } from "#src/html/blankSlate.ts";
import { button, errorAt, field, form, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import {
  foundInWords,
  receivingName,
  type ShownDomain,
  statusInWords,
  takesOverMail,
  unreachableHost,
} from "./domainWords.ts";
import { recordsTable } from "./recordsTable.ts";

/** The list of domains and the form to add one. `refused`: why the form was refused. */
export async function domainList(context: PageContext, refused?: PageRefusal): Promise<ConsoleAnswer> {
  const cursor = context.query.get("cursor");
  const { data, next_cursor } = await context.ask("GET /v1/domains", { query: { limit: 50, cursor } });
  const main = html`<h1>Domains</h1>
<p>Identities have their addresses at a domain. Your domain needs five DNS records before it can receive and send mail.</p>
<div id="domains" hx-get="${context.path}" hx-trigger="live:domains from:body" hx-select="#domains" hx-target="this" hx-swap="outerHTML">${data.length === 0 ? nothing(context) : html`<ul class="list domains">${data.map(entry)}</ul>`}
${next_cursor !== null && html`<p><a class="press" href="/domains?cursor=${encodeURIComponent(next_cursor)}">Older domains</a></p>`}</div>
${context.may("write:domains") && addForm(context, refused)}`;
  return shown({ title: "Domains", main, status: refused?.status ?? 200 });
}

const nothing = (context: PageContext): Markup =>
  blankSlate("No domains yet", {
    text: context.may("write:domains")
      ? "Add the domain that your customers write to."
      : "Ask an admin of this workspace to add one.",
    action: context.may("write:domains") && { path: "#add", label: "Add a domain" },
  });

const entry = (
  domain: ShownDomain,
): Markup => html`<li class="card"><h2><a href="/domains/${domain.id}"><bdi>${receivingName(domain)}</bdi></a></h2>
<p>${statusMark(domain)}${!domain.sandbox && html` · ${foundInWords(domain.dns_records)}`}</p></li>
`;

const statusMark = (domain: ShownDomain): Markup => {
  const { short, tone } = statusInWords(domain);
  return html`<strong class="found ${tone}">${short}</strong>`;
};

/** The form to add a domain. A name in the URL only fills in the field. */
function addForm(context: PageContext, refused: PageRefusal | undefined): Markup {
  const said = (name: string) => context.form.get(name) ?? context.query.get(name) ?? "";
  return html`<section aria-labelledby="add"><h2 id="add">Add a domain</h2>
<p>After that, the domain's page lists the records to add at your DNS provider. They are checked automatically.</p>
${withErrorSummary(
  refused,
  form(
    context,
    { action: "/domains" },
    field({
      name: "domain_name",
      label: "Domain",
      hint: "For example example.com. You must be able to add DNS records to it.",
      value: said("domain_name"),
      error: errorAt(refused, "domain_name"),
      required: true,
      autocomplete: "off",
    }),
    html`<details class="fold"${(said("inbound_subdomain") !== "" || errorAt(refused, "inbound_subdomain") !== undefined) && html` open`}><summary>The domain already receives mail elsewhere<span class="set">use a subdomain for the agent's mail</span></summary>`,
    field({
      name: "inbound_subdomain",
      label: "Subdomain for mail",
      hint: "For example mail: addresses are then at mail.example.com, and mail to example.com is not affected. Choose a subdomain if the domain already receives mail elsewhere.",
      value: said("inbound_subdomain"),
      error: errorAt(refused, "inbound_subdomain"),
      autocomplete: "off",
    }),
    html`</details>`,
    button("Add the domain", { kind: "approve" }),
  ),
)}</section>`;
}

/** The domain in the path. Throws Rejected not_found. */
export const domainOf = (context: PageContext): Promise<ShownDomain> =>
  context.ask("GET /v1/domains/:domain_id", { params: { domain_id: context.params.id ?? "" } });

/** A domain: its status, expected and found records, and the time of the next check. The page refreshes itself after each check. */
export async function domainPage(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const domain = await domainOf(context);
  const name = receivingName(domain);
  const path = `/domains/${domain.id}`;
  const mayWrite = context.may("write:domains");
  const main = html`<p><a class="press" href="/domains">All domains</a></p>
<h1><bdi>${name}</bdi></h1>
${
  domain.sandbox
    ? sandboxWords()
    : html`<div id="state" hx-get="${path}" hx-trigger="live:domains from:body" hx-select="#state" hx-target="this" hx-swap="outerHTML">
${unreachableNote(domain)}
${await standing(deps, context, domain)}
${subdomainAdvice(domain, mayWrite)}
<section aria-labelledby="records"><h2 id="records">DNS records</h2>
<p>Add each of them at your DNS provider${domain.dns_provider_hint !== null && html` (it seems to be <bdi>${shortLine(domain.dns_provider_hint, 100)}</bdi>)`}. Most providers want the name as shown here; some want the full name. <strong>@</strong> is the domain itself.</p>
${recordsTable(domain.dns_records)}</section>
<section aria-labelledby="advised"><h2 id="advised">Advised</h2>
<p>The domain is verified without this record, but more of its mail arrives with it. If you have a DMARC policy for a domain above it, that one applies.</p>
${recordsTable(domain.advised_records, "advised DNS records")}</section></div>
${
  mayWrite &&
  html`${form(context, { action: `${path}/verify` }, button("Check now", { kind: "approve" }))}
<p><a class="press" href="${path}/delete">Delete this domain…</a></p>`
}`
}`;
  return shown({ title: name, main, wide: true });
}

async function standing(deps: ConsoleDependencies, context: PageContext, domain: ShownDomain): Promise<Markup> {
  const { long, tone } = statusInWords(domain);
  const next = await nextCheckOf(deps, domain.id);
  return html`<div class="card outcome ${tone}" role="status"><p>${statusMark(domain)}: ${foundInWords(domain.dns_records)}.</p>
<p>${long}</p>
<p class="meta">Last check: ${when(context, domain.verification_last_checked_at)}. Next: ${nextInWords(context, next, deps.clock.now().getTime())}.</p></div>
`;
}

function nextInWords(context: PageContext, next: "soon" | string | null, nowMs: number): Markup | string {
  if (next === null) return "when you press “Check now”";
  // A check that is due is in progress.
  return next === "soon" || Date.parse(next) <= nowMs ? "now" : when(context, next);
}

/** Warns if the records contain a loopback host name: the installation's host name is not configured, so they would not work. */
function unreachableNote({ dns_records: records, status }: ShownDomain): Markup | false {
  const host = unreachableHost(records);
  if (status === "verified" || host === undefined) return false;
  return html`<div class="card alert"><p><strong>Do not add these records yet.</strong> The MX record names “${shortLine(host, 100)}”, which other mail servers cannot reach. The operator of this service first has to set <code>PUBLIC_URL</code> and <code>INBOUND_MX_HOST</code>: <a href="/docs/install#going-to-production">Going to production</a>.</p></div>`;
}

/** Recommends a subdomain if the domain already receives mail elsewhere. */
function subdomainAdvice(domain: ShownDomain, mayWrite: boolean): Markup | false {
  if (!takesOverMail(domain) || domain.status === "verified") return false;
  const { domain_name, recommended_subdomain: recommended } = domain;
  const label = recommended?.endsWith(`.${domain_name}`) ? recommended.slice(0, -domain_name.length - 1) : null;
  const query = new URLSearchParams({ domain_name, inbound_subdomain: label ?? "" });
  return html`<div class="card alert"><p><strong><bdi>${domain_name}</bdi> already receives mail elsewhere.</strong> With the MX record below, all of its mail comes here instead, including your colleagues' mail.</p>
<p>${
    label === null
      ? "Use a subdomain instead: delete this domain, and add it with a subdomain for mail."
      : html`Use <bdi>${recommended}</bdi> instead: that name is not used yet, and the mail of <bdi>${domain_name}</bdi> stays where it is. Delete this domain first.`
  }${mayWrite && label !== null && html` <a class="press" href="/domains?${query.toString()}#add">Add it with the subdomain <bdi>${label}</bdi></a>`}</p></div>
`;
}

const sandboxWords =
  (): Markup => html`<div class="card outcome good"><p><strong>${statusInWords({ sandbox: true, status: "verified" }).long}</strong></p>
<p>Identities at it work at once, so it is good for trying out the service. All workspaces share it, so an address can be used only once, and names such as postmaster and admin are reserved. It cannot be deleted.</p>
<p>Add your own domain before customers write to you: they then see your name, and your mail is signed with it.</p></div>
<p><a class="press" href="/domains#add">Add your own domain</a></p>`;
