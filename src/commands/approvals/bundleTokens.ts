import { createHmac } from "node:crypto";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest, Decision } from "#streams/draft/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { hashToken, tokenBytes } from "./approvalTokens.ts";

/**
 * The token of a list of drafts: 256 random bits, which only the mail with its link ever holds. The log has its SHA-256.
 */
export const newListToken = (deps: Pick<Dependencies, "ids">): string =>
  deps.ids.random(tokenBytes).toString("base64url");

/**
 * The token of one draft on a list: an HMAC under the list's token. Only somebody who holds the list's link can make it, and the page behind
 * that link makes it again whenever it is opened. It is as good as a random one: it has 256 bits, nothing that the service stores gives it
 * away (neither the log nor the key ring), and it tells nothing about the list or its other drafts.
 */
export const listedToken = (listToken: string, notificationId: string, decision: Decision): string =>
  createHmac("sha256", Buffer.from(listToken, "base64url")).update(`${decision} ${notificationId}`).digest("base64url");

/** The request by which a list leads to a draft; undefined if it does not. */
export const listedIn = (draft: Draft, listSha256: string): ApprovalRequest | undefined =>
  Object.values(draft.notified.open).find((asked) => asked.listSha256 === listSha256);

/** What a link to one draft of a list shows first. */
export const listedDecision: Decision = "approve";

/** What is kept of a request on a list. */
export const listedTokens = (listToken: string, notificationId: string): Pick<ApprovalRequest, "tokens" | "listSha256"> => ({
  tokens: [{ sha256: hashToken(listedToken(listToken, notificationId, listedDecision)), decision: listedDecision }],
  listSha256: hashToken(listToken),
});

/** What such a Message-ID names the mail by, which leads to the list if it comes back: a UUID of 30 digits of the list's hash. */
export const listAttempt = (listSha256: string): string =>
  listSha256.replace(/^(.{8})(.{4})(.{3})(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");

/** Those digits. */
export const digitsOfList = (attemptId: string): string =>
  attemptId.replace(/^(.{8})-(.{4})-.(.{3})-.(.{3})-(.{12})$/, "$1$2$3$4$5");
