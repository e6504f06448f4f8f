import { createHash } from "node:crypto";
import { draftOfToken } from "#projections/drafts/queries.ts";
import type { Guard } from "#src/eventStore/eventStore.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { type FoundToken, findToken } from "#streams/draft/notification.ts";
import { identityStream } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { requireProjected } from "../readModels.ts";
import { isStillChannelOf } from "./channelAddresses.ts";

export const tokenBytes = 32;

export const hashToken = (token: string): string => createHash("sha256").update(token).digest("hex");

/** Data of a valid token: the draft as it is now, and the version, channel and decision that the token was issued for. */
export type LinkedDraft = {
  token: string;
  draftId: string;
  draft: Draft;
  position: number;
  asked: FoundToken;
  tokenSha256: string;
  /** Guard on the identity (its channels and approval settings) at the revision at which the token was judged. */
  judgedBy: Guard;
};

/** Checks a token. Returns undefined if no draft has it. A token is returned as expired if its channel was changed. */
export async function resolveToken(deps: Dependencies, token: string): Promise<LinkedDraft | undefined> {
  const tokenSha256 = hashToken(token);
  const known = await draftOf(deps, tokenSha256);
  if (!known) return undefined;
  const { state: draft, position } = await deps.drafts.load(known.draft_id);
  const asked = findToken(draft, tokenSha256);
  if (!asked) return undefined;
  const { state: identity, revision } = await deps.identities.load(draft.identityId);
  const expiresAt = isStillChannelOf(deps, identity, asked.channel) ? asked.expiresAt : nothingLeft;
  const judgedBy = { stream: identityStream(draft.identityId), revision };
  return { token, draftId: known.draft_id, draft, position, asked: { ...asked, expiresAt }, tokenSha256, judgedBy };
}

/** Finds the draft of a token. If the read models do not know the token yet, waits until they have caught up and tries once more. */
export async function draftOf(deps: Dependencies, tokenSha256: string): ReturnType<typeof draftOfToken> {
  const known = await draftOfToken(deps.reads, tokenSha256);
  if (known) return known;
  await requireProjected(deps, await deps.store.head(), ["drafts"]);
  return draftOfToken(deps.reads, tokenSha256);
}

const nothingLeft = new Date(0).toISOString();
