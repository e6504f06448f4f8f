import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import type { Answers } from "../../routes.ts";
import { type ConsoleRoute, consolePage, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { handOverStep, readHandedOver } from "./handedOver.ts";
import { letterSection, type ReadLetter } from "./letterView.ts";
import { draftPage, type LifePageReader, lifePage, titleOf } from "./lifePage.ts";
import { any, type Drafts, type Filter, listPage } from "./listPage.ts";
import { printPage } from "./printPage.ts";
import { addChanges, type DraftSteps, readDraft, readDraftSteps, stepNamed } from "./readDraftSteps.ts";
import { stepPage } from "./stepPage.ts";
import type { Step, Version } from "./steps.ts";

type Deps = Pick<HttpDependencies, "parser" | "clock" | "costlyWork"> & {
  settings: Pick<HttpDependencies["settings"], "publicUrl">;
};

/** Pages on a draft's history: why it was sent or not, and every step. */
export const draftPages = (deps: Deps): ConsoleRoute[] => [
  consolePage("GET /drafts", async (visit) => {
    const filter = filterOf(visit);
    const query = { ...filter, cursor: given(visit, "cursor") };
    let page: Pick<Answers["GET /v1/drafts"], "data" | "total" | "next_cursor"> = {
      data: [],
      total: 0,
      next_cursor: null,
    };
    const [identities, refused] = await Promise.all([
      identitiesFor(visit),
      visit.attempt(async () => {
        page = await visit.ask("GET /v1/drafts", { query });
      }),
    ]);
    const main = listPage(visit, { drafts: { ...page, identities }, filter, refused });
    return shown({ title: "Drafts", main, wide: true, ...(refused && { status: refused.status }) });
  }),
  consolePage("GET /drafts/:id", async (visit) => {
    if (!visit.may("read:audit")) return withoutHistory(deps, visit);
    const walk = await readDraftSteps(visit);
    await addChanges(deps.costlyWork, visit, walk.steps);
    const letter = await letterSection(reading(deps, visit), newest(walk));
    return shown({ title: `Draft: ${titleOf(walk.draft)}`, main: lifePage(deciderOf(visit), walk, letter) });
  }),
  consolePage("GET /drafts/:id/at/:n", async (visit) => {
    requireHistories(visit);
    const walk = await readDraftSteps(visit);
    const step = stepNamed(walk, visit.params.n);
    await addChanges(deps.costlyWork, visit, [step]);
    const hasMail = step === handOverStep(walk.steps);
    const handedOver = hasMail ? await readHandedOver(deps, visit, walk.steps) : undefined;
    const title = `What it said then (version ${step.version.version})`;
    const letter = await letterSection(reading(deps, visit), step.version, { title });
    const main = stepPage(visit, walk, { step, letter, handedOver });
    return shown({ title: `Step ${step.n} of ${walk.steps.length}: ${titleOf(walk.draft)}`, main });
  }),
  consolePage("GET /drafts/:id/print", async (visit) => {
    requireHistories(visit);
    const [walk, { id, name }] = await Promise.all([readDraftSteps(visit), visit.ask("GET /v1/workspaces/me")]);
    await addChanges(deps.costlyWork, visit, walk.steps);
    const printed = {
      workspace: { id, name },
      at: deps.clock.now().toISOString(),
      by: visit.principal.name,
      url: `${deps.settings.publicUrl.replace(/\/$/, "")}/drafts/${walk.draft.id}`,
      zone: visit.zone,
    };
    const letter = await letterSection(reading(deps, visit), newest(walk), { frames: false });
    const main = printPage(walk, printed, { letter, handedOver: await readHandedOver(deps, visit, walk.steps) });
    return shown({ title: `The life of a draft: ${titleOf(walk.draft)}`, main });
  }),
];

const deciderOf = (visit: PageContext): LifePageReader => ({ zone: visit.zone, mayDecide: visit.may("decide:drafts") });

const reading =
  ({ costlyWork }: Deps, { principal }: PageContext): ReadLetter =>
  (letter) =>
    costlyWork("readableLetter", letter, principal.workspaceId);

const newest = ({ steps }: DraftSteps): Version => (steps.at(-1) as Step).version;

/** The page for people who may not read histories: the draft, and who can show them more. */
async function withoutHistory(deps: Deps, visit: PageContext) {
  const draft = await readDraft(visit);
  const content = await visit.ask("GET /v1/drafts/:id/content", { params: { id: draft.id } });
  const { version, content_sha256: contentSha256, rationale } = draft;
  const letter = await letterSection(reading(deps, visit), {
    ...{ version, contentSha256, rationale },
    content: { ...content, body_text: content.body_text ?? "" },
  });
  return shown({ title: `Draft: ${titleOf(draft)}`, main: draftPage(deciderOf(visit), draft, letter) });
}

function requireHistories(visit: PageContext): void {
  if (visit.may("read:audit")) return;
  throw new Rejected(
    "insufficient_scope",
    "the history of a draft can be seen by owners, admins and auditors of this workspace",
  );
}

function given({ query }: PageContext, name: string): string | null {
  const value = query.get(name);
  return value === "" || value === any ? null : value;
}

const filterOf = (visit: PageContext): Filter => ({
  status: given(visit, "status"),
  identity_id: given(visit, "identity_id"),
  thread_id: given(visit, "thread_id"),
});

async function identitiesFor(visit: PageContext): Promise<Drafts["identities"]> {
  if (!visit.may("read:identities")) return [];
  return (await visit.ask("GET /v1/identities", { query: { limit: 100 } })).data;
}
