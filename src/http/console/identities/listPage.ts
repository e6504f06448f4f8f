import { blankSlate } from "#src/html/blankSlate.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { checklistOf, type SetupStep } from "./checklist.ts";
import { approversInWords, marksOf } from "./identityWords.ts";
import { firstFault, storyOf } from "./story.ts";
import {
  type IdentityAnswer,
  identityContextOf,
  readWorkspaceContext,
  type WorkspaceContext,
} from "./workspaceContext.ts";

const pageLength = 50;

/** All identities with their approvers and problems; and the next steps, while the setup is incomplete. */
export async function identityList(context: PageContext): Promise<ConsoleAnswer> {
  const cursor = context.query.get("cursor");
  const [identities, surroundings] = await Promise.all([
    context.ask("GET /v1/identities", { query: { limit: pageLength, cursor } }),
    readWorkspaceContext(context),
  ]);
  const mayWrite = context.may("write:identities");
  const todo = mayWrite && cursor === null ? await todoOf(context, identities.data, surroundings) : undefined;
  const main = html`<h1>Identities</h1>
<p>An identity is an address that receives mail and that the agent answers from, once a person has approved the answer.</p>
${todo && checklist(todo)}
${mayWrite && identities.data.length > 0 && html`<p><a class="button approve" href="/identities/new">Create an identity</a></p>`}
${identities.data.length === 0 ? blankSlate("No identities yet", { text: mayWrite ? "Create the address that customers write to. At the sandbox domain it receives mail at once." : "Ask an admin of this workspace to create one.", action: mayWrite && { path: "/identities/new", label: "Create an identity" } }) : html`<ul class="list identities">${identities.data.map((identity: IdentityAnswer) => entry(identity, surroundings))}</ul>`}
${identities.next_cursor !== null && html`<p><a class="press" href="/identities?cursor=${encodeURIComponent(identities.next_cursor)}">Older identities</a></p>`}`;
  return shown({ title: "Identities", main });
}

function entry(identity: IdentityAnswer, surroundings: WorkspaceContext): Markup {
  const around = identityContextOf(surroundings, identity);
  const fault = firstFault(storyOf(identity, around));
  return html`<li class="card"><h2><a href="/identities/${identity.id}"><bdi>${shortLine(identity.email_address, 254)}</bdi></a></h2>
<p class="meta"><bdi>${shortLine(identity.display_name, 100)}</bdi> · ${stateMark(identity)} · approves: <bdi>${approversInWords(identity, around)}</bdi></p>
${marks(identity, around)}
${fault && html`<p class="fault"><strong>Attention:</strong> ${fault.text}</p>`}</li>
`;
}

/** Active or disabled, as a badge. */
export const stateMark = ({ status }: Pick<IdentityAnswer, "status">): Markup =>
  html`<span class="state ${status}">${status === "active" ? "active" : "disabled"}</span>`;

/** The most important switches, as badges. */
export const marks = (identity: IdentityAnswer, around: ReturnType<typeof identityContextOf>): Markup =>
  html`<ul class="marks">${marksOf(identity, around).map(
    ({ text, severe }) => html`<li${severe === true && html` class="mark"`}>${text}</li>`,
  )}</ul>`;

async function todoOf(
  context: PageContext,
  identities: readonly IdentityAnswer[],
  { domains, notified }: WorkspaceContext,
) {
  const keys = context.may("read:keys")
    ? (await context.ask("GET /v1/api-keys", { query: { limit: 1 } })).total
    : undefined;
  const own = domains.filter(({ sandbox }) => !sandbox);
  const hasChannel = ({ approval_channel }: IdentityAnswer) => approval_channel !== null;
  const first = identities.find((identity) => !hasChannel(identity)) ?? identities[0];
  return checklistOf({
    ownDomain: own.some(({ status }) => status === "verified") ? "verified" : own.length > 0 ? "pending" : "none",
    sandbox: domains.some(({ sandbox }) => sandbox),
    identity: first && { id: first.id, hasChannel: identities.some(hasChannel) },
    reached: [...notified.values()].some(({ state }) => state === "sent"),
    keys,
  });
}

const checklist = (steps: readonly SetupStep[]): Markup => html`<section class="checklist" aria-labelledby="begin">
<h2 id="begin">Set-up</h2>
<ol>${steps.map(
  ({ done, title, text, path, action }) =>
    html`<li${done && html` class="done"`}><strong>${title}</strong> <span class="meta">${done ? "done" : "to do"}</span><br>${text}${!done && html` <a class="press" href="${path}">${action}</a>`}</li>`,
)}</ol></section>
`;
