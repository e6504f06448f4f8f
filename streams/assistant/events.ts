import type { Event } from "../event.ts";

export type AssistantStatus = "active" | "disabled";
export type AssistantSettings = { name: string; description: string | null; status: AssistantStatus };

export type AssistantEvent =
  | Event<"AssistantCreated", AssistantSettings & { workspaceId: string }>
  | Event<"AssistantUpdated", { changes: Partial<AssistantSettings> }>
  | Event<"AssistantDeleted", Record<string, never>>;

export const assistantStream = (id: string): string => `assistant-${id}`;
