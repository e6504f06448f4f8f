import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { defaultSettings, guardedSettings } from "./defaults.ts";
import { type ApprovalChannel, type IdentityEvent, type IdentitySettings, identityStream } from "./events.ts";

export type Identity = IdentitySettings & {
  exists: boolean;
  deleted: boolean;
  workspaceId: string;
  domainId: string;
  emailAddress: string;
  /** New ids of chats that their provider renamed, by the old one. */
  movedChats: Readonly<Record<string, string>>;
};

type Created = Extract<IdentityEvent, { type: "IdentityCreated" }>["data"];

export type IdentityCommand =
  | { type: "CreateIdentity"; identity: Created }
  /**
   * `mayLoosen`: the caller may change guardedSettings, or drop require_human_approval or confirm_code, while human approval is required.
   * `workspaceRequires`: it is required for the whole workspace.
   */
  | {
      type: "UpdateIdentity";
      changes: Partial<IdentitySettings>;
      mayLoosen: boolean;
      workspaceRequires?: boolean;
    }
  | { type: "ResealSecrets"; channels: Partial<Pick<IdentitySettings, "approvalChannel" | "secondaryApprovalChannel">> }
  /** The provider gave a chat another id. */
  | { type: "MoveChat"; from: string; to: string }
  /** Deleting and creating it again would bypass that switch, so it requires the same right. */
  | { type: "DeleteIdentity"; mayLoosen: boolean; workspaceRequires?: boolean };

const initial: Identity = {
  exists: false,
  deleted: false,
  workspaceId: "",
  domainId: "",
  emailAddress: "",
  movedChats: {},
  ...defaultSettings,
};

function evolve(identity: Identity, event: IdentityEvent): Identity {
  switch (event.type) {
    case "IdentityCreated":
      return { ...identity, ...event.data, exists: true };
    case "IdentityUpdated":
      return { ...identity, ...event.data.changes };
    case "IdentitySecretsResealed":
      return { ...identity, ...event.data.channels };
    case "IdentityChatMoved":
      return chatMoved(identity, event.data);
    case "IdentityDeleted":
      return { ...identity, deleted: true };
    default:
      return unreachable(event);
  }
}

function chatMoved(identity: Identity, { from, to }: { from: string; to: string }): Identity {
  const moved = (channel: ApprovalChannel | null): ApprovalChannel | null =>
    namesChat(channel, from) ? { ...channel, config: { ...channel.config, chat_id: to } } : channel;
  return {
    ...identity,
    approvalChannel: moved(identity.approvalChannel),
    secondaryApprovalChannel: moved(identity.secondaryApprovalChannel),
    movedChats: { ...identity.movedChats, [from]: to },
  };
}

const namesChat = (channel: ApprovalChannel | null, chat: string): channel is ApprovalChannel =>
  channel?.type === "telegram" && channel.config.chat_id === chat;

/** Returns the present id of a chat that once had this id. */
export function followedChat({ movedChats }: Pick<Identity, "movedChats">, chat: string): string {
  const seen = new Set([chat]);
  for (let now = chat; ; ) {
    const next = movedChats[now];
    if (next === undefined || seen.has(next)) return now;
    seen.add(next);
    now = next;
  }
}

/** Default minutes until the secondary channel is asked. */
const usualEscalationDelay = 60;

function decide(command: IdentityCommand, identity: Identity): IdentityEvent[] {
  if (command.type === "CreateIdentity") {
    const data = { ...command.identity, ...usualDelay(command.identity) };
    return identity.exists ? [] : [{ type: "IdentityCreated", data }];
  }
  if (!identity.exists || identity.deleted) throw new Rejected("not_found", "no such identity");
  switch (command.type) {
    case "UpdateIdentity":
      return update(command, identity);
    case "ResealSecrets": {
      const channels = changed(command.channels, identity);
      return Object.keys(channels).length === 0 ? [] : [{ type: "IdentitySecretsResealed", data: { channels } }];
    }
    case "MoveChat": {
      const { from, to } = command;
      const names = namesChat(identity.approvalChannel, from) || namesChat(identity.secondaryApprovalChannel, from);
      return names && from !== to ? [{ type: "IdentityChatMoved", data: { from, to } }] : [];
    }
    case "DeleteIdentity":
      if (isGuarded(command, identity)) throw needsApprovalsScope("deleting it");
      return [{ type: "IdentityDeleted", data: { emailAddress: identity.emailAddress } }];
    default:
      return unreachable(command);
  }
}

function update(command: Extract<IdentityCommand, { type: "UpdateIdentity" }>, identity: Identity): IdentityEvent[] {
  const given = { ...command.changes, ...usualDelay({ ...identity, ...command.changes }) };
  const changes = changed(given, identity);
  if (Object.keys(changes).length === 0) return [];
  if (isGuarded(command, identity) && loosens(changes)) {
    throw needsApprovalsScope(
      "changing its approval channels, approvals_required, covered_recipients, aliases, reply_to_email, display_name, send_on_channel_approval or edit_by_channel, or turning off require_human_approval or confirm_code,",
    );
  }
  return [{ type: "IdentityUpdated", data: { changes } }];
}

const isGuarded = (
  { mayLoosen, workspaceRequires = false }: { mayLoosen: boolean; workspaceRequires?: boolean },
  { requireHumanApproval }: Identity,
): boolean => (requireHumanApproval || workspaceRequires) && !mayLoosen;

const needsApprovalsScope = (doing: string): Rejected =>
  new Rejected("insufficient_scope", `this identity requires human approval: ${doing} needs the scope write:approvals`);

const usualDelay = ({
  secondaryApprovalChannel,
  escalationDelayMinutes,
}: Pick<IdentitySettings, "secondaryApprovalChannel" | "escalationDelayMinutes">): Partial<IdentitySettings> =>
  secondaryApprovalChannel !== null && escalationDelayMinutes === null
    ? { escalationDelayMinutes: usualEscalationDelay }
    : {};

function changed(changes: Partial<IdentitySettings>, identity: Identity): Partial<IdentitySettings> {
  const differs = ([key, value]: [string, unknown]) =>
    value !== undefined && JSON.stringify(value) !== JSON.stringify(identity[key as keyof IdentitySettings]);
  return Object.fromEntries(Object.entries(changes).filter(differs));
}

const loosens = (changes: Partial<IdentitySettings>): boolean =>
  changes.requireHumanApproval === false ||
  changes.confirmCode === false ||
  guardedSettings.some((setting) => setting in changes);

export const identityDecider: Decider<Identity, IdentityCommand, IdentityEvent> = {
  category: "identity",
  initial,
  evolve,
  decide,
};

export const identities = stream({ decider: identityDecider, name: identityStream });
