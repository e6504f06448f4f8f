import { v5 } from "uuid";

/** The namespace of every id that has to come out the same on a retry, a replay or a rebuild. */
const namespace = "6f1a4e0c-52c1-4d2b-9a57-0d7f7f1b7c11";

/** A UUIDv5 of these words: the same words, the same id. */
export const derivedId = (...words: readonly string[]): string => v5(words.join("\u0000"), namespace);

/** A contact is its workspace's, and its address's. */
export const contactId = (workspaceId: string, email: string): string =>
  derivedId("contact", workspaceId, email.toLowerCase());
