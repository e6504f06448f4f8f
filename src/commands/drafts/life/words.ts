import type { Actor } from "#streams/event.ts";
import { unreachable } from "#streams/unreachable.ts";
import type { Life, Word } from "./life.ts";
import type { LifeEvent } from "./lifeEvents.ts";

type Event<Type extends LifeEvent["type"]> = Extract<LifeEvent, { type: Type }>;

/** Whose word an approval is, given the life before it. */
export function wordOf({ data, at, actor }: Event<"DraftApproved">, { votes, wroteAndSent }: Life): Word {
  const { version, contentSha256, quorum } = data;
  const about = { at, version, contentSha256 };
  if (quorum === undefined) return { ...about, ...alone(actor, wroteAndSent === actor.id ? "wrote" : "approved") };
  const given = votes.filter(({ voter }) => quorum.voters.includes(voter));
  return { ...about, by: "people", required: quorum.required, given };
}

/** A single decision. `how`: what it was if a key made it. */
export function alone(actor: Actor, how: Extract<Word, { by: "key" }>["how"]) {
  switch (actor.kind) {
    case "email_link":
    case "telegram":
    case "slack":
    case "session":
      return { by: "person", who: actor } as const;
    case "api_key":
      return { by: "key", who: actor, how } as const;
    case "rule":
      return { by: "rule", who: actor } as const;
    case "auto":
      return { by: "setting" } as const;
    case "system":
    case "operator":
    case "sender":
      return { by: "service", who: actor } as const;
    default:
      return unreachable(actor.kind);
  }
}

/** Whose word a queued draft leaves on: the approval before it, or the key's that sent it. */
export function queuedWord({ data, at, actor }: Event<"DraftQueued">, { word, wroteAndSent }: Life): Word | null {
  const { version, contentSha256, authorisation } = data;
  switch (authorisation.kind) {
    case "approval":
    case "auto":
      return word;
    case "api_key":
      if (word?.by === "key") return word;
      return { at, version, contentSha256, by: "key", who: actor, how: wroteAndSent === actor.id ? "wrote" : "sent" };
    default:
      return unreachable(authorisation.kind);
  }
}
