import { draftById, draftIdById, type ReadDraft } from "#projections/drafts/queries.ts";
import { threadById } from "#projections/threads/queries.ts";
import type { DraftChanges } from "#src/commands/drafts/drafts.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { presentDraft, type WireDraft } from "../present/drafts.ts";

/** Loads the draft in the path, before query and body are checked. */
export const loadDraft =
  (deps: HttpDependencies) =>
  ({ workspaceId, params }: { workspaceId: string; params: { id: string } }): Promise<ReadDraft | undefined> =>
    draftById(deps.reads, workspaceId, params.id);

/** Checks that the draft in the path exists, without reading its content. */
export const loadDraftId =
  (deps: HttpDependencies) =>
  ({ workspaceId, params }: { workspaceId: string; params: { id: string } }): Promise<{ id: string } | undefined> =>
    draftIdById(deps.reads, workspaceId, params.id);

/** A draft after a write. */
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

/**
 * Error codes after which the caller needs newer read models: stale_draft ends the draft; the other two mean that the draft has a new
 * version.
 */
const recordedRefusals = ["stale_draft", "content_changed", "version_mismatch"];

/** Waits after a refusal until the caller can read the draft and the newer message that the refusal names. */
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

/** Reads an edit request, for both routes that edit a draft: by a key, and by an approver who approves it at once. */
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

/** The changes of an edit; absent fields stay. */
function changesOf(body: EditBody): DraftChanges {
  const { body_text: bodyText, body_html: bodyHtml, subject_override: subject, cc, bcc, rationale } = body;
  return { bodyText, bodyHtml, subject, cc, bcc, rationale };
}
