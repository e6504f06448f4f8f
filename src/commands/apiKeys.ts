import { createHash } from "node:crypto";
import { countApiKeys } from "#projections/apiKeys/queries.ts";
import { apiKeyDecider } from "#streams/apiKey/decider.ts";
import { apiKeyStream } from "#streams/apiKey/events.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";

const keyStart = "svc_live_";
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const keyLength = 32;
const prefixLength = 13;
const maxLiveKeys = 100;

/** A key has some 190 bits of its own, so a plain hash is enough to keep it by. */
export const hashKey = (key: string): string => createHash("sha256").update(key).digest("hex");

/** Makes a key; its plain text is answered once and kept nowhere. Throws Rejected invalid_request over 100 live ones. */
export async function createApiKey(
  deps: Dependencies,
  { workspaceId, name, scopes }: { workspaceId: string; name: string; scopes: readonly string[] },
  cause: Cause,
): Promise<{ id: string; key: string; prefix: string; position: number }> {
  if ((await countApiKeys(deps.reads, workspaceId)) >= maxLiveKeys) {
    throw new Rejected("invalid_request", `a workspace has at most ${maxLiveKeys} live API keys: revoke one first`);
  }
  const id = deps.ids.uuid();
  const key = keyStart + randomText(deps, keyLength);
  const prefix = key.slice(0, prefixLength);
  const command = { type: "CreateApiKey", workspaceId, name, prefix, hash: hashKey(key), scopes: [...scopes] } as const;
  const { position } = await deps.handle(apiKeyDecider, apiKeyStream(id), command, { ...cause, workspaceId });
  return { id, key, prefix, position };
}

/** From the moment this is recorded the key appends nothing (its requests carry a guard on this stream). */
export const revokeApiKey = (
  deps: Dependencies,
  { workspaceId, id }: { workspaceId: string; id: string },
  cause: Cause,
) => {
  // The key may revoke itself: its own guard must not stand in the way of that.
  const { keyGuard: _, ...unguarded } = cause;
  return deps.handle(apiKeyDecider, apiKeyStream(id), { type: "RevokeApiKey", workspaceId }, unguarded);
};

/** Evenly distributed over the alphabet: bytes that would favour its beginning are dropped. */
function randomText(deps: Dependencies, length: number): string {
  const limit = 256 - (256 % alphabet.length);
  let text = "";
  while (text.length < length) {
    for (const byte of deps.ids.random(length)) {
      if (byte < limit && text.length < length) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}
