import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type AssistantEvent, type AssistantSettings, assistantStream } from "./events.ts";

export type Assistant = AssistantSettings & { exists: boolean; deleted: boolean; workspaceId: string };

export type AssistantCommand =
  | { type: "CreateAssistant"; assistant: AssistantSettings & { workspaceId: string } }
  | { type: "UpdateAssistant"; changes: Partial<AssistantSettings> }
  | { type: "DeleteAssistant" };

const initial: Assistant = {
  exists: false,
  deleted: false,
  workspaceId: "",
  name: "",
  description: null,
  status: "active",
};

function evolve(assistant: Assistant, event: AssistantEvent): Assistant {
  switch (event.type) {
    case "AssistantCreated":
      return { ...assistant, ...event.data, exists: true };
    case "AssistantUpdated":
      return { ...assistant, ...event.data.changes };
    case "AssistantDeleted":
      return { ...assistant, deleted: true };
    default:
      return unreachable(event);
  }
}

function decide(command: AssistantCommand, assistant: Assistant): AssistantEvent[] {
  if (command.type === "CreateAssistant") {
    return assistant.exists ? [] : [{ type: "AssistantCreated", data: command.assistant }];
  }
  if (!assistant.exists || assistant.deleted) throw new Rejected("not_found", "no such assistant");
  switch (command.type) {
    case "UpdateAssistant": {
      const changes = changed(command.changes, assistant);
      return Object.keys(changes).length === 0 ? [] : [{ type: "AssistantUpdated", data: { changes } }];
    }
    case "DeleteAssistant":
      return [{ type: "AssistantDeleted", data: {} }];
    default:
      return unreachable(command);
  }
}

function changed(changes: Partial<AssistantSettings>, assistant: Assistant): Partial<AssistantSettings> {
  const differs = ([key, value]: [string, unknown]) =>
    value !== undefined && value !== assistant[key as keyof AssistantSettings];
  return Object.fromEntries(Object.entries(changes).filter(differs));
}

export const assistantDecider: Decider<Assistant, AssistantCommand, AssistantEvent> = {
  category: "assistant",
  initial,
  evolve,
  decide,
};

export const assistants = stream({ decider: assistantDecider, name: assistantStream });
