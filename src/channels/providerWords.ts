import { named } from "./card/names.ts";

/** Maximum number of characters of a provider's words. */
const most = 200;
/** A longer text is no error message; neither is HTML, which comes from a server in between. */
const longest = 4_000;

/** Bot tokens of Telegram, tokens of Slack, addresses with what they carry, and the paths of Slack's webhooks. */
const secretForms =
  /\d+:[A-Za-z0-9_-]{30,}|\bx(?:ox[a-z]|app)[.-][\w.-]+|[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+|\/(?:services|workflows|triggers)\/[^\s"'<>]+/gi;

/**
 * Quotes what a provider said of a failed call, as one line to follow a sentence of ours: `: “Bad Request: TOPIC_CLOSED”`. "" if it said
 * nothing in words. `secrets` of the call, and whatever has the form of one, are left out.
 */
export function quotedWords(text: unknown, secrets: readonly string[]): string {
  if (typeof text !== "string" || text.length > longest || /^\s*</.test(text)) return "";
  const whole = secrets.reduce((left, secret) => (secret === "" ? left : left.replaceAll(secret, "[…]")), text);
  const words = named(whole.replace(secretForms, "[…]"), most);
  return words === "“”" ? "" : `: ${words}`;
}
