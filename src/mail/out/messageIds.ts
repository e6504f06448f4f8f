import { createHmac, timingSafeEqual } from "node:crypto";
import { parse, stringify } from "uuid";

/** Origin of a mail: everything needed to assign a reply, or a provider's event, without a look-up. */
export type MailOrigin = { identityId: string; threadId: string; attemptId: string };

/** Thread id for a mail that belongs to no thread. */
export const noThread = "00000000-0000-0000-0000-000000000000";

export type MessageIds = {
  /** `<…@domain>`: 80 characters of base64url (a dot-atom) before the @. The same origin always gives the same id. */
  mint(origin: MailOrigin & { domain: string }): string;
  /**
   * Returns the origin if the id (with or without angle brackets) is one of ours; otherwise undefined. Compares the mark in constant
   * time.
   */
  open(messageId: string): MailOrigin | undefined;
};

// A permanent format: these ids are stored in other people's mailboxes. Three UUIDs, then the first 12 bytes of the HMAC over them.
const idBytes = 16;
const markBytes = 12;
const originBytes = 3 * idBytes;
const localPart = /^<?([A-Za-z0-9_-]{80})@[^<>@\s]+>?$/;

const mark = (key: Buffer, origin: Uint8Array): Buffer =>
  createHmac("sha256", key).update(origin).digest().subarray(0, markBytes);

/** The first key mints; every key opens, so mail sent before a key rotation is still recognised. */
export function createMessageIds(...keys: [Buffer, ...Buffer[]]): MessageIds {
  return {
    mint({ identityId, threadId, attemptId, domain }) {
      const origin = Buffer.concat([identityId, threadId, attemptId].map((id) => parse(id)));
      return `<${Buffer.concat([origin, mark(keys[0], origin)]).toString("base64url")}@${domain}>`;
    },
    open(messageId) {
      const [, encoded] = localPart.exec(messageId.trim()) ?? [];
      if (!encoded) return undefined;
      const bytes = Buffer.from(encoded, "base64url");
      const origin = bytes.subarray(0, originBytes);
      const given = bytes.subarray(originBytes);
      const ours = keys.map((key) => timingSafeEqual(mark(key, origin), given)).some(Boolean);
      if (!ours) return undefined;
      const [identityId, threadId, attemptId] = [0, 1, 2].map((n) =>
        stringify(origin.subarray(n * idBytes, (n + 1) * idBytes)),
      );
      return { identityId: identityId!, threadId: threadId!, attemptId: attemptId! };
    },
  };
}
