import { v5 } from "uuid";

/** Namespace of all ids that must be the same after a retry, a replay or a rebuild. */
const namespace = "6f1a4e0c-52c1-4d2b-9a57-0d7f7f1b7c11";

/** Returns a UUIDv5 of these words: the same words give the same id. */
export const derivedId = (...words: readonly string[]): string => v5(words.join("\u0000"), namespace);

/** Returns the id of a contact, derived from its workspace and address. */
export const contactId = (workspaceId: string, email: string): string =>
  derivedId("contact", workspaceId, email.toLowerCase());
