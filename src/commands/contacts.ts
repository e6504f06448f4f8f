import { type ContactChanges, type contactDecider, maxTagLength } from "#streams/contact/decider.ts";
import { invalidRequest } from "#streams/decider.ts";
import type { ContactStatus } from "#streams/thread/events.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";
import { contactId } from "./ids.ts";

type ContactRef = { workspaceId: string; email: string };

/** Returns a contact from its own stream (linearisable). If nothing was recorded about it, the contact is unknown and has no tags. */
export async function contactOf(
  deps: Pick<Dependencies, "contacts">,
  workspaceId: string,
  email: string,
): Promise<{ id: string; status: ContactStatus; tags: string[]; domain: string; exists: boolean }> {
  const id = contactId(workspaceId, email);
  const { state } = await deps.contacts.load(id);
  return { id, status: state.status, tags: [...state.tags], domain: domainOf(email), exists: state.exists };
}

/**
 * Adds a tag to a contact; adding a tag that exists changes nothing. Throws Rejected invalid_request for an invalid tag, or if the contact
 * has too many tags.
 */
export async function tagContact(
  deps: Pick<Dependencies, "contacts">,
  { workspaceId, email, tag }: ContactRef & { tag: string },
  cause: Cause,
): Promise<{ position: number }> {
  requireTag(tag);
  return handle(deps, { type: "TagContact", workspaceId, email, tag }, cause);
}

/** Changes the given fields and keeps the rest. */
export const updateContact = (
  deps: Pick<Dependencies, "contacts">,
  { workspaceId, email, changes }: ContactRef & { changes: ContactChanges },
  cause: Cause,
): Promise<{ position: number }> => handle(deps, { type: "UpdateContact", workspaceId, email, changes }, cause);

/** Deletes a contact with its data; the next mail from the address creates it again. */
export const deleteContact = (
  deps: Pick<Dependencies, "contacts">,
  { workspaceId, email }: ContactRef,
  cause: Cause,
): Promise<{ position: number }> => handle(deps, { type: "DeleteContact", workspaceId, email }, cause);

type AnyCommand = Parameters<typeof contactDecider.decide>[0];

const handle = (deps: Pick<Dependencies, "contacts">, command: AnyCommand, cause: Cause) => {
  const email = command.email.toLowerCase();
  return deps.contacts.handle(contactId(command.workspaceId, email), { ...command, email }, cause);
};

const domainOf = (email: string): string => email.slice(email.lastIndexOf("@") + 1).toLowerCase();

function requireTag(tag: string): void {
  if (tag.trim() !== "" && tag.length <= maxTagLength && !/\p{Cc}/u.test(tag)) return;
  throw invalidRequest("tag", `expected 1 to ${maxTagLength} characters without control characters, not blank`);
}
