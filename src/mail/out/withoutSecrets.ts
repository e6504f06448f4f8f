import type { HandOverOutcome, ReadyConnection } from "#src/mail/mailProvider.ts";

/** Shortest secret that is hidden: shorter ones occur in too many words, and hiding them would spoil the provider's message. */
const shortest = 4;

/** Removes secrets from a provider's message, in each form in which they were sent to it. */
export type HideSecrets = (words: string) => string;

/** `secrets`: plain, and in each form in which they are sent. */
export function createSecretHider(secrets: readonly string[]): HideSecrets {
  const forms = secrets
    .filter((secret) => secret.length >= shortest)
    .flatMap((secret) => [secret, base64(secret), encodeURIComponent(secret)])
    // The longest form is first, because one form may contain another.
    .sort((a, b) => b.length - a.length);
  return (words) => forms.reduce((rest, form) => rest.replaceAll(form, "****"), words);
}

/** The message of AUTH PLAIN (RFC 4616); AUTH LOGIN sends the password alone, in base64. */
export const authPlain = (user: string, password: string): string => base64(`\0${user}\0${password}`);

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/**
 * Wraps a connection so that the provider's messages contain no secrets: a relay may repeat what it was sent, and its messages are
 * recorded and shown.
 */
export const withoutSecrets = (connection: ReadyConnection, hide: HideSecrets): ReadyConnection => ({
  discard: () => connection.discard(),
  handOver: async (mail, mayWrite) => hidden(await connection.handOver(mail, mayWrite), hide),
});

function hidden(outcome: HandOverOutcome, hide: HideSecrets): HandOverOutcome {
  if (outcome.kind !== "accepted") return { ...outcome, message: hide(outcome.message) };
  const { response, providerId } = outcome;
  return { ...outcome, response: hide(response), ...(providerId !== undefined && { providerId: hide(providerId) }) };
}
