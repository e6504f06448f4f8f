import { draftsOfListAttempt } from "#projections/drafts/queries.ts";
import { type MailOrigin, noThread } from "#src/mail/out/messageIds.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { entriesOf } from "#streams/idMap.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { loadThread } from "../threads/threads.ts";
import { digitsOfList, listedIn } from "./bundleTokens.ts";

type Undelivered = { origin: MailOrigin; evidence: string };

/**
 * Records that an approval mail bounced, so its request reached no approver. The request is found by the mail's Message-ID among the
 * thread's open drafts, because only a draft that is or may become pending still needs an approver. `evidence`: describes the source.
 */
export async function recordBouncedRequest(
  deps: Dependencies,
  { origin, evidence }: Undelivered,
  cause: Cause,
): Promise<void> {
  const { attemptId: notificationId, threadId } = origin;
  if (threadId === noThread) return recordListUndelivered(deps, { origin, evidence }, cause);
  const { state: thread } = await loadThread(deps, threadId);
  for (const [draftId] of entriesOf(thread.drafts)) {
    const { state: draft } = await deps.drafts.load(draftId);
    if (!mayNeedAnswer(draft, draft.notified.open[notificationId])) continue;
    await recordOne(deps, { draftId, draft, notificationId, evidence }, cause);
  }
}

/** Records that a bundle mail bounced, on each of its drafts. */
async function recordListUndelivered(
  deps: Dependencies,
  { origin, evidence }: Undelivered,
  cause: Cause,
): Promise<void> {
  const { workspaceId } = (await deps.identities.load(origin.identityId)).state;
  const listed = await draftsOfListAttempt(deps.reads, workspaceId, digitsOfList(origin.attemptId));
  for (const { draft_id: draftId, list_sha256 } of listed) {
    const { state: draft } = await deps.drafts.load(draftId);
    const asked = listedIn(draft, list_sha256);
    if (!asked || !mayNeedAnswer(draft, asked)) continue;
    await recordOne(deps, { draftId, draft, notificationId: asked.notificationId, evidence }, cause);
  }
}

/**
 * Returns true if the draft still needs an answer to this request. An approved draft does too: its approval can be undone, and then a
 * bounced request must not count as delivered.
 */
const mayNeedAnswer = ({ status, version }: Draft, asked: ApprovalRequest | undefined): boolean =>
  (status === "pending" || status === "approved") && asked?.version === version;

type BouncedRequest = { draftId: string; draft: Draft; notificationId: string; evidence: string };

async function recordOne(
  deps: Dependencies,
  { draftId, draft, notificationId, evidence }: BouncedRequest,
  cause: Cause,
): Promise<void> {
  const error = `the approval mail came back as undeliverable: ${evidence}`;
  const failed = { type: "RecordNotificationFailed", notificationId, error, final: true } as const;
  await deps.drafts.handle(draftId, failed, { ...cause, workspaceId: draft.workspaceId });
}
