import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type RuleEvent, type RuleSettings, ruleStream } from "./events.ts";

export type Rule = RuleSettings & { exists: boolean; deleted: boolean; workspaceId: string; version: number };

export type RuleCommand =
  | { type: "CreateRule"; workspaceId: string; settings: RuleSettings }
  | { type: "UpdateRule"; changes: Partial<RuleSettings> }
  | { type: "ResealSecrets"; actions: RuleSettings["actions"] }
  | { type: "DeleteRule" };

const initial: Rule = {
  exists: false,
  deleted: false,
  workspaceId: "",
  version: 0,
  name: "",
  triggerEvent: "email.received",
  conditions: {},
  actions: [],
  status: "active",
  priority: 100,
  stopAfterMatch: false,
  identityId: null,
  assistantId: null,
};

function evolve(rule: Rule, event: RuleEvent): Rule {
  switch (event.type) {
    case "RuleCreated":
      return { ...rule, ...event.data, exists: true };
    case "RuleUpdated":
      return { ...rule, ...event.data.changes, version: event.data.version };
    case "RuleSecretsResealed":
      return { ...rule, actions: event.data.actions };
    case "RuleDeleted":
      return { ...rule, deleted: true, version: event.data.version };
    default:
      return unreachable(event);
  }
}

function decide(command: RuleCommand, rule: Rule): RuleEvent[] {
  if (command.type === "CreateRule") {
    const { workspaceId, settings } = command;
    return rule.exists ? [] : [{ type: "RuleCreated", data: { ...settings, workspaceId, version: 1 } }];
  }
  if (!rule.exists || rule.deleted) throw new Rejected("not_found", "no such rule");
  const version = rule.version + 1;
  switch (command.type) {
    case "UpdateRule": {
      const changes = changed(command.changes, rule);
      return Object.keys(changes).length === 0 ? [] : [{ type: "RuleUpdated", data: { version, changes } }];
    }
    case "ResealSecrets": {
      const { actions } = command;
      return "actions" in changed({ actions }, rule) ? [{ type: "RuleSecretsResealed", data: { actions } }] : [];
    }
    case "DeleteRule":
      return [{ type: "RuleDeleted", data: { version } }];
    default:
      return unreachable(command);
  }
}

function changed(changes: Partial<RuleSettings>, rule: Rule): Partial<RuleSettings> {
  const differs = ([name, value]: [string, unknown]) =>
    value !== undefined && JSON.stringify(value) !== JSON.stringify(rule[name as keyof RuleSettings]);
  return Object.fromEntries(Object.entries(changes).filter(differs));
}

export const ruleDecider: Decider<Rule, RuleCommand, RuleEvent> = { category: "rule", initial, evolve, decide };

export const rules = stream({ decider: ruleDecider, name: ruleStream });
