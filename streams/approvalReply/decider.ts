import type { Decider } from "../decider.ts";
import type { ApprovalReplyEvent } from "./events.ts";

export type ApprovalReply = { received: boolean };

export type ApprovalReplyCommand = { type: "ReceiveApprovalReply"; reply: ApprovalReplyEvent["data"] };

export const approvalReplyDecider: Decider<ApprovalReply, ApprovalReplyCommand, ApprovalReplyEvent> = {
  category: "approvalReply",
  initial: { received: false },
  evolve: () => ({ received: true }),
  decide: (command, { received }) => (received ? [] : [{ type: "ApprovalReplyReceived", data: command.reply }]),
};
