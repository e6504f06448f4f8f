import type { CardedView, FetchedFile } from "#src/channels/approvalDecisions.ts";
import type { PreviousVersion } from "#src/channels/approvalView.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import { shownPictures } from "../drafts/shownPictures.ts";
import { requireProjected } from "../readModels.ts";
import { approvalView } from "./approvalViews.ts";
import { withCard } from "./cards.ts";
import { earlierVersion } from "./draftVersions.ts";
import { readBlobInParts } from "./readBlobInParts.ts";

/** A draft's newest version as shown to a signed-in person: like the page of an approval link, but without an expiry. */
export type SignedInView = { view: CardedView; draft: Draft };

type PersonsViewQuery = {
  workspaceId: string;
  draftId: string;
  /** Returns the URL of the draft's n-th file, from 1. */
  downloadOf: (n: number) => string;
  /** Version that the person saw before; the view shows the changes since that version. */
  since?: number | undefined;
};

/** Returns undefined if the workspace has no such draft. Throws Unavailable rather than show outdated data. */
export async function signedInView(deps: Dependencies, asked: PersonsViewQuery): Promise<SignedInView | undefined> {
  const { workspaceId, draftId, downloadOf, since } = asked;
  const { state: draft, position } = await deps.drafts.load(draftId);
  if (!draft.exists || draft.workspaceId !== workspaceId) return undefined;
  await requireProjected(deps, position, ["drafts", "messages", "threads"]);
  const { version } = draft;
  const view = await approvalView(deps, { draftId, draft, version, expiresAt: neverIso });
  const pictures = await shownPictures(deps, view.content);
  const attachments = view.attachments.map((file, index) => ({
    ...file,
    download: file.size === null ? null : downloadOf(index + 1),
  }));
  const previous = since === undefined || since >= version ? view.previous : await versionShown(deps, draftId, since);
  return { view: await withCard(deps, workspaceId, { ...view, pictures, attachments, previous }), draft };
}

const neverIso = "9999-12-31T00:00:00.000Z";

async function versionShown(deps: Dependencies, draftId: string, version: number): Promise<PreviousVersion | null> {
  const { stored, making, rationale } = await earlierVersion(deps.store, draftId, version);
  // If the earlier content is no longer stored, show the newest version without a comparison rather than failing.
  if (stored.content === null && (await deps.blobs.size(stored.contentBlob ?? "")) === undefined) return null;
  const content = await loadContent(deps.blobs, stored);
  return { version, content, textDerived: making.textDerived === true, rationale, because: [] };
}

/** Returns the n-th file of a draft's newest version, from 1; undefined if there is none. */
export async function signedInAttachment(
  deps: Dependencies,
  { workspaceId, draftId, n }: { workspaceId: string; draftId: string; n: number },
): Promise<FetchedFile | undefined> {
  const { state: draft } = await deps.drafts.load(draftId);
  if (!draft.exists || draft.workspaceId !== workspaceId) return undefined;
  const { attachments } = await loadContent(deps.blobs, draft.stored);
  const file = attachments[n - 1];
  const size = file && (await deps.blobs.size(file.sha256));
  if (file === undefined || size === undefined) return undefined;
  return { name: file.filename, size, parts: () => readBlobInParts(deps.blobs, { sha256: file.sha256, size }) };
}
