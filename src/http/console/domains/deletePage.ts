import { button, errorSummary, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { Answers } from "../../routes.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { asSentence } from "../identities/identityWords.ts";
import { receivingName } from "./domainWords.ts";
import { domainOf } from "./pages.ts";

/** The page to delete a domain: the consequences, or the identities that prevent it. */
export async function deletePage(context: PageContext, refused?: PageRefusal): Promise<ConsoleAnswer> {
  const domain = await domainOf(context);
  const name = receivingName(domain);
  const path = `/domains/${domain.id}`;
  const identities = await context.ask("GET /v1/identities", { query: { domain_id: domain.id, limit: 20 } });
  const isFree = identities.total === 0 && !domain.sandbox;
  const main = html`<h1>Delete <bdi>${name}</bdi>?</h1>
${errorSummary(refused && { message: asSentence(refused.message) })}
${
  isFree
    ? html`<div class="card"><p>Mail to it will no longer be received here. Remove its records at your DNS provider, the MX record first. If you add the domain again, it gets new records.</p></div>
${form(context, { action: `${path}/delete` }, html`<div class="buttons">${button("Delete this domain", { kind: "danger" })}<a class="press" href="${path}">Keep it</a></div>`)}`
    : html`<div class="card alert">${domain.sandbox ? html`<p>The sandbox domain belongs to every workspace and cannot be deleted.</p>` : inTheWay(identities)}</div><p><a class="press" href="${path}">Back to the domain</a></p>`
}`;
  return shown({ title: `Delete ${name}?`, main, status: refused?.status ?? 200 });
}

const inTheWay = ({
  total,
  data,
}: Answers["GET /v1/identities"]): Markup => html`<p><strong>It cannot be deleted while identities have addresses at it.</strong> Delete ${total === 1 ? "this identity" : `these ${total} identities`} first:</p>
<ul>${data.map(({ id, email_address }) => html`<li><a href="/identities/${id}"><bdi>${shortLine(email_address, 254)}</bdi></a></li>`)}</ul>
${total > data.length && html`<p>and ${total - data.length} more.</p>`}`;
