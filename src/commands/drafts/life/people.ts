import type { Actor } from "#streams/event.ts";
import { unreachable } from "#streams/unreachable.ts";
import type { DecisionRequest } from "./life.ts";
import { type Phrase, say } from "./phrases.ts";

/** Describes an actor, to follow "by", as far as the log proves it: a link or a key is identified, not the person who used it. */
export function actorInWords(actor: Actor): Phrase[] {
  const { kind, id, name, channel, email } = actor;
  const known: Phrase = name === undefined ? { exact: id } : { said: name };
  switch (kind) {
    case "email_link":
      return linkInWords({ id, channel });
    case "telegram":
      return name === undefined ? say`Telegram user ${{ exact: id }}` : say`${known} (Telegram user ${{ exact: id }})`;
    case "slack":
      return name === undefined ? say`Slack user ${{ exact: id }}` : say`${known} (Slack user ${{ exact: id }})`;
    case "session":
      if (name === undefined || name === email) return say`${{ exact: email ?? id }}, who was signed in`;
      return say`${known}${email !== undefined && say` (${{ exact: email }})`}, who was signed in`;
    case "api_key":
      return say`the API key ${known}`;
    case "rule":
      return say`the rule ${known}`;
    case "auto":
      return say`the identity's setting auto_approve_replies`;
    case "system":
      return say`the service itself`;
    case "operator":
      return say`the operator (${{ exact: id }})`;
    case "sender":
      return say`the sender of a mail (${{ exact: id }})`;
    default:
      return unreachable(kind);
  }
}

function linkInWords({ id, channel = "email" }: Pick<Actor, "id"> & { channel?: string | undefined }): Phrase[] {
  if (channel !== "email") return say`a person who followed a link in ${chatNames[channel] ?? "a chat"}`;
  return id.includes("@")
    ? say`a person with the link from an approval mail to ${{ exact: id }}`
    : say`a person with the link from an approval mail`;
}

const chatNames: Partial<Record<string, string>> = { telegram: "Telegram", slack: "Slack" };

/** Describes where a request was sent: a mailbox, or a chat. A chat's address is a number or a hash, so it is not shown. */
export function channelInWords({ type, address }: DecisionRequest["channel"]): Phrase[] {
  return type === "email" ? say`${{ exact: address }} by mail` : say`the ${chatNames[type] ?? "unknown"} channel`;
}
