import type { Event } from "../event.ts";
import type { ContactStatus } from "../thread/events.ts";

/** Changes of a contact by a person or a rule. Everything else about a contact is from its mail. Addresses are in lower case. */
export type ContactEvent =
  /** Contains only the given fields. `name` null: the next mail with a name sets it again. */
  | Event<
      "ContactUpdated",
      { workspaceId: string; email: string; name?: string | null; status?: ContactStatus; tags?: string[] }
    >
  | Event<"ContactTagged", { workspaceId: string; email: string; tag: string }>
  /** Earlier changes no longer apply; the next mail creates the contact again. */
  | Event<"ContactDeleted", { workspaceId: string; email: string }>;

export const contactStream = (id: string): string => `contact-${id}`;
