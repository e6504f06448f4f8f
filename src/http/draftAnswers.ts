import { draftById, type ReadDraft } from "#projections/drafts/queries.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { presentDraft, type WireDraft } from "./present/drafts.ts";

/** A draft by the path's id, before query and body are looked at. */
export const loadDraft =
  (deps: HttpDependencies) =>
  ({ workspaceId, params }: { workspaceId: string; params: { id: string } }): Promise<ReadDraft | undefined> =>
    draftById(deps.reads, workspaceId, params.id);

/** A draft as a write left it. */
export async function draftAfter(
  deps: HttpDependencies,
  workspaceId: string,
  draftId: string,
  position: number,
): Promise<WireDraft> {
  await deps.readAfter(position, draftId);
  const row = await draftById(deps.reads, workspaceId, draftId);
  if (!row) throw new Error(`draft ${draftId} was recorded, but the read model has no row of it`);
  return presentDraft(deps.blobs, row);
}

export const etagOfDraft = (draft: WireDraft): number => draft.version;
