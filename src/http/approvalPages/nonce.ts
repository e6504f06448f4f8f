import type { Decision } from "#src/channels/approvalView.ts";
import { type Bound, checkNonce as check, issueNonce as issue } from "../web/nonce.ts";

/** What a page's button decides about: a nonce for one is none for another. */
export type Pressed = { token: string; decision: Decision; version: number; contentSha256: string };

/** Proof that this very page was fetched not long ago: a blind POST to the link has none. */
export const issueNonce = (key: Buffer, pressed: Pressed, nowMs: number): string => issue(key, boundTo(pressed), nowMs);

export const checkNonce = (
  key: Buffer,
  pressed: Pressed,
  shown: { nonce: string; nowMs: number },
): "good" | "expired" | "wrong" => check(key, boundTo(pressed), shown);

const boundTo = ({ token, decision, version, contentSha256 }: Pressed): Bound => [
  "approval page",
  token,
  decision,
  version,
  contentSha256,
];
