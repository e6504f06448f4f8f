import { Rejected } from "#streams/decider.ts";
import type { ContentOrigin, DraftContent } from "#streams/draft/content.ts";
import type { Draft, DraftStatus } from "#streams/draft/draft.ts";
import type { DirectKind } from "#streams/draft/events.ts";
import type { AuthorApproval } from "#streams/draft/review.ts";
import { staleDraft } from "#streams/draft/staleness.ts";
import type { VersionWarning } from "#streams/draft/warnings.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { MessagePlace } from "#streams/thread/events.ts";
import { countApproval } from "../approvals/countApproval.ts";
import { requireKeysMayDecide, requiresHuman } from "../approvals/humanApproval.ts";
import { requireAssistantActive } from "../assistants.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft, noteDraftOnThread } from "../drafts/changeDraft.ts";
import { contentSha256, storeContent } from "../drafts/draftContents.ts";
import { examineVersion } from "../drafts/examineVersion.ts";
import { signedInApproval } from "../drafts/signedInDecisions.ts";
import type { Cause } from "../handle.ts";
import { derivedId } from "../ids.ts";
import { newerMessageOf } from "../sends/newerMessage.ts";
import { queueSend } from "../sends/queueSend.ts";
import { outcomeOfFirstRun } from "../sends/repeatedSend.ts";
import { requireSenderAllowed } from "../sends/sendChecks.ts";
import type { Loaded } from "../states/foldState.ts";

export type DirectDraft = {
  kind: DirectKind;
  draftId: string;
  workspaceId: string;
  threadId: string;
  identityId: string;
  basedOn: { messageId: string; number: number; receivedAt: string; answers: MessagePlace } | null;
  content: DraftContent;
  making: ContentOrigin;
  metadata: Record<string, unknown> | null;
  machineAddresses?: string[];
};

export type DirectlySent = {
  draftId: string;
  messageId: string;
  threadId: string;
  status: DraftStatus;
  /** When the mail was queued, ISO 8601 UTC; null if it waits for a person. */
  queuedAt: string | null;
  position: number;
  /** Sentences about recipients that a reply to all left out. Absent: none. */
  warnings?: readonly string[];
};

/**
 * Makes the checks that would refuse the send later, before anything is created. Throws Rejected identity_not_active, sending_paused,
 * assistant_disabled; also plan_limit_reached if the caller's approval is enough to send.
 */
export async function requireDirectSend(
  deps: Dependencies,
  { workspaceId, identityId, identity }: { workspaceId: string; identityId: string; identity: Identity },
  cause: Cause,
): Promise<void> {
  // An identity's disabled assistant does not prevent a person from writing.
  if (!isPersons(cause)) await requireAssistantActive(deps, identity);
  const isEnough = isPersons(cause) ? identity.approvalsRequired === 1 : await keyApprovalSuffices(deps, identity);
  const moment = isEnough ? "written to be sent" : "written";
  await requireSenderAllowed(deps, { workspaceId, identityId }, moment);
}

async function warningsOf(deps: Dependencies, draft: DirectDraft): Promise<VersionWarning[]> {
  const { state: identity } = await deps.identities.load(draft.identityId);
  return examineVersion(deps, { ...draft, basedOnMessageId: draft.basedOn?.messageId ?? null, identity });
}

/** True if a signed-in person makes the request. */
const isPersons = ({ actor }: Cause): boolean => actor.kind === "session";

/**
 * Submits a draft that is approved by the call itself, and queues it. If an API key calls, and the identity requires human approval or
 * several approvals, the draft stays pending. A mail by a signed-in person is approved by that person, and sent once they can no longer
 * undo the approval. If the call is refused, the draft is never sent.
 */
export async function sendDirectly(deps: Dependencies, draft: DirectDraft, cause: Cause): Promise<DirectlySent> {
  if (isPersons(cause)) await requireNothingNewer(deps, draft);
  const { draftId, identityId } = draft;
  const warnings = await warningsOf(deps, draft);
  const approval = { draftId: null, identityId, actor: cause.actor };
  const submitted = await countApproval(deps, approval, async (counted) => {
    const { identity, unlessMoved } = counted;
    const given = isPersons(cause)
      ? { authorApproval: signedInApproval(deps, counted, true) }
      : { approvedAtOnce: await keyApprovalSuffices(deps, identity) };
    return { identity, ...(await submit(deps, { draft, warnings, ...given }, { ...cause, unlessMoved })) };
  });
  return proceed(deps, { ...submitted, draftId }, cause);
}

/** Continues an interrupted call with the same Idempotency-Key. Returns undefined if that call created no draft. */
export async function resumeSend(deps: Dependencies, draftId: string, cause: Cause): Promise<DirectlySent | undefined> {
  if (!cause.repeated) return undefined;
  const loaded = await deps.drafts.load(draftId);
  if (!loaded.state.exists) return undefined;
  const { state: identity } = await deps.identities.load(loaded.state.identityId);
  return proceed(deps, { ...loaded, draftId, identity }, cause);
}

