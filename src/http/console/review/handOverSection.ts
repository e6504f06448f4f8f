import type { PutAsideRow } from "#projections/inbound/queries.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { subjectLine } from "../threads/threadWords.ts";

/** Hand-overs shown at once; the others are found among the conversations that need a review. */
export const mostHandOvers = 5;

/** Conversations that colleagues handed over, until somebody has reviewed them. It is refreshed with the list of drafts. */
export function handOverSection(context: Pick<PageContext, "zone">, mails: readonly PutAsideRow[]): Markup {
  if (mails.length === 0) return html`<div id="handed-over"></div>`;
  return html`<section id="handed-over" class="card" aria-labelledby="handed-over-title"><h2 id="handed-over-title">Handed over by colleagues</h2>
<ul>${mails.slice(0, mostHandOvers).map((mail) => item(context, mail))}</ul>
<p class="meta">No agent is notified of these. ${mails.length > mostHandOvers && html`<a href="/threads?needs_review=true">See all conversations that need a review</a>`}</p></section>`;
}

const item = (
  context: Pick<PageContext, "zone">,
  { thread_id, message_id, subject, colleague, identity_address, received_at }: PutAsideRow,
): Markup => html`<li><a href="/threads/${thread_id}?open=${message_id}#message-${message_id}"><bdi lang="">${subjectLine(subject ?? "", 120)}</bdi></a>:
<bdi lang="">${shortLine(colleague ?? "another address", 320)}</bdi> of this workspace handed this conversation over to <bdi lang="">${shortLine(identity_address ?? "", 320)}</bdi>, ${when(context, received_at.toISOString())}. It waits for a review.</li>
`;
