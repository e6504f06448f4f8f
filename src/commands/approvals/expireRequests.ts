import type { Guard } from "#src/eventStore/eventStore.ts";
import { type Draft, openChangesRequest } from "#streams/draft/draft.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { requestsRunOutAt, wasAskedOnceMore } from "#streams/draft/expiry.ts";
import type { Recorded } from "#streams/event.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { draftEvents } from "../drafts/draftHistories.ts";
import type { Cause } from "../handle.ts";
import { requireNotPaused } from "../installation.ts";
import { isOvertaken } from "../sends/newerMessage.ts";
import { linkExpiry } from "./askApprovers.ts";

/** When the requests about a draft are to be checked again: at a time, or after a pause. Undefined: after the next request, if at all. */
export type NextExpiryCheck = { dueAt: Date } | { paused: Guard } | undefined;

/**
 * If every request about a pending draft's version has run out, has the approvers asked once more; if they were, or the draft's message was
 * overtaken so that an approval would not send it, marks the requests as expired. Does nothing while the secondary channel is still to be
 * asked, while changes are requested, and during a pause. Throws PausedByOperator, Unavailable.
 */
export async function expireRequests(deps: Dependencies, draftId: string, cause: Cause): Promise<NextExpiryCheck> {
  const { state: draft } = await deps.drafts.load(draftId);
  const ranOutAt = draft.status === "pending" ? requestsRunOutAt(draft) : null;
  // The approvers are asked again when the request for changes is withdrawn or answered.
  if (ranOutAt === null || openChangesRequest(draft) !== null) return undefined;
  const now = deps.clock.now();
  const dueAt = new Date(ranOutAt);
  if (dueAt > now) return { dueAt };
  const { state: identity } = await deps.identities.load(draft.identityId);
  if (identity.deleted || escalates(identity, draft)) return undefined;
  await requireNotPaused(deps);
  const { state: workspace, revision } = await deps.workspaces.load(draft.workspaceId);
  if (workspace.sendingPaused) return { paused: { stream: workspaceStream(draft.workspaceId), revision } };
  const history = await draftEvents(deps, draftId);
  const escalationEnds = escalatedAt(history, draft.version) + deps.settings.approvalLinkHours * 3_600_000;
  if (escalationEnds > now.getTime()) return { dueAt: new Date(escalationEnds) };
  const wasRepeated = wasAskedOnceMore(history, draft.version);
  const askAgain = !wasRepeated && !(await isOvertaken(deps, { draftId, draft }, cause));
  const times = { ranOutAt, at: now.toISOString(), until: linkExpiry(deps) };
  await deps.drafts.handle(draftId, { type: "ExpireRequests", ...times, askAgain }, cause);
  return undefined;
}

/** True if the draft's version will go to the identity's secondary channel: the request to it begins the time anew. */
const escalates = (
  { secondaryApprovalChannel: channel, escalationDelayMinutes: delay }: Identity,
  { escalatedVersion, version }: Draft,
): boolean => channel !== null && delay !== null && escalatedVersion < version;

/**
 * Returns the time, in milliseconds since 1970, at which the version went to the secondary channel; NaN if it did not. It counts as a
 * request, because the request itself may not be recorded yet.
 */
const escalatedAt = (history: readonly Recorded<DraftEvent>[], version: number): number =>
  Date.parse(
    history.findLast(({ type, data }) => type === "DraftEscalated" && data.version === version)?.metadata.at ?? "",
  );
