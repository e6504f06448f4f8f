import { createHmac } from "node:crypto";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest, Decision } from "#streams/draft/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { hashToken, tokenBytes } from "./approvalTokens.ts";

/** Creates the token of a list of drafts: 256 random bits, contained only in the mail with its link. The log stores its SHA-256. */
export const newListToken = (deps: Pick<Dependencies, "ids">): string =>
  deps.ids.random(tokenBytes).toString("base64url");

/**
 * Computes the token of one draft on a list: an HMAC with the list's token as key. Only a holder of the list's link can compute it; the
 * page behind that link does so whenever it is opened. It is as strong as a random token: it has 256 bits, nothing stored by the service
 * (log or key ring) reveals it, and it reveals nothing about the list or its other drafts.
 */
export const listedToken = (listToken: string, notificationId: string, decision: Decision): string =>
  createHmac("sha256", Buffer.from(listToken, "base64url")).update(`${decision} ${notificationId}`).digest("base64url");

/** Returns the request by which a list contains a draft; undefined if the list does not contain the draft. */
export const listedIn = (draft: Draft, listSha256: string): ApprovalRequest | undefined =>
  Object.values(draft.notified.open).find((asked) => asked.listSha256 === listSha256);

/** Decision preselected by a link to one draft of a list. */
export const listedDecision: Decision = "approve";

/** Returns the token data of a listed request that is stored in the log. */
export const listedTokens = (
  listToken: string,
  notificationId: string,
): Pick<ApprovalRequest, "tokens" | "listSha256"> => ({
  tokens: [{ sha256: hashToken(listedToken(listToken, notificationId, listedDecision)), decision: listedDecision }],
  listSha256: hashToken(listToken),
});

/**
 * Returns the attempt id for the Message-ID of a bundle mail: a UUID that contains 30 hex digits of the list's hash, by which a bounce
 * leads to the list.
 */
export const listAttempt = (listSha256: string): string =>
  listSha256.replace(/^(.{8})(.{4})(.{3})(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");

/** Returns the 30 hex digits of the list's hash in a bundle mail's attempt id. */
export const digitsOfList = (attemptId: string): string =>
  attemptId.replace(/^(.{8})-(.{4})-.(.{3})-.(.{3})-(.{12})$/, "$1$2$3$4$5");
