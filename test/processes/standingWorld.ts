import { updateContact } from "#src/commands/contacts.ts";
import { createRule } from "#src/commands/rules/rules.ts";
import type { ruleDecider } from "#streams/rule/decider.ts";
import type { Group, RuleAction, RuleSettings } from "#streams/rule/events.ts";
import type { Authentication, ContactStatus, InboundMessage } from "#streams/thread/events.ts";
import { authentication, messageAuthenticated } from "#test/support/examples/index.ts";
import {
  type Beginning,
  cause,
  createSendWorld,
  identityId,
  openSendWorld,
  type SendWorld,
  type WorldOptions,
  workspaceId,
} from "./sendWorld.ts";

export const ann = "ann@customer.example";
export const isTrusted: Group = {
  operator: "AND",
  conditions: [{ field: "contact.status", op: "equals", value: "trusted" }],
};
export const skip: RuleAction = { type: "skip_approval" };
export const auto: RuleAction = { type: "set_approval_mode", mode: "auto" };
export const manual: RuleAction = { type: "set_approval_mode", mode: "manual" };

const usual: RuleSettings = {
  ...{ name: "Rule", triggerEvent: "draft.created", conditions: {}, actions: [], status: "active" },
  ...{ priority: 100, stopAfterMatch: false, identityId: null, assistantId: null },
};

/** The send path with rules, a trusted customer whose mail is proven, and functions that change settings. */
export const createStandingWorld = async (options: WorldOptions = {}) => standing(await createSendWorld(options));

export const openStandingWorld = (options: WorldOptions, beginning: Beginning) =>
  standing(openSendWorld(options, beginning));

function standing(world: SendWorld) {
  const rule = async (different: Partial<RuleSettings>): Promise<string> => {
    const settings = { ...usual, ...different };
    const elsewhere = { ...world.node, ...world.elsewhere() };
    return (await createRule(elsewhere, { workspaceId, given: settings }, cause)).ruleId;
  };
  const onRule = (id: string, command: Parameters<typeof ruleDecider.decide>[0]) =>
    world.elsewhere().rules.handle(id, command, cause);
  return Object.assign(world, {
    rule,
    changeRule: (id: string, changes: Partial<RuleSettings>) => onRule(id, { type: "UpdateRule", changes }),
    deleteRule: (id: string) => onRule(id, { type: "DeleteRule" }),
    contact: (status: ContactStatus) =>
      updateContact(world.elsewhere(), { workspaceId, email: ann, changes: { status } }, cause),
    pause: (sendingPaused: boolean) =>
      world.elsewhere().workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused }, cause),
    /** Records the authentication of the customer's mail, and runs its rules. */
    async authenticate(different: Partial<Authentication> = {}): Promise<void> {
      const { data, revision } = world.log.all.findLast(({ type }) => type === "MessageReceived")!;
      const { messageId, number, classification, subject } = data as InboundMessage;
      const message = messageAuthenticated(number, {
        ...{ messageId, identityId, classification, subject, fromEmail: ann, contactStatus: "trusted" },
        ...{ authentication: authentication(different), received: { threadId: world.threadId(), revision } },
      });
      await world.elsewhere().threads.handle(world.threadId(), { type: "AuthenticateMessage", message }, cause);
      await world.drain();
    },
  });
}

export type StandingWorld = ReturnType<typeof standing>;

export const typesOf = (world: SendWorld, draftId: string): string[] =>
  world.log.all.filter(({ stream }) => stream === `draft-${draftId}`).map(({ type }) => type);
