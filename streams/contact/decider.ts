import type { Decider } from "../decider.ts";
import { invalidRequest } from "../decider.ts";
import { stream } from "../stream.ts";
import type { ContactStatus } from "../thread/events.ts";
import { unreachable } from "../unreachable.ts";
import { type ContactEvent, contactStream } from "./events.ts";

/**
 * `exists`: true if the API or a rule has changed the contact since it was created or last deleted. Mail alone adds no event to this
 * stream.
 */
export type Contact = { exists: boolean; name: string | null; status: ContactStatus; tags: readonly string[] };

type ContactAddress = { workspaceId: string; email: string };

export type ContactChanges = { name?: string | null; status?: ContactStatus; tags?: string[] };

export type ContactCommand = ContactAddress &
  (
    | { type: "UpdateContact"; changes: ContactChanges }
    | { type: "TagContact"; tag: string }
    | { type: "DeleteContact" }
  );

/** Bounds of a contact's tags; a tag is counted in characters. */
export const maxTags = 50;
export const maxTagLength = 64;

const initial: Contact = { exists: false, name: null, status: "unknown", tags: [] };

function evolve(contact: Contact, event: ContactEvent): Contact {
  switch (event.type) {
    case "ContactUpdated": {
      const { workspaceId: _, email: __, ...changes } = event.data;
      return { ...contact, ...changes, exists: true };
    }
    case "ContactTagged":
      return { ...contact, tags: [...contact.tags, event.data.tag], exists: true };
    case "ContactDeleted":
      return initial;
    default:
      return unreachable(event);
  }
}

function decide(command: ContactCommand, contact: Contact): ContactEvent[] {
  const { workspaceId, email } = command;
  switch (command.type) {
    case "UpdateContact": {
      const changes = changed(command.changes, contact);
      if (Object.keys(changes).length === 0) return [];
      return [{ type: "ContactUpdated", data: { workspaceId, email, ...changes } }];
    }
    case "TagContact":
      if (contact.tags.includes(command.tag)) return [];
      if (contact.tags.length >= maxTags) {
        throw invalidRequest("tags", `this contact already has ${maxTags} tags, which is the limit: remove one first`);
      }
      return [{ type: "ContactTagged", data: { workspaceId, email, tag: command.tag } }];
    case "DeleteContact":
      return [{ type: "ContactDeleted", data: { workspaceId, email } }];
    default:
      return unreachable(command);
  }
}

/** A given name is always recorded, because the displayed name may be from a mail, which this stream does not know. */
function changed({ name, status, tags }: ContactChanges, contact: Contact): ContactChanges {
  const distinct = tags && [...new Set(tags)];
  return {
    ...(name !== undefined && { name }),
    ...(status !== undefined && status !== contact.status && { status }),
    ...(distinct && JSON.stringify(distinct) !== JSON.stringify(contact.tags) && { tags: distinct }),
  };
}

export const contactDecider: Decider<Contact, ContactCommand, ContactEvent> = {
  category: "contact",
  initial,
  evolve,
  decide,
};

export const contacts = stream({ decider: contactDecider, name: contactStream });
