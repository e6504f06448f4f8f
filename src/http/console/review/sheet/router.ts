import { isUuid } from "#src/commands/ids.ts";
import { html } from "#src/html/html.ts";
import { invalidRequest } from "#streams/decider.ts";
import { maxOnSheet } from "../../../drafts/peoplesDecisions.ts";
import { requireScope } from "../../../framework/principal.ts";
import type { ConsoleDependencies } from "../../dependencies.ts";
import { type ConsoleAnswer, type ConsoleRoute, consoleForm, consolePage, shown } from "../../framework/page.ts";
import type { PageContext } from "../../framework/pageContext.ts";
import { sentenceOf } from "../decide.ts";
import { readReviewQuery } from "../reviewQuery.ts";
import { ordinaryDraft, sheetDrafts } from "./sheetDrafts.ts";
import { type SheetOutcome, sheetPage, sheetResult } from "./sheetPage.ts";

/** The sheet: several drafts on one page, decided together and each recorded by itself. */
export const sheetPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /review/sheet", async (context) => {
    requireScope(context.principal, "read:threads");
    const place = readReviewQuery(context.query);
    const drafts = await sheetDrafts(
      deps,
      { workspaceId: context.principal.workspaceId, userId: context.principal.user.id },
      place,
    );
    return shown({ title: "Several drafts · Review", main: sheetPage(context, drafts, place), wide: true });
  }),
  consoleForm("POST /review/sheet", (context) => approveSheet(deps, context)),
  consoleForm("POST /review/undo-sheet", (context) => undoSheet(context)),
];

/** A draft as the form names it: with the version and hash that the page showed. */
type ShownDraft = { draftId: string; version: number; contentSha256: string };

async function approveSheet(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  requireScope(context.principal, "decide:drafts");
  const drafts = readShown(context.form);
  const sheet = { sheet: deps.ids.uuid(), sheet_size: drafts.length };
  const outcomes: SheetOutcome[] = [];
  for (const draft of drafts) outcomes.push(await approve(deps, context, { ...draft, sheet }));
  const isDone = outcomes.every(({ refusal }) => refusal === null);
  const main = sheetResult(context, outcomes);
  return shown({ title: "Several drafts · Review", main, status: isDone ? 200 : 409 });
}

/** Approves one draft, unless it may no longer be on a sheet: then it has to be opened. */
async function approve(
  deps: ConsoleDependencies,
  context: PageContext,
  { draftId, version, contentSha256, sheet }: ShownDraft & { sheet: { sheet: string; sheet_size: number } },
): Promise<SheetOutcome> {
  const view = await ordinaryDraft(deps, context.principal.workspaceId, draftId);
  const subject = view?.threadSubject ?? "";
  if (!view) return { draftId, subject, refusal: "It changed, was decided, or has a warning now: open it to see." };
  const body = { content_sha256: contentSha256, ...sheet };
  const call = { params: { id: draftId }, ifMatch: version, body };
  const refused = await context.attempt(() => context.ask("POST /v1/drafts/:id/approve-on-sheet", call));
  return { draftId, subject, refusal: refused ? sentenceOf(refused) : null };
}

/** Reads the ticked drafts, each once. Throws Rejected invalid_request. */
function readShown(form: URLSearchParams): ShownDraft[] {
  const drafts = [...new Set(form.getAll("draft"))].map((value) => {
    const [draftId = "", version = "", contentSha256 = ""] = value.split(" ");
    if (!isUuid(draftId) || !/^[1-9]\d{0,6}$/.test(version) || !/^[0-9a-f]{64}$/.test(contentSha256))
      throw invalidRequest("draft", "expected the drafts as the page names them: load the page again");
    return { draftId: draftId.toLowerCase(), version: Number(version), contentSha256 };
  });
  if (drafts.length === 0 || drafts.length > maxOnSheet)
    throw invalidRequest("draft", `tick 1 to ${maxOnSheet} drafts`);
  return drafts;
}

/** Undoes the approvals of a sheet. An approval that can no longer be undone is listed with the reason. */
async function undoSheet(context: PageContext): Promise<ConsoleAnswer> {
  requireScope(context.principal, "decide:drafts");
  const ids = [...new Set(context.form.getAll("draft"))].filter(isUuid).slice(0, maxOnSheet);
  const faults: string[] = [];
  for (const id of ids) {
    const refused = await context.attempt(() => context.ask("POST /v1/drafts/:id/undo", { params: { id } }));
    if (refused) faults.push(refused.message);
  }
  const main = html`<h1>${faults.length === 0 ? "The approvals are undone" : "Some approvals could not be undone"}</h1>
<ul>${faults.map((fault) => html`<li>${fault}</li>`)}</ul>
<p><a class="press" href="/review">Back to the queue</a></p>`;
  return shown({ title: "Several drafts · Review", main, status: faults.length === 0 ? 200 : 409 });
}
