import { Rejected } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { Cause } from "../handle.ts";
import { quotaStreamOf } from "../plans/quotas.ts";
import type { Loader } from "../states/loader.ts";
import { commandThread } from "../threads/threads.ts";
import { barrierWaitMs, inboxEnd, waitUntilFiled } from "./barrier.ts";
import { endStale, newerMessageIn } from "./sendChecks.ts";

/** Data of a claimed send whose draft is not queued yet: enough to undo the claim. */
export type SendAttempt = { attemptId: string; quotaStream: string; reservationId: string; threadId: string };

type ClaimInput = {
  draftId: string;
  draft: Draft;
  replaces: string | null;
  /** Revision of the inbox up to which mail was judged. */
  filedUpTo: number;
  byKey?: boolean;
  /** Answers that the approvers knew of; absent if answers are not checked. */
  knows?: readonly string[];
};

/**
 * Claims the send on the thread, whose stream refuses the claim if the customer wrote since. All mail that was acknowledged before the
 * claim is judged.
 */
export async function claimSend(
  loader: Loader,
  { draftId, draft, replaces, filedUpTo, byKey = false, knows }: ClaimInput,
  cause: Cause,
): Promise<SendAttempt> {
  const deps = loader.appending();
  const attemptId = deps.ids.uuid();
  const quota = draft.reservation ?? {
    quotaStream: await quotaStreamOf(loader, draft.workspaceId),
    reservationId: attemptId,
  };
  const { version, contentSha256, machineAddresses, basedOnNumber, identityId } = draft;
  const claimed = {
    draftId,
    version,
    contentSha256,
    attemptId,
    quotaStream: quota.quotaStream,
    ...(machineAddresses.length > 0 && { machineAddresses: [...machineAddresses] }),
  };
  const command = { type: "ClaimSend", claim: claimed, basedOnNumber, replaces, ...(knows && { knows }) } as const;
  let threadId: string | undefined;
  try {
    threadId = (await commandThread(deps, { threadId: draft.threadId, command }, cause)).threadId;
    // Mail that was acknowledged after the check of the inbox precedes the claim in the log. The claim is repeated so that this mail is
    // judged too.
    if ((await inboxEnd(loader, identityId)) !== filedUpTo) {
      await waitUntilFiled(loader, identityId, barrierWaitMs(loader, byKey));
      threadId = (await commandThread(deps, { threadId, command }, cause)).threadId;
    }
    return { attemptId, threadId, ...quota };
  } catch (error) {
    if (error instanceof Rejected && error.code === "stale_draft") {
      await endStale(loader, { draftId, draft, newMessageId: newerMessageIn({ refusal: error }) }, cause);
      const release = { type: "ReleaseClaim", draftId, attemptId, because: "stale" } as const;
      if (threadId) await commandThread(deps, { threadId, command: release }, cause);
    }
    throw error;
  }
}
