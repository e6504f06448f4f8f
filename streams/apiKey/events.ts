import type { Event } from "../event.ts";

export type ApiKeyEvent =
  /** `hash`: the only stored form of the key; `prefix`: its first 13 characters. */
  | Event<"ApiKeyCreated", { workspaceId: string; name: string; prefix: string; hash: string; scopes: string[] }>
  | Event<"ApiKeyRevoked", Record<string, never>>;

export const apiKeyStream = (id: string): string => `apiKey-${id}`;
