import { createHash, createHmac } from "node:crypto";
import { apiKeyDecider } from "#streams/apiKey/decider.ts";
import { apiKeyStream } from "#streams/apiKey/events.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";
import { newId } from "./ids.ts";
import { type HolderState, takeSlot } from "./slots.ts";

const keyStart = "svc_live_";
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const keyLength = 32;
const prefixLength = 13;
const maxLiveKeys = 100;

/** A key has some 190 bits of its own, so a plain hash is enough to keep it by. */
export const hashKey = (key: string): string => createHash("sha256").update(key).digest("hex");

/** Makes a key; its plain text is answered once and kept nowhere. Throws Rejected invalid_request over 100 live ones (decisions 1). */
export async function createApiKey(
  deps: Dependencies,
  { workspaceId, name, scopes }: { workspaceId: string; name: string; scopes: readonly string[] },
  cause: Cause,
): Promise<{ id: string; key: string; prefix: string; position: number }> {
  const id = newId(deps, cause, "apiKey");
  await takeKeySlot(deps, { workspaceId, id }, { ...cause, workspaceId });
  const keys = newKeys(deps, cause);
  const [first] = keys;
  const created = { workspaceId, name, prefix: prefixOf(first), hash: hashKey(first), scopes: [...scopes] };
  const command = { type: "CreateApiKey" as const, ...created };
  const { state, position } = await deps.handle(apiKeyDecider, apiKeyStream(id), command, { ...cause, workspaceId });
  const key = keys.find((candidate) => hashKey(candidate) === state.hash);
  if (key === undefined) throw new Error(`API key ${id} was made under a secret key that is gone from the ring`);
  return { id, key, prefix: prefixOf(key), position };
}

const prefixOf = (key: string): string => key.slice(0, prefixLength);

/**
 * The text of a new key. Under an operation its repetition comes to the same one, if a ring key has been added meanwhile by one of the
 * further texts: the log keeps but the hash, and whoever was cut off has to be told.
 */
function newKeys(deps: Dependencies, { operation }: Cause): [string, ...string[]] {
  if (operation === undefined) return [keyStart + textOf((length) => deps.ids.random(length))];
  const texts = deps.keyRing.deriveKeys("api-keys").map((secret) => {
    let block = 0;
    return keyStart + textOf(() => createHmac("sha512", secret).update(`${operation} ${block++}`).digest());
  });
  return texts as [string, ...string[]];
}

/** From the moment this is recorded the key appends nothing (its requests carry a guard on this stream). */
export const revokeApiKey = (
  deps: Dependencies,
  { workspaceId, id }: { workspaceId: string; id: string },
  { keyGuard, ...unguarded }: Cause,
) => {
  const stream = apiKeyStream(id);
  // A key that revokes itself is guarded by the append's own revision; one that was revoked must not revoke others.
  const cause = keyGuard === undefined || keyGuard.stream === stream ? unguarded : { ...unguarded, keyGuard };
  return deps.handle(apiKeyDecider, stream, { type: "RevokeApiKey", workspaceId }, cause);
};

/** The key as its own stream has it; undefined where this workspace has none of that id. */
export async function apiKeyState(
  deps: Dependencies,
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<{ revoked: boolean } | undefined> {
  const { state } = await deps.load(apiKeyDecider, apiKeyStream(id));
  return state.exists && state.workspaceId === workspaceId ? state : undefined;
}

async function takeKeySlot(
  deps: Dependencies,
  { workspaceId, id }: { workspaceId: string; id: string },
  cause: Cause,
): Promise<void> {
  const stateOf = async (holderId: string): Promise<HolderState> => {
    const { state } = await deps.load(apiKeyDecider, apiKeyStream(holderId));
    if (!state.exists) return "unborn";
    return state.revoked ? "gone" : "alive";
  };
  try {
    await takeSlot(deps, { workspaceId, kind: "apiKeys", holderId: id }, maxLiveKeys, stateOf, cause);
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== "plan_limit_reached") throw error;
    throw new Rejected("invalid_request", `a workspace has at most ${maxLiveKeys} live API keys: revoke one first`);
  }
}

/** Evenly distributed over the alphabet: bytes that would favour its beginning are dropped. */
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
