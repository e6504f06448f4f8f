import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import type { Reply } from "../../framework/reply.ts";
import type { Answers } from "../../routes.ts";
import { noEvidencePage } from "../audit/noEvidencePage.ts";
import { type HeadReader, readProofState } from "../audit/proofState.ts";
import { type ConsoleRoute, consolePage, download, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { handOverStep, readHandedOver } from "./handedOver.ts";
import { letterSection, type ReadLetter } from "./letterView.ts";
import { draftPage, type LifePageReader, lifePage, titleOf } from "./lifePage.ts";
import { any, type Drafts, type Filter, listPage } from "./listPage.ts";
import { printPage } from "./printPage.ts";
import { addChanges, type DraftSteps, readDraft, readDraftSteps, stepNamed } from "./readDraftSteps.ts";
import { stepPage } from "./stepPage.ts";
import type { Step, Version } from "./steps.ts";

type Deps = HeadReader & Pick<HttpDependencies, "parser" | "clock" | "costlyWork">;

/** Pages on a draft's history: why it was sent or not, and every step. */
export const draftPages = (deps: Deps): ConsoleRoute[] => [
  consolePage("GET /drafts", async (context) => {
    const filter = filterOf(context);
    const query = { ...filter, cursor: given(context, "cursor") };
    let page: Pick<Answers["GET /v1/drafts"], "data" | "total" | "next_cursor"> = {
      data: [],
      total: 0,
      next_cursor: null,
    };
    const [identities, refused] = await Promise.all([
      identitiesFor(context),
      context.attempt(async () => {
        page = await context.ask("GET /v1/drafts", { query });
      }),
    ]);
    const main = listPage(context, { drafts: { ...page, identities }, filter, refused });
    return shown({ title: "Drafts", main, wide: true, ...(refused && { status: refused.status }) });
  }),
  consolePage("GET /drafts/:id", async (context) => {
    if (!context.may("read:audit")) return withoutHistory(deps, context);
    const walk = await readDraftSteps(context);
    await addChanges(deps.costlyWork, context, walk.steps);
    const [letter, proof] = await Promise.all([
      letterSection(reading(deps, context), newest(walk)),
      readProofState(deps, context, positionsOf(walk)),
    ]);
    const main = lifePage(deciderOf(context), walk, { letter, proof });
    return shown({ title: `Draft: ${titleOf(walk.draft)}`, main });
  }),
  consolePage("GET /drafts/:id/evidence", async (context) => {
    requireHistories(context);
    const draft = await readDraft(context);
    let file: Reply | undefined;
    const refused = await context.attempt(async () => {
      file = await context.askRaw("GET /v1/drafts/:id/evidence", { params: { id: draft.id } });
    });
    return file ? download(file) : shown(noEvidencePage(draft, refused));
  }),
  consolePage("GET /drafts/:id/at/:n", async (context) => {
    requireHistories(context);
    const walk = await readDraftSteps(context);
    const step = stepNamed(walk, context.params.n);
    await addChanges(deps.costlyWork, context, [step]);
    const hasMail = step === handOverStep(walk.steps);
    const handedOver = hasMail ? await readHandedOver(deps, context, walk.steps) : undefined;
    const title = `What it said then (version ${step.version.version})`;
    const letter = await letterSection(reading(deps, context), step.version, { title });
    const main = stepPage(context, walk, { step, letter, handedOver });
    return shown({ title: `Step ${step.n} of ${walk.steps.length}: ${titleOf(walk.draft)}`, main });
  }),
  consolePage("GET /drafts/:id/print", async (context) => {
    requireHistories(context);
    const [walk, { id, name }] = await Promise.all([readDraftSteps(context), context.ask("GET /v1/workspaces/me")]);
    await addChanges(deps.costlyWork, context, walk.steps);
    const printed = {
      workspace: { id, name },
      at: deps.clock.now().toISOString(),
      by: context.principal.name,
      url: `${deps.settings.publicUrl.replace(/\/$/, "")}/drafts/${walk.draft.id}`,
      zone: context.zone,
    };
    const [letter, handedOver, proof] = await Promise.all([
      letterSection(reading(deps, context), newest(walk), { frames: false }),
      readHandedOver(deps, context, walk.steps),
      readProofState(deps, context, positionsOf(walk)),
    ]);
    const main = printPage(walk, printed, { letter, handedOver, proof });
    return shown({ title: `The life of a draft: ${titleOf(walk.draft)}`, main });
  }),
];

const deciderOf = (context: PageContext): LifePageReader => ({
  zone: context.zone,
  mayDecide: context.may("decide:drafts"),
});

const reading =
  ({ costlyWork }: Deps, { principal }: PageContext): ReadLetter =>
  (letter) =>
    costlyWork("readableLetter", letter, principal.workspaceId);

const positionsOf = ({ steps }: DraftSteps): number[] => steps.map(({ event }) => event.position);

const newest = ({ steps }: DraftSteps): Version => (steps.at(-1) as Step).version;

/** The page for people who may not read histories: the draft, and who can show them more. */
async function withoutHistory(deps: Deps, context: PageContext) {
  const draft = await readDraft(context);
  const content = await context.ask("GET /v1/drafts/:id/content", { params: { id: draft.id } });
  const { version, content_sha256: contentSha256, rationale } = draft;
  const letter = await letterSection(reading(deps, context), {
    ...{ version, contentSha256, rationale },
    content: { ...content, body_text: content.body_text ?? "" },
  });
  return shown({ title: `Draft: ${titleOf(draft)}`, main: draftPage(deciderOf(context), draft, letter) });
}

function requireHistories(context: PageContext): void {
  if (context.may("read:audit")) return;
  throw new Rejected(
    "insufficient_scope",
    "the history of a draft can be seen by owners, admins and auditors of this workspace",
  );
}

function given({ query }: PageContext, name: string): string | null {
  const value = query.get(name);
  return value === "" || value === any ? null : value;
}

const filterOf = (context: PageContext): Filter => ({
  status: given(context, "status"),
  identity_id: given(context, "identity_id"),
  thread_id: given(context, "thread_id"),
  warning_kind: given(context, "warning_kind"),
});

async function identitiesFor(context: PageContext): Promise<Drafts["identities"]> {
  if (!context.may("read:identities")) return [];
  return (await context.ask("GET /v1/identities", { query: { limit: 100 } })).data;
}
