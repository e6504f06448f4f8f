import type { Actor } from "#streams/event.ts";
import { unreachable } from "#streams/unreachable.ts";
import type { DecisionRequest } from "./life.ts";
import { joinPhrases, type Phrase } from "./phrases.ts";

/** Describes an actor, for use after "by". Says no more than the log proves: a link or key is identified, the person who used it is not. */
export function actorInWords(actor: Actor): Phrase[] {
  const { kind, id, name, channel, email } = actor;
  const known: Phrase = name === undefined ? { exact: id } : { said: name };
  switch (kind) {
    case "email_link":
      return linkInWords({ id, channel });
    case "telegram":
      return name === undefined
        ? joinPhrases`Telegram user ${{ exact: id }}`
        : joinPhrases`${known} (Telegram user ${{ exact: id }})`;
    case "slack":
      return name === undefined
        ? joinPhrases`Slack user ${{ exact: id }}`
        : joinPhrases`${known} (Slack user ${{ exact: id }})`;
    case "session":
      if (name === undefined || name === email) return joinPhrases`${{ exact: email ?? id }}, who was signed in`;
      return joinPhrases`${known}${email !== undefined && joinPhrases` (${{ exact: email }})`}, who was signed in`;
    case "api_key":
      return joinPhrases`the API key ${known}`;
    case "rule":
      return joinPhrases`the rule ${known}`;
    case "auto":
      return joinPhrases`the identity's setting auto_approve_replies`;
    case "system":
      return joinPhrases`the service itself`;
    case "operator":
      return joinPhrases`the operator (${{ exact: id }})`;
    case "sender":
      return joinPhrases`the sender of a mail (${{ exact: id }})`;
    default:
      return unreachable(kind);
  }
}

function linkInWords({ id, channel = "email" }: Pick<Actor, "id"> & { channel?: string | undefined }): Phrase[] {
  if (channel !== "email") return joinPhrases`a person who followed a link in ${chatNames[channel] ?? "a chat"}`;
  return id.includes("@")
    ? joinPhrases`a person with the link from an approval mail to ${{ exact: id }}`
    : joinPhrases`a person with the link from an approval mail`;
}

const chatNames: Partial<Record<string, string>> = { telegram: "Telegram", slack: "Slack" };

/** Describes where a request was sent: to a mailbox or a chat. A chat's address is not shown, because it is a number or a hash. */
export function channelInWords({ type, address }: DecisionRequest["channel"]): Phrase[] {
  return type === "email"
    ? joinPhrases`${{ exact: address }} by mail`
    : joinPhrases`the ${chatNames[type] ?? "unknown"} channel`;
}
