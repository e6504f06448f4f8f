import type { Actor } from "#streams/event.ts";
import { unreachable } from "#streams/unreachable.ts";
import type { DraftLife, RecordedAuthorisation } from "./life.ts";
import type { LifeEvent } from "./lifeEvents.ts";

type LifeEventOf<Type extends LifeEvent["type"]> = Extract<LifeEvent, { type: Type }>;

/** Returns the authorisation that an approval event gives. The life passed in is the one before that event. */
export function authorisationOf(
  { data, at, actor }: LifeEventOf<"DraftApproved">,
  { votes, wroteAndSent }: DraftLife,
): RecordedAuthorisation {
  const { version, contentSha256, quorum } = data;
  const about = { at, version, contentSha256 };
  if (quorum === undefined)
    return { ...about, ...singleAuthorisation(actor, wroteAndSent === actor.id ? "wrote" : "approved") };
  const given = votes.filter(({ voter }) => quorum.voters.includes(voter));
  return { ...about, by: "people", required: quorum.required, given };
}

/** Returns the authorisation by a single decision. `how`: how the API key authorised the send, if a key decided. */
export function singleAuthorisation(actor: Actor, how: Extract<RecordedAuthorisation, { by: "key" }>["how"]) {
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

/** Returns the authorisation under which a queued draft is sent: the earlier approval, or the send by an API key if there was none. */
export function queuedAuthorisation(
  { data, at, actor }: LifeEventOf<"DraftQueued">,
  { authorisation: earlier, wroteAndSent }: DraftLife,
): RecordedAuthorisation | null {
  const { version, contentSha256, authorisation } = data;
  switch (authorisation.kind) {
    case "approval":
    case "auto":
      return earlier;
    case "api_key":
      if (earlier?.by === "key") return earlier;
      return { at, version, contentSha256, by: "key", who: actor, how: wroteAndSent === actor.id ? "wrote" : "sent" };
    default:
      return unreachable(authorisation.kind);
  }
}
