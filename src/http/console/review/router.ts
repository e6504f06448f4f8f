import { Readable } from "node:stream";
import { signedInAttachment, signedInView } from "#src/commands/approvals/signedInView.ts";
import { isUuid } from "#src/commands/ids.ts";
import { Rejected } from "#streams/decider.ts";
import { requireScope } from "../../framework/principal.ts";
import { reply } from "../../framework/reply.ts";
import { fileHeaders } from "../../present/files.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import {
  type ConsoleAnswer,
  type ConsoleRoute,
  consoleForm,
  consolePage,
  download,
  seeOther,
  shown,
} from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { asidePages } from "./aside/router.ts";
import { decide, queryAfterDecision, sentenceOf, versionOf } from "./decide.ts";
import { changesOf, editMain, type TypedBodies } from "./edit.ts";
import { reviewPage } from "./page.ts";
import { nextDraftIn, readReviewQuery, reviewPath } from "./reviewQuery.ts";
import { sheetPages } from "./sheet/router.ts";
import { viewersPart } from "./viewers.ts";

/** Pages for deciding about drafts, and the switch that pauses all sending. */
export const reviewPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /review", (context) => reviewPage(deps, context, { place: readReviewQuery(context.query) })),
  consoleForm("POST /review/:id/approve", (context) =>
    decide(deps, context, {
      work: async (call) => {
        await requireShown(deps, context, call.ifMatch);
        return context.ask("POST /v1/drafts/:id/approve", call);
      },
    }),
  ),
  consoleForm("POST /review/:id/reject", (context) => reject(deps, context)),
  consoleForm("POST /review/:id/request-changes", (context) => requestChanges(deps, context)),
  consoleForm("POST /review/:id/withdraw-changes-request", (context) => withdrawRequest(deps, context)),
  consoleForm("POST /review/:id/undo", (context) => undo(deps, context)),
  consoleForm("POST /review/:id/assign", (context) => assign(deps, context)),
  consoleForm("POST /review/:id/ask-again", (context) => askAgain(deps, context)),
  consolePage("GET /review/:id/edit", async (context) => editPage(deps, context)),
  consoleForm("POST /review/:id/edit", (context) => edit(deps, context)),
  consolePage("GET /review/:id/attachments/:n", (context) => attachment(deps, context)),
  consoleForm("POST /review/:id/looking", (context) => looking(deps, context)),
  ...sheetPages(deps),
  ...asidePages(deps),
  consoleForm("POST /review/pause", (context) => pause(deps, context, true)),
  consoleForm("POST /review/resume", (context) => pause(deps, context, false)),
];

/** A typed reason takes precedence over one chosen from the list. */
function reject(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const typed = context.form.get("reason")?.replace(/\r\n?/g, "\n").trim() ?? "";
  const reason = typed || context.form.get("said") || null;
  return decide(deps, context, {
    work: async ({ params, ifMatch }) => {
      await requireShown(deps, context, ifMatch);
      return context.ask("POST /v1/drafts/:id/reject", { params, body: { reason } });
    },
    reason: typed,
  });
}

function requestChanges(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const text = context.form.get("wish")?.replace(/\r\n?/g, "\n").trim() ?? "";
  return decide(deps, context, {
    work: async (call) => {
      await requireShown(deps, context, call.ifMatch);
      return context.ask("POST /v1/drafts/:id/request-changes", { ...call, body: { text } });
    },
    changes: text,
  });
}

/** Assigns the draft to the member in the form; to nobody if the field is empty. */
async function assign(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const id = context.params.id ?? "";
  const place = { ...readReviewQuery(context.form), draft: id };
  const userId = context.form.get("user_id") || null;
  const refused = await context.attempt(() =>
    context.ask("POST /v1/drafts/:id/assign", { params: { id }, body: { user_id: userId } }),
  );
  if (!refused) return seeOther(reviewPath(place), "assigned");
  const notDone = { sentence: sentenceOf(refused), status: refused.status, since: undefined };
  return reviewPage(deps, context, { place, notDone });
}

async function withdrawRequest(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const id = context.params.id ?? "";
  const place = { ...queryAfterDecision(context), draft: id };
  const refused = await context.attempt(() =>
    context.ask("POST /v1/drafts/:id/withdraw-changes-request", { params: { id } }),
  );
  if (!refused) return seeOther(reviewPath(place), "request_withdrawn");
  const notDone = { sentence: sentenceOf(refused), status: refused.status, since: undefined };
  return reviewPage(deps, context, { place, notDone });
}

/**
 * Throws version_mismatch if the draft has another version, or another content hash than the one in the form. The route to reject takes
 * neither, so this function checks them.
 */
async function requireShown(
  deps: ConsoleDependencies,
  { params, principal, form }: PageContext,
  version: number,
): Promise<void> {
  const { state } = await deps.drafts.load(params.id ?? "");
  if (!state.exists || state.workspaceId !== principal.workspaceId) return;
  const hash = form.get("hash") ?? state.contentSha256;
  if (state.version === version && hash === state.contentSha256) return;
  throw new Rejected("version_mismatch", "this draft changed: review the new version");
}

async function undo(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const id = context.params.id ?? "";
  const place = { ...queryAfterDecision(context), draft: id };
  const refused = await context.attempt(() => context.ask("POST /v1/drafts/:id/undo", { params: { id } }));
  if (!refused) return seeOther(reviewPath(place), "taken_back");
  const notDone = {
    sentence: `It could not be undone: ${refused.message}.`,
    status: refused.status,
    since: undefined,
  };
  return reviewPage(deps, context, { place, notDone });
}

