import type { Event } from "../event.ts";
import type { ContactStatus } from "../thread/events.ts";

/** What a person or a rule says about a contact. Everything else about one comes from its mail. Addresses are in lower case. */
export type ContactEvent =
  /** Only what was given. `name` null: the next mail that has a name gives it again. */
  | Event<
      "ContactUpdated",
      { workspaceId: string; email: string; name?: string | null; status?: ContactStatus; tags?: string[] }
    >
  | Event<"ContactTagged", { workspaceId: string; email: string; tag: string }>
  /** Nothing said before counts any more; the next mail makes the contact again. */
  | Event<"ContactDeleted", { workspaceId: string; email: string }>;

export const contactStream = (id: string): string => `contact-${id}`;
