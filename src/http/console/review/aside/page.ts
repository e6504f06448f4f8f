import { listPutAside, type PutAsideRow } from "#projections/inbound/queries.ts";
import type { Page } from "#projections/page.ts";
import { blankSlate } from "#src/html/blankSlate.ts";
import { counted } from "#src/html/counted.ts";
import { html, type Markup, type MarkupValue } from "#src/html/html.ts";
import { requireScope } from "../../../framework/principal.ts";
import type { ConsoleDependencies } from "../../dependencies.ts";
import { type ConsoleAnswer, shown } from "../../framework/page.ts";
import type { PageContext } from "../../framework/pageContext.ts";
import { pageLinksFrom, pages } from "../../framework/pageLinks.ts";
import { asideRow } from "./row.ts";

const pageSize = 20;

/** Days for which a mail is listed. Its entry in the ledger stays, and so does its message. */
const listedDays = 30;
const dayMs = 86_400_000;

/** Mail that asks for nothing, newest first. `notDone`: why a mail was not filed, with the status of the page. */
export async function asidePage(
  deps: ConsoleDependencies,
  context: PageContext,
  notDone?: { sentence: MarkupValue; status: number },
): Promise<ConsoleAnswer> {
  requireScope(context.principal, "read:threads");
  const { workspaceId } = context.principal;
  const list = { line: "GET /review/aside", workspaceId, params: {}, filters: {} };
  const cursor = context.query.get("cursor");
  const after = cursor === null ? undefined : deps.cursors.read(cursor, list);
  const since = new Date(deps.clock.now().getTime() - listedDays * dayMs);
  const mail = await listPutAside(deps.reads, workspaceId, { since, limit: pageSize, offset: 0, after });
  const next = mail.next && deps.cursors.write(mail.next, list);
  return shown({
    title: notDone ? "Nothing was filed · Mail put aside" : "Mail put aside",
    ...(notDone && { status: notDone.status }),
    wide: true,
    main: html`<p class="back-to"><a class="press" href="/review">Back to the drafts</a></p>
<h1>Mail put aside</h1>
<p class="meta">Copies of our own mail, reactions, automatic replies, reports and colleagues' mail of the last ${listedDays} days. Nobody was asked about these. If one is somebody's word after all, file it as a message: agents are then notified, and drafts for older messages are not sent.</p>
${notDone && html`<div class="card alert" role="alert"><p><strong>Nothing was filed.</strong> ${notDone.sentence}</p></div>`}
${listOf(mail, context)}
${pages(pageLinksFrom("/review/aside", { query: context.query, next, kept: new URLSearchParams() }), "mail")}`,
  });
}

const listOf = ({ data, total, total_capped: isCapped }: Page<PutAsideRow>, context: PageContext): Markup =>
  total === 0
    ? blankSlate("No mail was put aside", {
        text: "Automatic replies, reports and copies of our own mail will be listed here.",
      })
    : html`<section class="plain" aria-labelledby="aside-title"><h2 id="aside-title">${isCapped && "More than "}${counted(total, "mail", "mails")}</h2>
<ol class="conversations">${data.map((mail) => asideRow(mail, context))}</ol></section>`;
