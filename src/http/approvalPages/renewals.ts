import type { Request } from "express";
import type { ApprovalRenewals } from "#src/channels/approvalRenewal.ts";
import type { Clock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import type { Reply } from "../framework/reply.ts";
import { callerOf, linkPage, UnknownLink } from "../web/linkPages.ts";
import { checkNonce, issueNonce, type NonceBinding } from "../web/nonce.ts";
import { expiredPage, renewedPage, renewLaterPage } from "./renewalPages.ts";

export type RenewalOptions = ApprovalRenewals & {
  /** A secret of at least 32 bytes, equal in all instances of the service. */
  nonceKey: Buffer;
  clock: Pick<Clock, "now">;
  /** Counts a request to notify a workspace's approvers. Throws Rejected rate_limited if there were too many. */
  countNotify(workspaceId: string): Promise<void>;
};

/** The page of an expired link, of one draft or of a list. `notice`: why a press did not count. */
export async function expiredReply(
  options: RenewalOptions,
  request: Request,
  { status = 410, notice }: { status?: number; notice?: string } = {},
): Promise<Reply> {
  const renewal = await options.renewal(tokenOf(request));
  if (!renewal) throw new UnknownLink();
  const nonce = issueNonce(options.nonceKey, boundTo(request), options.clock.now().getTime());
  return linkPage(status, expiredPage(renewal, { nonce, notice }));
}

/** A press on the button of an expired link's page, which has the link's holder asked again. Counts as a request to notify. */
export async function pressRenew(options: RenewalOptions, request: Request, nonce: string): Promise<Reply> {
  const nowMs = options.clock.now().getTime();
  if (checkNonce(options.nonceKey, boundTo(request), { nonce, nowMs }) !== "good")
    return expiredReply(options, request, { status: 403, notice: notFromPage });
  const before = await options.renewal(tokenOf(request));
  if (before?.kind !== "possible") return expiredReply(options, request);
  try {
    await options.countNotify(before.workspaceId);
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== "rate_limited") throw error;
    return linkPage(429, renewLaterPage(), { "Retry-After": String(error.details.retryAfter) });
  }
  const renewed = await options.renew({ token: tokenOf(request), ...callerOf(request) });
  return renewed?.kind === "requested" ? linkPage(200, renewedPage(renewed)) : expiredReply(options, request);
}

const notFromPage =
  "This page was open for more than an hour, or the button was not pressed on it: no new request was made. Please press the button again.";

const boundTo = (request: Request): NonceBinding => ["expired link", tokenOf(request)];

const tokenOf = (request: Request): string => String(request.params.token);
