import type { Request } from "express";
import type { ApprovalDecisions } from "#src/channels/approvalDecisions.ts";
import type { SlackReplies } from "#src/channels/slack/slackReplies.ts";
import type { ChatQuestion } from "#src/commands/approvals/chatQuestions.ts";
import type { Clock } from "#src/platform/clock.ts";

export type SlackHookOptions = Pick<ApprovalDecisions, "find" | "decide" | "previewEdit"> & {
  /** The approval request of a button's token. Throws Unavailable. */
  question(token: string): Promise<ChatQuestion | undefined>;
  replies: SlackReplies;
  /** Signing secret of the service's own Slack app. */
  signingSecret: string | undefined;
  /** Base URL of links, without a trailing slash. */
  publicUrl: string;
  clock: Pick<Clock, "now">;
  /** Counts a request that Slack did not sign; throws Rejected rate_limited if its sender has tried too often. */
  countUnknown(request: Request): Promise<void>;
  /** Called with internal errors. */
  onError(error: unknown): void;
  /** Default 2,000: Slack shows a warning to the person if there is no answer within 3 s. */
  acknowledgeWithinMs?: number;
};

/** `shown`: Slack's answer to a form. `after`: messages to send after the acknowledgement. */
export type ClickResult = { shown?: object; after?: () => Promise<void> };