/**
 * Rejects a person's mail at once if the customer wrote since, while the person still has the text in the form. Throws Rejected
 * stale_draft.
 */
async function requireNothingNewer(deps: Dependencies, { identityId, threadId, basedOn }: DirectDraft): Promise<void> {
  if (basedOn === null) return;
  const newMessageId = await newerMessageOf(deps, { identityId, threadId, basedOnNumber: basedOn.number });
  if (newMessageId !== null) throw staleDraft(newMessageId);
}

/** Returns true if the key's approval is enough to send. Otherwise the mail waits for its approvers. */
const keyApprovalSuffices = async (deps: Dependencies, identity: Identity): Promise<boolean> =>
  identity.approvalsRequired === 1 && !(await requiresHuman(deps, identity));

async function proceed(
  deps: Dependencies,
  { draftId, identity, state, revision, position }: Loaded<Draft> & { draftId: string; identity: Identity },
  cause: Cause,
): Promise<DirectlySent> {
  const { status, messageId, threadId } = state;
  const sent = { draftId, messageId, threadId, status, queuedAt: null, position };
  if (status === "sending" || status === "sent") {
    const first = await outcomeOfFirstRun(deps, { draftId }, cause);
    return { ...sent, queuedAt: first?.queuedAt ?? null };
  }
  const tell = () => noteDraftOnThread(deps, { draftId, state, revision, position }, cause);
  if (isPersons(cause)) return { ...sent, ...(await tell()) };
  if (status === "pending" && !(await keyApprovalSuffices(deps, identity))) return { ...sent, ...(await tell()) };
  return withdrawnUnlessDone(deps, { draftId, cause }, async () => {
    if (status === "pending" || status === "approved") await tell();
    // Human approval may have become required since the key's approval was recorded.
    await requireKeysMayDecide(deps, state);
    return { ...sent, ...(await queue(deps, draftId, cause)), status: "sending" };
  });
}

async function submit(
  deps: Dependencies,
  {
    draft,
    warnings,
    approvedAtOnce = false,
    authorApproval,
  }: { draft: DirectDraft; warnings: VersionWarning[]; approvedAtOnce?: boolean; authorApproval?: AuthorApproval },
  cause: Cause,
) {
  const { kind, draftId, workspaceId, threadId, identityId, basedOn, content, making, metadata, machineAddresses } =
    draft;
  const data = {
    ...(await storeContent(deps.blobs, content)),
    ...making,
    workspaceId,
    threadId,
    identityId,
    basedOnMessageId: basedOn?.messageId ?? null,
    basedOnNumber: basedOn?.number ?? 0,
    ...(basedOn && { basedOnReceivedAt: basedOn.receivedAt }),
    answers: basedOn?.answers ?? null,
    messageId: derivedId("message", draftId),
    contentSha256: contentSha256(content),
    rationale: null,
    metadata,
    staleWarning: false,
    autoApproved: false,
    kind,
    ...(approvedAtOnce && { approvedAtOnce }),
    ...(machineAddresses && { machineAddresses }),
    warnings,
  };
  return deps.drafts.handle(
    draftId,
    { type: "SubmitDraft", draft: data, ...(authorApproval && { authorApproval }) },
    cause,
  );
}

/**
 * Queues the draft. If the identity is edited at this moment, the service makes a new version; the key's approval covers that version too,
 * because the key wrote the text itself.
 */
async function queue(deps: Dependencies, draftId: string, cause: Cause) {
  const asked = { draftId, kind: "api_key", intent: { wroteIt: true } } as const;
  const { threadId, position, queuedAt } = await queueSend(deps, asked, cause);
  return { threadId, position, queuedAt };
}

/** Withdraws the draft if `work` is refused, or if it fails and the caller gave no Idempotency-Key with which to repeat the call. */
async function withdrawnUnlessDone<T>(
  deps: Dependencies,
  { draftId, cause }: { draftId: string; cause: Cause },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Rejected || cause.operation === undefined) await withdraw(deps, { draftId, error }, cause);
    throw error;
  }
}

/** Withdraws the draft of a refused call, so that it is never sent later. A draft that is already stale stays stale. */
async function withdraw(
  deps: Dependencies,
  { draftId, error }: { draftId: string; error: unknown },
  cause: Cause,
): Promise<void> {
  const [code, message] =
    error instanceof Rejected ? [error.code, error.message] : ["unavailable", "the mail could not be queued"];
  const withdrawn = { type: "WithdrawDraft", code, message } as const;
  // If the API key was revoked meanwhile, its draft is withdrawn nevertheless, so this append has no guard on the key.
  const { keyGuard: _, ...unguarded } = cause;
  await changeDraft(deps, { draftId, command: withdrawn }, unguarded);
}
