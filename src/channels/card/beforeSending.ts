import type { ApprovalView } from "../approvalView.ts";

/**
 * Says what has to happen before a draft is sent. Without required human approval an API key or a rule may send it first, and the
 * sentence says so; if several approvals are required, no rule approves, and all keys together count as one approver.
 */
export function beforeSending({ humanRequired, approvals }: Pick<ApprovalView, "humanRequired" | "approvals">): string {
  if (approvals) {
    const keys = humanRequired ? "" : "; programs with an API key can be one of them";
    return `Nothing is sent before ${approvals.required} approvers have approved it${keys}.`;
  }
  return `Nothing is sent before you decide${humanRequired ? "" : ", unless a program with an API key or a rule sends it first"}.`;
}
