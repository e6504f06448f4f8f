import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { type ApprovalReplyEvent, approvalReplyStream } from "./events.ts";

export type ApprovalReply = { received: boolean };

export type ApprovalReplyCommand = { type: "ReceiveApprovalReply"; reply: ApprovalReplyEvent["data"] };

export const approvalReplyDecider: Decider<ApprovalReply, ApprovalReplyCommand, ApprovalReplyEvent> = {
  category: "approvalReply",
  initial: { received: false },
  evolve: () => ({ received: true }),
  decide: (command, { received }) => (received ? [] : [{ type: "ApprovalReplyReceived", data: command.reply }]),
};

export const approvalReplies = stream({ decider: approvalReplyDecider, name: approvalReplyStream });
