import { shownPictures } from "#src/commands/drafts/shownPictures.ts";
import { button, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { channelInWords } from "./channelFields.ts";
import { type FormPart, fields } from "./fields.ts";
import { partForm, type RefusedForm, refusalOf } from "./formPages.ts";
import { inPageWords, valueInWords } from "./identityWords.ts";
import { marks, stateMark } from "./listPage.ts";
import { riskySettingsOf } from "./riskySettings.ts";
import { storedSignature } from "./signature.ts";
import { type IdentityContext, type MailStep, storyOf, storySentence } from "./story.ts";
import { type IdentityAnswer, identityContextOf, readWorkspaceContext } from "./workspaceContext.ts";

type IdentityPageState = { again?: RefusedForm; preview?: Markup };

/** An identity: the path of its mail, its problems, and its forms; or its values, for people who may only read. */
export async function identityPage(
  deps: ConsoleDependencies,
  context: PageContext,
  { again, preview }: IdentityPageState = {},
): Promise<ConsoleAnswer> {
  const [identity, surroundings] = await Promise.all([
    identityOf(context),
    readWorkspaceContext(context, context.params.id),
  ]);
  const around = identityContextOf(surroundings, identity);
  const mayWrite = context.may("write:identities");
  const path = `/identities/${identity.id}`;
  const address = shortLine(identity.email_address, 254);
  const values = (part: FormPart) => valueList(part, identity, surroundings);
  const main = html`<p><a class="press" href="/identities">All identities</a></p>
<h1><bdi>${address}</bdi></h1>
<p class="meta">${stateMark(identity)}</p>${marks(identity, around)}
${again && refusalOf(again)}
${story(storyOf(identity, around), mayWrite)}
${warnings(identity, around)}
<section aria-labelledby="approval"><h2 id="approval">Approval, name and replies</h2>
${values("approval")}
${mayWrite && html`<p><a class="press" href="${path}/approval">Change approval, name or replies</a></p>`}</section>
${mayWrite && testSection(context, identity)}
<section aria-labelledby="mail"><h2 id="mail">Address and signature</h2>
${mayWrite ? html`<dl>${fixedValues(identity, surroundings)}</dl>${partForm(context, { identity, part: "mail", action: path, again }, surroundings)}` : values("mail")}
${await signatureOf(deps, context, { identity, preview })}</section>
${mayWrite && switching(context, identity)}`;
  return shown({ title: address, main, status: statusOf(again) });
}

/** The identity in the path. Throws Rejected not_found. */
export const identityOf = (context: PageContext): Promise<IdentityAnswer> =>
  context.ask("GET /v1/identities/:identity_id", { params: { identity_id: context.params.id ?? "" } });

/** The form for approvals and the destination of replies; a separate page, because it requires the password. */
export async function approvalPage(context: PageContext, again?: RefusedForm): Promise<ConsoleAnswer> {
  const [identity, surroundings] = await Promise.all([
    identityOf(context),
    readWorkspaceContext(context, context.params.id),
  ]);
  const around = identityContextOf(surroundings, identity);
  const address = shortLine(identity.email_address, 254);
  const action = `/identities/${identity.id}/approval`;
  const main = html`<p><a class="press" href="/identities/${identity.id}"><bdi>${address}</bdi></a></p>
<h1>Approval, name and replies of <bdi>${address}</bdi></h1>
<p class="meta">As it is now: <bdi>${storySentence(storyOf(identity, around))}</bdi></p>
${again && refusalOf(again)}
${warnings(identity, around)}
${partForm(context, { identity, part: "approval", action, again }, surroundings)}`;
  return shown({ title: `Approval, name and replies of ${address}`, main, status: statusOf(again) });
}

const statusOf = (again: RefusedForm | undefined): number =>
  (again?.conflicts?.length ?? 0) > 0 ? 409 : (again?.refused?.status ?? 200);

/** `mayMend`: the reader may change settings, so faults link to where they can be fixed. */
const story = (
  steps: readonly MailStep[],
  mayMend: boolean,
): Markup => html`<section class="story" aria-labelledby="way"><h2 id="way">How mail flows</h2>
<ol>${steps.map(
  ({ text, fault }) =>
    html`<li${fault !== undefined && html` class="stops"`}><bdi>${text}</bdi>${
      fault !== undefined &&
      html`<p class="fault"><strong>Stops here:</strong> ${fault.text}${mayMend && fault.path !== undefined && html` <a href="${fault.path}">${fault.remedy}</a>`}</p>`
    }</li>`,
)}</ol></section>
`;

/** Warnings: risky combinations of settings, and those of the API. */
function warnings(identity: IdentityAnswer, around: IdentityContext): Markup | false {
  const dangers = riskySettingsOf(identity, around).map(({ text }) => text);
  const all = [...dangers, ...identity.warnings.map(inPageWords)];
  return (
    all.length > 0 &&
    html`<section class="warnings" aria-labelledby="know"><h2 id="know">What you should know</h2><ul>${all.map((text) => html`<li>${text}</li>`)}</ul></section>
`
  );
}

const valueList = (part: FormPart, identity: IdentityAnswer, around: Parameters<typeof valueInWords>[2]): Markup =>
  html`<dl>${fields
    .filter((field) => field.part === part && field.name !== "signature_html")
    .map(
      (field) =>
        html`<dt>${field.label}</dt><dd><bdi class="lines">${valueInWords(field, identity, around)}</bdi></dd>`,
    )}</dl>
`;

const fixedValues = (identity: IdentityAnswer, around: Parameters<typeof valueInWords>[2]): Markup[] =>
  fields
    .filter(({ onlyAtCreation }) => onlyAtCreation)
    .map((field) => html`<dt>${field.label}</dt><dd><bdi>${valueInWords(field, identity, around)}</bdi></dd>`);

async function signatureOf(
  deps: ConsoleDependencies,
  { principal }: PageContext,
  { identity, preview }: { identity: IdentityAnswer; preview: Markup | undefined },
) {
  if (preview)
    return html`<h3 id="preview">Preview of the signature</h3><p role="status">This is how it would be saved. It is not saved yet.</p>${preview}`;
  const content = { attachments: [], body_html: null, signature_html: identity.signature_html };
  const pictures = await shownPictures(deps, content);
  const stored = await storedSignature(deps, principal.workspaceId, { identity, pictures });
  return stored && html`<h3>The signature as it is sent</h3>${stored}`;
}

/** One test button for each configured channel. */
function testSection(
  context: PageContext,
  { id, approval_channel, secondary_approval_channel }: IdentityAnswer,
): Markup {
  const channels = [
    ["primary", approval_channel],
    ["secondary", secondary_approval_channel],
  ] as const;
  const set = channels.flatMap(([slot, channel]) => (channel ? [{ slot, channel }] : []));
  return html`<section aria-labelledby="test"><h2 id="test">Test notification</h2>
<p>Sends the approver a short message that asks for nothing. It does not count towards your plan.</p>
${set.length === 0 && html`<p>Set an approval channel first.</p>`}
${set.map(({ slot, channel }) =>
  form(
    context,
    { action: `/identities/${id}/test` },
    html`<input type="hidden" name="channel" value="${slot}">`,
    button(html`Send a test to <bdi>${channelInWords(channel)}</bdi>`),
  ),
)}</section>
`;
}

const switching = (context: PageContext, { id, status }: IdentityAnswer): Markup => {
  const [to, label, text] =
    status === "active"
      ? ([
          "disabled",
          "Disable",
          "Received mail is then held, and nothing is sent, until it is enabled again.",
        ] as const)
      : (["active", "Enable", "Held mail is then filed, and waiting drafts can be sent."] as const);
  return html`<section aria-labelledby="state"><h2 id="state">${label} or delete</h2><p>${text}</p>
${form(context, { action: `/identities/${id}/status` }, html`<input type="hidden" name="status" value="${to}">`, button(`${label} this identity`))}
<p><a class="press" href="/identities/${id}/delete">Delete this identity…</a></p></section>
`;
};
