import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { type InboxEvent, inboxStream } from "./events.ts";

/**
 * An inbox accepts all mail, in order; whether an identity still receives is checked before. Its newest revision shows how much mail has
 * arrived.
 */
export type Inbox = Record<string, never>;

export type InboxCommand = { type: "ReceiveMail"; mail: InboxEvent["data"] };

export const inboxDecider: Decider<Inbox, InboxCommand, InboxEvent> = {
  category: "inbox",
  initial: {},
  evolve: (inbox) => inbox,
  decide: (command) => [{ type: "MailReceived", data: command.mail }],
};

export const inboxes = stream({ decider: inboxDecider, name: inboxStream, tailOnly: true });
