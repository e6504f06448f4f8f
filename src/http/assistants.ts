import { assistantById, listAssistants } from "#projections/assistants/queries.ts";
import { createAssistant, deleteAssistant, updateAssistant } from "#src/commands/assistants.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { listRoute } from "./framework/lists.ts";
import { route } from "./framework/route.ts";
import { Assistant, AssistantList, AssistantQuery, CreateAssistant, UpdateAssistant } from "./schemas/assistants.ts";
import { Deleted } from "./schemas/common.ts";

export function assistantRoutes(deps: HttpDependencies) {
  const load = ({ workspaceId, params }: { workspaceId: string; params: { id: string } }) =>
    assistantById(deps.reads, workspaceId, params.id);

  async function shownAfter(position: number, workspaceId: string, id: string) {
    await deps.readAfter(position, id);
    return assistantById(deps.reads, workspaceId, id);
  }

  return [
    route(
      "POST /v1/assistants",
      {
        scope: "write:assistants",
        limit: "write",
        summary: "Create an assistant: an agent that identities and rules can be linked to",
        body: CreateAssistant,
        answers: Assistant,
      },
      async ({ workspaceId, body, cause }) => {
        const { name, description = null, status } = body;
        const assistant = { workspaceId, name, description, status };
        const { assistantId, position } = await createAssistant(deps, assistant, cause);
        return shownAfter(position, workspaceId, assistantId);
      },
    ),
    listRoute(
      "GET /v1/assistants",
      {
        scope: "read:assistants",
        limit: "read",
        summary: "List assistants, newest first",
        query: AssistantQuery,
        answers: AssistantList,
        cursors: deps.cursors,
      },
      ({ workspaceId, query }) => listAssistants(deps.reads, workspaceId, query),
    ),
    route(
      "GET /v1/assistants/:id",
      { scope: "read:assistants", limit: "read", summary: "Read an assistant", answers: Assistant, load },
      async ({ loaded }) => loaded,
    ),
    route(
      "PATCH /v1/assistants/:id",
      {
        scope: "write:assistants",
        limit: "write",
        summary: "Change an assistant",
        description:
          "Only the given fields change. While an assistant is disabled, its identities accept no new drafts or sends (422 assistant_disabled).",
        body: UpdateAssistant,
        answers: Assistant,
        load,
      },
      async ({ workspaceId, params, body, cause }) => {
        const update = { workspaceId, assistantId: params.id, changes: body };
        const { position } = await updateAssistant(deps, update, cause);
        return shownAfter(position, workspaceId, params.id);
      },
    ),
    route(
      "DELETE /v1/assistants/:id",
      {
        scope: "write:assistants",
        limit: "write",
        summary: "Delete an assistant",
        description:
          "An assistant can be deleted only when no identity and no rule refers to it. The error names one that does.",
        answers: Deleted,
        conflict: "an identity or a rule refers to it",
        load,
      },
      async ({ workspaceId, params, cause }) => {
        const { position } = await deleteAssistant(deps, { workspaceId, assistantId: params.id }, cause);
        await deps.readAfter(position, params.id);
        return { id: params.id, deleted: true };
      },
    ),
  ];
}