async function askAgain(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const id = context.params.id ?? "";
  const place = { ...queryAfterDecision(context), draft: id };
  const refused = await context.attempt(() => context.ask("POST /v1/drafts/:id/notify", { params: { id } }));
  if (!refused) return seeOther(reviewPath(place), "asked_again");
  const notDone = { sentence: sentenceOf(refused), status: refused.status, since: undefined };
  return reviewPage(deps, context, { place, notDone });
}

type EditState = {
  written: TypedBodies;
  notDone: { sentence: string; field: string | undefined; isChanged: boolean; status: number };
};

async function editPage(deps: ConsoleDependencies, context: PageContext, state?: EditState): Promise<ConsoleAnswer> {
  requireScope(context.principal, "decide:drafts");
  const { workspaceId } = context.principal;
  const draftId = context.params.id ?? "";
  const since = state?.notDone.isChanged ? versionOf(context) : undefined;
  const downloadOf = (n: number) => `/review/${draftId}/attachments/${n}`;
  const found = isUuid(draftId) ? await signedInView(deps, { workspaceId, draftId, downloadOf, since }) : undefined;
  if (!found) throw noDraft();
  const given = context.form.size > 0 ? context.form : context.query;
  const place = readReviewQuery(given);
  // Decided meanwhile: nothing to edit, and the draft's page shows who decided.
  if (found.view.decided !== null) {
    const notDone = { sentence: "Someone else got there first. See below.", status: 409, since: undefined };
    return reviewPage(deps, context, { place: { ...place, draft: draftId }, ...(state && { notDone }) });
  }
  const main = editMain(context, found.view, { place, next: nextDraftIn(given), ...state });
  return shown({ title: "Edit a draft · Review", main, wide: true, ...(state && { status: state.notDone.status }) });
}

const noDraft = (): Rejected => new Rejected("not_found", "no such draft");

async function edit(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const { form, params, principal } = context;
  const id = params.id ?? "";
  const version = versionOf(context);
  const written = { text: form.get("text") ?? "", html: form.get("html") ?? "" };
  const content = version === undefined ? undefined : await context.attempt(() => requireShown(deps, context, version));
  if (version === undefined) return editPage(deps, context);
  const approves = form.get("act") === "approve";
  const refused =
    content ??
    (await context.attempt(async () => {
      const found = await signedInView(deps, { workspaceId: principal.workspaceId, draftId: id, downloadOf: String });
      if (!found) throw noDraft();
      const call = { params: { id }, ifMatch: version, body: changesOf(written, found.view.content) };
      return context.ask(approves ? "POST /v1/drafts/:id/edit-and-approve" : "PATCH /v1/drafts/:id", call);
    }));
  const place = queryAfterDecision(context);
  if (!refused)
    return seeOther(
      approves ? reviewPath({ ...place, decided: id }) : reviewPath({ ...place, draft: id }),
      approves ? undefined : "saved",
    );
  if (refused.code === "not_found") throw noDraft();
  const isChanged = refused.code === "version_mismatch" || refused.code === "content_changed";
  const sentence = isChanged
    ? "Another member changed this draft while you were editing. Both texts are below. You can edit yours and save it in place of theirs."
    : sentenceOf(refused);
  return editPage(deps, context, {
    written,
    notDone: { sentence, field: refused.field, isChanged, status: refused.status },
  });
}

async function attachment(deps: ConsoleDependencies, { principal, params }: PageContext): Promise<ConsoleAnswer> {
  requireScope(principal, "read:threads");
  const { id = "", n = "" } = params;
  const asked = { workspaceId: principal.workspaceId, draftId: id, n: /^[1-9]\d{0,2}$/.test(n) ? Number(n) : 0 };
  const file = isUuid(id) ? await signedInAttachment(deps, asked) : undefined;
  if (!file) throw new Rejected("not_found", "no such file");
  const headers = {
    ...fileHeaders({ contentType: "application/octet-stream", filename: file.name }),
    "Content-Length": String(file.size),
  };
  return download(reply({ stream: Readable.from(file.parts()), headers }));
}

/** Records that the reader of an open page is viewing the draft, for seconds only. */
async function looking({ drafts, presence }: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  requireScope(context.principal, "read:threads");
  const { workspaceId, user, name } = context.principal;
  const draftId = context.params.id ?? "";
  const { state } = await drafts.load(isUuid(draftId) ? draftId : "");
  if (!state.exists || state.workspaceId !== workspaceId) throw noDraft();
  const others = await presence.note({ workspaceId, draftId }, { userId: user.id, name });
  return shown({ title: "Who is looking", main: viewersPart(context, draftId, others) });
}

async function pause(deps: ConsoleDependencies, context: PageContext, paused: boolean): Promise<ConsoleAnswer> {
  const why = context.form.get("pause_reason")?.trim() || null;
  const back = context.form.get("back") === "/settings/workspace" ? "/settings/workspace" : "/review";
  const body = { sending_paused: paused, ...(paused && { sending_paused_reason: why }) };
  const refused = await context.attempt(() => context.ask("PATCH /v1/workspaces/me", { body }));
  if (!refused) return seeOther(back, paused ? "paused" : "resumed");
  const notDone = { sentence: sentenceOf(refused), status: refused.status, since: undefined };
  return reviewPage(deps, context, { place: {}, notDone });
}
