import { createHash } from "node:crypto";
import { apiKeyStream } from "#streams/apiKey/events.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";
import { newId } from "./ids.ts";
import { type HolderState, takeSlot } from "./plans/slots.ts";

const keyStart = "svc_live_";
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const keyLength = 32;
const prefixLength = 13;
const maxLiveKeys = 100;

/** Hashes an API key. A key has about 190 random bits, so a plain hash cannot be reversed by trying keys. */
export const hashKey = (key: string): string => createHash("sha256").update(key).digest("hex");

/** Returns the plain text of a new random API key. */
export const newKey = ({ ids }: Pick<Dependencies, "ids">): string => keyStart + textOf((length) => ids.random(length));

/**
 * Creates an API key. Its plain text is returned once and cannot be derived from stored data. If the operation may be repeated, the caller
 * passes the same `key` text in each run. Throws Rejected invalid_request if the workspace has 100 active keys, and idempotency_mismatch if
 * an earlier run created the key with a different text, because that text is lost.
 */
export async function createApiKey(
  deps: Dependencies,
  {
    workspaceId,
    name,
    scopes,
    key = newKey(deps),
  }: { workspaceId: string; name: string; scopes: readonly string[]; key?: string },
  cause: Cause,
): Promise<{ id: string; key: string; prefix: string; position: number }> {
  const id = newId(deps, cause, "apiKey");
  await takeKeySlot(deps, { workspaceId, id }, { ...cause, workspaceId });
  const prefix = key.slice(0, prefixLength);
  const created = { workspaceId, name, prefix, hash: hashKey(key), scopes: [...scopes] };
  const command = { type: "CreateApiKey" as const, ...created };
  const { state, position } = await deps.apiKeys.handle(id, command, { ...cause, workspaceId });
  if (state.hash !== created.hash) {
    const what = `API key ${id} was created under this Idempotency-Key and can no longer be shown`;
    throw new Rejected("idempotency_mismatch", `${what}: revoke it, and retry with a new Idempotency-Key`);
  }
  return { id, key, prefix, position };
}

/** Revokes an API key. From then on no request of this key can append events, because each of its appends is guarded by this stream. */
export const revokeApiKey = (
  deps: Dependencies,
  { workspaceId, id }: { workspaceId: string; id: string },
  { keyGuard, ...unguarded }: Cause,
) => {
  const stream = apiKeyStream(id);
  // A key that revokes itself needs no guard: the append checks this stream's revision anyway. A key that revokes another key keeps its
  // guard, so that a revoked key cannot revoke others.
  const cause = keyGuard === undefined || keyGuard.stream === stream ? unguarded : { ...unguarded, keyGuard };
  return deps.apiKeys.handle(id, { type: "RevokeApiKey", workspaceId }, cause);
};

/** Returns the key's state from its own stream; undefined if this workspace has no such key. */
export async function apiKeyState(
  deps: Dependencies,
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<{ revoked: boolean } | undefined> {
  const { state } = await deps.apiKeys.load(id);
  return state.exists && state.workspaceId === workspaceId ? state : undefined;
}

async function takeKeySlot(
  deps: Dependencies,
  { workspaceId, id }: { workspaceId: string; id: string },
  cause: Cause,
): Promise<void> {
  const stateOf = async (holderId: string): Promise<HolderState> => {
    const { state } = await deps.apiKeys.load(holderId);
    if (!state.exists) return "unborn";
    return state.revoked ? "gone" : "alive";
  };
  try {
    const slot = { workspaceId, kind: "apiKeys", holderId: id } as const;
    await takeSlot(deps, { ...slot, cap: maxLiveKeys, stateOf }, cause);
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== "plan_limit_reached") throw error;
    throw new Rejected(
      "invalid_request",
      `this workspace already has ${maxLiveKeys} API keys, which is the limit: revoke one first`,
    );
  }
}

/**
 * Draws random text, evenly distributed over the alphabet. Drops the random bytes that would make the first characters of the alphabet more
 * likely.
 */
function textOf(randomBytes: (length: number) => Buffer): string {
  const limit = 256 - (256 % alphabet.length);
  let text = "";
  while (text.length < keyLength) {
    for (const byte of randomBytes(keyLength)) {
      if (byte < limit && text.length < keyLength) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}
