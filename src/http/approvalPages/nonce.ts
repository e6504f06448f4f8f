import type { ApproverChoice } from "#src/channels/approvalView.ts";
import { checkNonce as check, issueNonce as issue, type NonceBinding } from "../web/nonce.ts";

/** The complete action of a button: a nonce for one action is invalid for another. */
export type ApprovalPageAction = {
  token: string;
  decision: ApproverChoice | "edit" | "undo";
  version: number;
  contentSha256: string;
  /** Hash of the edited mail that the page shows: its button approves this mail and no other. */
  editedSha256?: string;
};

/** Proves that this page was fetched within the last hour; a request sent without opening the page has no nonce. */
export const issueNonce = (key: Buffer, pressed: ApprovalPageAction, nowMs: number): string =>
  issue(key, boundTo(pressed), nowMs);

export const checkNonce = (
  key: Buffer,
  pressed: ApprovalPageAction,
  shown: { nonce: string; nowMs: number },
): "good" | "expired" | "wrong" => check(key, boundTo(pressed), shown);

const boundTo = ({ token, decision, version, contentSha256, editedSha256 }: ApprovalPageAction): NonceBinding => [
  "approval page",
  token,
  decision,
  version,
  contentSha256,
  ...(editedSha256 === undefined ? [] : [editedSha256]),
];
