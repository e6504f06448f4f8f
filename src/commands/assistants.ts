import { identityOfAssistant } from "#projections/identities/queries.ts";
import { ruleOfAssistant } from "#projections/rules/queries.ts";
import type { Assistant } from "#streams/assistant/decider.ts";
import type { AssistantSettings } from "#streams/assistant/events.ts";
import { notFound, Rejected } from "#streams/decider.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";
import { newId } from "./ids.ts";
import { requireProjected } from "./readModels.ts";

type AssistantRef = { workspaceId: string; assistantId: string };

export async function createAssistant(
  deps: Dependencies,
  assistant: AssistantSettings & { workspaceId: string },
  cause: Cause,
): Promise<{ assistantId: string; position: number }> {
  const assistantId = newId(deps, cause, "assistant");
  const command = { type: "CreateAssistant", assistant } as const;
  const { position } = await deps.assistants.handle(assistantId, command, cause);
  return { assistantId, position };
}

/** Changes the given settings and keeps the rest. Throws Rejected not_found. */
export async function updateAssistant(
  deps: Dependencies,
  { workspaceId, assistantId, changes }: AssistantRef & { changes: Partial<AssistantSettings> },
  cause: Cause,
): Promise<{ position: number }> {
  await loadAssistant(deps, { workspaceId, assistantId });
  return deps.assistants.handle(assistantId, { type: "UpdateAssistant", changes }, cause);
}

/**
 * Deletes an assistant. Throws Rejected not_found if it does not exist, and invalid_request (409) if an identity or a rule refers to it.
 */
export async function deleteAssistant(
  deps: Dependencies,
  { workspaceId, assistantId }: AssistantRef,
  cause: Cause,
): Promise<{ position: number }> {
  await loadAssistant(deps, { workspaceId, assistantId });
  await requireProjected(deps, await deps.store.head(), ["identities", "rules"]);
  const identityId = await identityOfAssistant(deps.reads, workspaceId, assistantId);
  if (identityId !== undefined) throw inUse(`identity ${identityId} uses`);
  const ruleId = await ruleOfAssistant(deps.reads, workspaceId, assistantId);
  if (ruleId !== undefined) throw inUse(`rule ${ruleId} is limited to`);
  return deps.assistants.handle(assistantId, { type: "DeleteAssistant" }, cause);
}

const inUse = (user: string): Rejected =>
  new Rejected("invalid_request", `${user} this assistant: change its assistant_id or delete it first`, {
    conflict: true,
  });

/** Checks an assistant's id from a request body. Throws Rejected not_found, naming the field, if the workspace has no such assistant. */
export async function requireAssistant(
  deps: Pick<Dependencies, "assistants">,
  workspaceId: string,
  assistantId: string | null | undefined,
): Promise<void> {
  if (!assistantId) return;
  await loadAssistant(deps, { workspaceId, assistantId }).catch((error) => {
    if (!(error instanceof Rejected)) throw error;
    throw notFound("assistant_id", "assistant");
  });
}

/**
 * Throws Rejected assistant_disabled if the identity's assistant is disabled. A disabled assistant writes nothing new; people may still
 * decide about its earlier drafts.
 */
export async function requireAssistantActive(
  deps: Pick<Dependencies, "assistants">,
  { assistantId }: { assistantId: string | null },
): Promise<void> {
  if (assistantId === null) return;
  const { state } = await deps.assistants.load(assistantId);
  if (state.status === "active") return;
  throw new Rejected(
    "assistant_disabled",
    "this identity's assistant is disabled: set the assistant's status to active",
  );
}

async function loadAssistant(
  deps: Pick<Dependencies, "assistants">,
  { workspaceId, assistantId }: AssistantRef,
): Promise<Assistant> {
  const { state } = await deps.assistants.load(assistantId);
  if (state.exists && !state.deleted && state.workspaceId === workspaceId) return state;
  throw new Rejected("not_found", "no such assistant");
}
