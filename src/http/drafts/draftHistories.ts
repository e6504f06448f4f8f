import { listVersions } from "#projections/drafts/queries.ts";
import { draftHistory, versionContent } from "#src/commands/drafts/draftHistories.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { historyTypes } from "../docs/historyTypes.ts";
import { listRoute } from "../framework/lists.ts";
import { route } from "../framework/route.ts";
import { presentVersion } from "../present/drafts.ts";
import { presentHistoryEntry } from "../present/histories.ts";
import { ContentQuery, DraftContent } from "../schemas/draftContents.ts";
import { VersionQuery } from "../schemas/drafts.ts";
import { DiffQuery, DraftDiff, DraftVersionList, HistoryList, HistoryQuery } from "../schemas/histories.ts";
import { loadDraft, noVersion } from "./draftAnswers.ts";

/** Routes for a draft's versions and events. */
export const draftHistoryRoutes = (deps: HttpDependencies) => [
  listRoute(
    "GET /v1/drafts/:id/versions",
    {
      scope: "read:threads",
      limit: "read",
      summary: "List the earlier versions that edits replaced",
      description: "Oldest first. The current state is the draft itself.",
      query: VersionQuery,
      answers: DraftVersionList,
      cursors: deps.cursors,
      load: loadDraft(deps),
    },
    async ({ workspaceId, params, query }) => {
      const versions = await listVersions(deps.reads, workspaceId, { draftId: params.id, ...query });
      const data = await Promise.all(versions.data.map((version) => presentVersion(deps.blobs, version)));
      return { ...versions, data };
    },
  ),
  route(
    "GET /v1/drafts/:id/content",
    {
      scope: "read:threads",
      limit: "read",
      summary: "Read exactly the mail to be sent",
      description:
        "The object whose RFC 8785 canonical JSON hashes (SHA-256) to content_sha256; of the current version by default.",
      query: ContentQuery,
      answers: DraftContent,
      load: loadDraft(deps),
    },
    async ({ params, loaded, query }) =>
      (await requireVersion(deps, params.id, { field: "version", version: query.version ?? loaded.version })).content,
  ),
  listRoute(
    "GET /v1/drafts/:id/history",
    {
      scope: "read:audit",
      limit: "read",
      summary: "List every event of a draft",
      description: `Oldest first, including the claims to send it and the outcomes of its deliveries. Types: ${Object.keys(historyTypes).join(", ")}.`,
      query: HistoryQuery,
      answers: HistoryList,
      cursors: deps.cursors,
      load: loadDraft(deps),
    },
    async ({ params, query: { limit, offset, after } }) => {
      const history = await draftHistory(deps, params.id);
      const begin = after ? history.findIndex(({ position }) => position > Number(after[0])) : offset;
      const rest = begin === -1 ? [] : history.slice(begin);
      const shown = rest.slice(0, limit);
      const data = await Promise.all(shown.map((event) => presentHistoryEntry(deps.blobs, event)));
      const next = rest.length > limit ? [shown.at(-1)!.position] : null;
      return { data, total: history.length, limit, offset, next };
    },
  ),
  route(
    "GET /v1/drafts/:id/diff",
    {
      scope: "read:audit",
      limit: "read",
      summary: "Compare two versions of a draft",
      description:
        "Field by field, texts also line by line. The answer has at most 2,000 lines and 256 KB: beyond that `truncated` is true, a field that does not fit has null for its values and only its first lines, and `versions` has the paths of both complete contents.",
      query: DiffQuery,
      answers: DraftDiff,
      load: loadDraft(deps),
    },
    async ({ workspaceId, params: { id }, query: { from, to } }) => {
      const before = await requireVersion(deps, id, { field: "from", version: from });
      const after = await requireVersion(deps, id, { field: "to", version: to });
      const comparison = await deps.costlyWork("compareVersions", { from: before, to: after }, workspaceId);
      const pathOf = (version: number): string => `/v1/drafts/${id}/content?version=${version}`;
      return { draft_id: id, from, to, versions: { from: pathOf(from), to: pathOf(to) }, ...comparison };
    },
  ),
];

/** `field`: name of the query parameter with the version. */
async function requireVersion(
  deps: HttpDependencies,
  draftId: string,
  { field, version }: { field: string; version: number },
) {
  const found = await versionContent(deps, draftId, version);
  if (!found) throw noVersion(field, version);
  return found;
}
