import { Rejected } from "#streams/decider.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import { type Draft, type DraftStatus, requireStatus } from "#streams/draft/draft.ts";
import { type DirectKind, draftStream } from "#streams/draft/events.ts";
import type { ReviewCommand } from "#streams/draft/review.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { requireAssistantActive } from "./assistants.ts";
import { contentSha256, storeContent } from "./contents.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";
import { derivedId } from "./ids.ts";
import { requireQuotaLeft } from "./quotas.ts";
import { requireKeysMayDecide, requireSendingAllowed } from "./sendingAllowed.ts";
import { queueSend } from "./sends.ts";
import { loadThread, noteDraft } from "./threads.ts";

export type DirectDraft = {
  kind: DirectKind;
  draftId: string;
  workspaceId: string;
  threadId: string;
  identityId: string;
  basedOn: { messageId: string; number: number } | null;
  content: DraftContent;
  metadata: Record<string, unknown> | null;
  machineAddresses?: string[];
};

export type DirectlySent = {
  draftId: string;
  messageId: string;
  threadId: string;
  status: DraftStatus;
  /** ISO 8601 UTC; null where it waits for a person. */
  queuedAt: string | null;
  position: number;
};

/**
 * What would refuse the send anyway, before anything is created. Throws Rejected identity_not_active, sending_paused, assistant_disabled,
 * and plan_limit_reached where a key's word is enough to send.
 */
export async function requireDirectSend(
  deps: Dependencies,
  { workspaceId, identityId, identity }: { workspaceId: string; identityId: string; identity: Identity },
): Promise<void> {
  await requireSendingAllowed(deps, { workspaceId, identityId });
  await requireAssistantActive(deps, identity);
  if (!identity.requireHumanApproval) await requireQuotaLeft(deps, workspaceId);
}

/**
 * Submits a draft that the calling key approves by the same act, and queues it; where the identity requires a person, it stays pending
 * (decisions 6). A refusal leaves a draft that never leaves.
 */
export async function sendDirectly(
  deps: Dependencies,
  draft: DirectDraft,
  identity: Identity,
  cause: Cause,
): Promise<DirectlySent> {
  const submitted = await submit(deps, draft, !identity.requireHumanApproval, cause);
  return proceed(deps, draft.draftId, submitted, cause);
}

/** Goes on where an earlier call under the same Idempotency-Key was cut off; undefined where it made no such draft. */
export async function resumeSend(deps: Dependencies, draftId: string, cause: Cause): Promise<DirectlySent | undefined> {
  if (!cause.repeated) return undefined;
  const loaded = await deps.load(draftDecider, draftStream(draftId));
  return loaded.state.exists ? proceed(deps, draftId, loaded, cause) : undefined;
}

type Standing = { state: Draft; revision: number; position: number };

async function proceed(
  deps: Dependencies,
  draftId: string,
  { state, revision, position }: Standing,
  cause: Cause,
): Promise<DirectlySent> {
  const { status, messageId, threadId } = state;
  const sent = { draftId, messageId, threadId, status, queuedAt: null, position };
  if (status === "pending" || status === "approved") {
    const noted = await noteDraft(deps, { threadId, draftId, outcome: status, draftRevision: revision }, cause);
    if (status === "pending") return { ...sent, threadId: noted.threadId, position: noted.position };
  }
  const queuedAt = deps.clock.now().toISOString();
  if (status === "sending" || status === "sent") return { ...sent, queuedAt };
  if (status === "stale") throw await staleAgain(deps, threadId);
  requireStatus(state, "sent", "approved");
  const queued = await queue(deps, draftId, cause);
  return { ...sent, threadId: queued.threadId, position: queued.position, status: "sending", queuedAt };
}

async function submit(deps: Dependencies, draft: DirectDraft, approvedAtOnce: boolean, cause: Cause) {
  const { kind, draftId, workspaceId, threadId, identityId, basedOn, content, metadata, machineAddresses } = draft;
  const data = {
    ...(await storeContent(deps.blobs, content)),
    workspaceId,
    threadId,
    identityId,
    basedOnMessageId: basedOn?.messageId ?? null,
    basedOnNumber: basedOn?.number ?? 0,
    messageId: derivedId("message", draftId),
    contentSha256: contentSha256(content),
    rationale: null,
    metadata,
    staleWarning: false,
    autoApproved: false,
    kind,
    ...(approvedAtOnce && { approvedAtOnce }),
    ...(machineAddresses && { machineAddresses }),
  };
  return deps.handle(draftDecider, draftStream(draftId), { type: "SubmitDraft", draft: data }, cause);
}

const maxChanges = 3;

/** An identity edited this very moment makes a new version: the key's word, given for what it wrote, holds for that too. */
async function queue(
  deps: Dependencies,
  draftId: string,
  cause: Cause,
): Promise<{ threadId: string; position: number }> {
  try {
    for (let changes = 0; ; changes++) {
      try {
        // How a first run ended says nothing of a version that is newer.
        return await queueSend(deps, draftId, "api_key", changes === 0 ? cause : { ...cause, repeated: false });
      } catch (error) {
        const changed = error instanceof Rejected && error.code === "content_changed";
        if (!changed || changes >= maxChanges) throw error;
        await approveAgain(deps, draftId, cause);
      }
    }
  } catch (error) {
    // Who gets no answer may repeat the call under its Idempotency-Key; without one nobody will.
    if (error instanceof Rejected || cause.operation === undefined) await withdraw(deps, draftId, error, cause);
    throw error;
  }
}

async function approveAgain(deps: Dependencies, draftId: string, cause: Cause): Promise<void> {
  const { state } = await deps.load(draftDecider, draftStream(draftId));
  if (state.status !== "pending") return;
  await requireKeysMayDecide(deps, state);
  const command: ReviewCommand = {
    type: "ApproveDraft",
    ifVersion: state.version,
    contentSha256: state.contentSha256,
    sendRequested: false,
    tokenSha256: null,
  };
  await deps.handle(draftDecider, draftStream(draftId), command, cause);
}

/** Nothing of a refused call may leave later. One that ended stale already stays so. */
async function withdraw(deps: Dependencies, draftId: string, error: unknown, cause: Cause): Promise<void> {
  const [code, message] =
    error instanceof Rejected ? [error.code, error.message] : ["unavailable", "it could not be queued"];
  const withdrawn = { type: "WithdrawDraft", code, message } as const;
  // The key may have been revoked meanwhile: that must not keep its mail from being withdrawn.
  const { keyGuard: _, ...unguarded } = cause;
  const handled = await deps.handle(draftDecider, draftStream(draftId), withdrawn, unguarded);
  if (!handled.changed) return;
  const { threadId } = handled.state as Draft;
  const note = { threadId, draftId, outcome: "failed", draftRevision: handled.revision } as const;
  await noteDraft(deps, note, unguarded);
}

async function staleAgain(deps: Dependencies, threadId: string): Promise<Rejected> {
  const { state } = await loadThread(deps, threadId);
  return new Rejected("stale_draft", "a newer message arrived on this thread: read it and answer that", {
    new_message_id: state.newestWord?.messageId,
  });
}
