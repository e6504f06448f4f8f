import { draftById, draftIdById, type ReadDraft } from "#projections/drafts/queries.ts";
import { threadById } from "#projections/threads/queries.ts";
import type { DraftChanges } from "#src/commands/drafts/drafts.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { presentDraft, type WireDraft } from "../present/drafts.ts";

/** A draft by the path's id, before query and body are looked at. */
export const loadDraft =
  (deps: HttpDependencies) =>
  ({ workspaceId, params }: { workspaceId: string; params: { id: string } }): Promise<ReadDraft | undefined> =>
    draftById(deps.reads, workspaceId, params.id);

/** That there is one, for who asks nothing else of it before it is decided about. */
export const loadDraftId =
  (deps: HttpDependencies) =>
  ({ workspaceId, params }: { workspaceId: string; params: { id: string } }): Promise<{ id: string } | undefined> =>
    draftIdById(deps.reads, workspaceId, params.id);

/** A draft as a write left it. */
export async function draftAfter(
  deps: HttpDependencies,
  workspaceId: string,
  { draftId, position }: { draftId: string; position: number },
): Promise<WireDraft> {
  await deps.readAfter(position, draftId);
  const row = await draftById(deps.reads, workspaceId, draftId);
  if (!row) throw new Error(`draft ${draftId} was recorded, but the read model has no row for it`);
  return presentDraft(deps.blobs, row);
}

export const noVersion = (field: string, version: number): Rejected =>
  new Rejected("not_found", `${field}: this draft has no version ${version}`, { field });

export const etagOfDraft = (draft: WireDraft): number => draft.version;

/** These refusals may themselves be recorded on the draft: a stale one ended, a changed one has a new version. */
const recordedRefusals = ["stale_draft", "content_changed", "version_mismatch"];

/** After a refusal, the caller can read the draft and the message that came in between, as the refusal says. */
export async function shownOnRefusal<T>(deps: HttpDependencies, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Rejected && recordedRefusals.includes(error.code)) {
      await deps.projected(await deps.store.head(), { of: ["drafts", "messages"] });
    }
    throw error;
  }
}

type EditBody = {
  body_text?: string | null;
  body_html?: string | null;
  subject_override?: string | null;
  cc?: string[];
  bcc?: string[];
  rationale?: string | null;
};

/** What both ways of editing a draft make of a request: by a key, and by who approves it at once. */
export async function editOf(
  deps: HttpDependencies,
  {
    workspaceId,
    loaded,
    body,
    ifMatch,
  }: { workspaceId: string; loaded: ReadDraft; body: EditBody; ifMatch: number | undefined },
) {
  const thread = await threadById(deps.reads, workspaceId, loaded.thread_id);
  return {
    workspaceId,
    draftId: loaded.id,
    ifVersion: ifMatch ?? null,
    changes: changesOf(body),
    threadSubject: thread?.subject ?? "",
  };
}

/** What an edit asks for; what is absent stays. */
function changesOf(body: EditBody): DraftChanges {
  const { body_text: bodyText, body_html: bodyHtml, subject_override: subject, cc, bcc, rationale } = body;
  return { bodyText, bodyHtml, subject, cc, bcc, rationale };
}
