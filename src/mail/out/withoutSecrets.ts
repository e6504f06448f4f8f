import type { Outcome, ReadyConnection } from "#src/mail/mailProvider.ts";

/** Shorter ones are in too many words: to hide those would spoil what a provider says. */
const shortest = 4;

/** Takes secrets out of a provider's words, in each form in which they were sent to it. */
export type Hide = (words: string) => string;

/** `secrets`: as they are, and as they go over the wire in forms of their own. */
export function hiding(secrets: readonly string[]): Hide {
  const forms = secrets
    .filter((secret) => secret.length >= shortest)
    .flatMap((secret) => [secret, base64(secret), encodeURIComponent(secret)])
    // A form may hold another one.
    .sort((a, b) => b.length - a.length);
  return (words) => forms.reduce((rest, form) => rest.replaceAll(form, "****"), words);
}

/** The message of AUTH PLAIN (RFC 4616); AUTH LOGIN sends the password by itself, in base64. */
export const authPlain = (user: string, password: string): string => base64(`\0${user}\0${password}`);

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The same connection, whose provider's words come without secrets: a relay may repeat what it was told, and they are recorded and passed on. */
export const withoutSecrets = (connection: ReadyConnection, hide: Hide): ReadyConnection => ({
  discard: () => connection.discard(),
  handOver: async (mail, mayWrite) => hidden(await connection.handOver(mail, mayWrite), hide),
});

function hidden(outcome: Outcome, hide: Hide): Outcome {
  if (outcome.kind !== "accepted") return { ...outcome, message: hide(outcome.message) };
  const { response, providerId } = outcome;
  return { ...outcome, response: hide(response), ...(providerId !== undefined && { providerId: hide(providerId) }) };
}
