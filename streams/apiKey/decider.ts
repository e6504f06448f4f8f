import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type ApiKeyEvent, apiKeyStream } from "./events.ts";

export type ApiKey = { exists: boolean; revoked: boolean; workspaceId: string; hash: string; scopes: string[] };

export type ApiKeyCommand =
  | { type: "CreateApiKey"; workspaceId: string; name: string; prefix: string; hash: string; scopes: string[] }
  | { type: "RevokeApiKey"; workspaceId: string };

function decide(command: ApiKeyCommand, key: ApiKey): ApiKeyEvent[] {
  switch (command.type) {
    case "CreateApiKey": {
      const { type: _, ...data } = command;
      return key.exists ? [] : [{ type: "ApiKeyCreated", data }];
    }
    case "RevokeApiKey":
      if (!key.exists || key.workspaceId !== command.workspaceId) throw new Rejected("not_found", "no such API key");
      // Revoking a revoked key is refused as not found, because to API callers a revoked key no longer exists.
      if (key.revoked) throw new Rejected("not_found", "no such API key");
      return [{ type: "ApiKeyRevoked", data: {} }];
    default:
      return unreachable(command);
  }
}

const initial: ApiKey = { exists: false, revoked: false, workspaceId: "", hash: "", scopes: [] };

function evolve(key: ApiKey, event: ApiKeyEvent): ApiKey {
  switch (event.type) {
    case "ApiKeyCreated": {
      const { workspaceId, hash, scopes } = event.data;
      return { exists: true, revoked: false, workspaceId, hash, scopes };
    }
    case "ApiKeyRevoked":
      return { ...key, revoked: true };
    default:
      return unreachable(event);
  }
}

export const apiKeyDecider: Decider<ApiKey, ApiKeyCommand, ApiKeyEvent> = {
  category: "apiKey",
  initial,
  evolve,
  decide,
};

export const apiKeys = stream({ decider: apiKeyDecider, name: apiKeyStream });
