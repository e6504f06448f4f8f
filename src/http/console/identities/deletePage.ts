import { button, errorSummary, form } from "#src/html/forms.ts";
import { html } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { identityOf } from "./identityPage.ts";
import { asSentence } from "./identityWords.ts";
import type { IdentityAnswer } from "./workspaceContext.ts";

/** The page to delete an identity: what happens to its mail and drafts. */
export async function deletePage(context: PageContext, refused?: PageRefusal): Promise<ConsoleAnswer> {
  const identity = await identityOf(context);
  const address = shortLine(identity.email_address, 254);
  const consequences = consequencesOf(identity, await countsOf(context, identity.id));
  const path = `/identities/${identity.id}`;
  const main = html`<h1>Delete <bdi>${address}</bdi>?</h1>
${errorSummary(refused && { message: asSentence(refused.message) })}
<div class="card"><ul>${consequences.map((sentence) => html`<li>${sentence}</li>`)}</ul>
<p>This cannot be undone.</p></div>
${form(context, { action: `${path}/delete` }, html`<div class="buttons">${button("Delete this identity", { kind: "danger" })}<a class="press" href="${path}">Keep it</a></div>`)}`;
  return shown({ title: `Delete ${address}?`, main, status: refused?.status ?? 200 });
}

export type DeletionCounts = { pending: number; approved: number; sending: number; held: number };

async function countsOf(context: PageContext, identity_id: string): Promise<DeletionCounts> {
  const drafts = async (status: string): Promise<number> =>
    (await context.ask("GET /v1/drafts", { query: { identity_id, status, limit: 1 } })).total;
  const held = async (disposition: string): Promise<number> =>
    (await context.ask("GET /v1/inbound", { query: { identity_id, disposition, limit: 1 } })).total;
  const [pending, approved, sending, disabled, overQuota] = await Promise.all([
    drafts("pending"),
    drafts("approved"),
    drafts("sending"),
    held("held_identity_disabled"),
    held("held_over_quota"),
  ]);
  return { pending, approved, sending, held: disabled + overQuota };
}

/** The consequences of deleting, as sentences. */
export function consequencesOf({ status }: Pick<IdentityAnswer, "status">, counts: DeletionCounts): string[] {
  const { pending, approved, sending, held } = counts;
  return [
    "It can no longer receive or send mail. Its address can be used again, in the sandbox only by this workspace.",
    "Its conversations, messages and drafts are kept, and can be read.",
    ...(pending + approved > 0
      ? [`${counted(pending + approved, "draft waits", "drafts wait")} and can no longer be sent.`]
      : []),
    ...(sending > 0
      ? [
          `${counted(sending, "mail is", "mails are")} being sent: mail that is not handed over yet ends as failed (identity_deleted).`,
        ]
      : []),
    ...(held > 0 ? [heldWords(status, held)] : []),
  ];
}

const heldWords = (status: IdentityAnswer["status"], held: number): string =>
  status === "disabled"
    ? `${counted(held, "received mail is", "received mails are")} held because the identity is disabled, and will stay held: to have the mail filed, enable the identity before you delete it.`
    : `${counted(held, "received mail is", "received mails are")} held, and will be filed as soon as the plan's quota allows it.`;

const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
