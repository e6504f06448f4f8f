import type { Event } from "../event.ts";

/** Who decided about an answer without a person: a rule or a setting, or an API key. */
export type AnsweredBy = "grant" | "key";

/**
 * Answers of a workspace to one address that no person approved, so that two programs do not answer each other without end
 * (`looping.ts`).
 */
export type AnsweredAddressEvent = Event<
  "AddressAnswered",
  {
    workspaceId: string;
    draftId: string;
    /** The message that is answered, when it was received, and when it was answered (ISO 8601). */
    messageId: string;
    receivedAt: string;
    at: string;
    by: AnsweredBy;
    /** Set if the message has a sign of a machine. */
    isMachine?: true;
  }
>;

/** One stream for each workspace and address; the name has a hash of both, so that no address is in a stream id. */
export const answeredAddressStream = (sha256: string): string => `answeredAddress-${sha256}`;
