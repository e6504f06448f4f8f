import { invalidRequest, Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { newId } from "../ids.ts";
import { returnNoticeQuota, takeNoticeQuota } from "../serviceMail/noticeQuota.ts";
import { isUnsubscribed } from "../serviceMail/unsubscribes.ts";
import type { DirectlySent } from "./directSends.ts";
import { loadIdentity, openThreadByMail } from "./emails.ts";

type TestEmail = { workspaceId: string; identityId: string; recipient: string };

/**
 * Sends a test mail from an identity in the normal way. The mail counts towards the plan and towards the quota of notification mail. The
 * returned draft id is the task's id. Throws Rejected identity_not_active, rate_limited if the notification quota is used up,
 * invalid_request if the recipient unsubscribed from this workspace, and any refusal of a send.
 */
export async function sendTestEmail(deps: Dependencies, test: TestEmail, cause: Cause): Promise<DirectlySent> {
  const { workspaceId, identityId, recipient } = test;
  const identity = await loadIdentity(deps, workspaceId, identityId);
  // The subject contains no text by a tenant.
  const letter = {
    to: [recipient],
    cc: [],
    bcc: [],
    subject: "Test email",
    bodyText: `This is a test: ${identity.emailAddress} can send email. You do not need to do anything.`,
    bodyHtml: null,
    attachments: [],
    metadata: null,
  };
  return inMeasure(deps, { test, attemptId: newId(deps, cause, "test-email") }, () =>
    openThreadByMail(deps, { ...letter, kind: "test_email", identity, workspaceId, identityId }, cause),
  );
}

/** Runs `send` if there is notification quota. Gives the quota back if `send` is refused. */
async function inMeasure<T>(
  deps: Dependencies,
  { test: { workspaceId, recipient: to }, attemptId }: { test: TestEmail; attemptId: string },
  send: () => Promise<T>,
): Promise<T> {
  if (await isUnsubscribed(deps, { workspaceId, address: to }))
    throw invalidRequest(
      "recipient_email",
      "the recipient has stopped mail from this workspace to this address: use another address",
    );
  const place = await takeNoticeQuota(deps, { kind: "test", workspaceId, to, attemptId });
  if (place && "sent" in place) {
    const retryAfter = Math.ceil((place.inMs ?? 0) / 1000);
    throw new Rejected("rate_limited", `too many test mails and notices within an hour: wait ${retryAfter} s`, {
      retryAfter,
    });
  }
  try {
    return await send();
  } catch (error) {
    if (error instanceof Rejected && place?.isNew) await returnNoticeQuota(deps, attemptId);
    throw error;
  }
}
