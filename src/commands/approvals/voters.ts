import { mailboxOf } from "#src/mail/out/measure/measure.ts";
import type { Asked } from "#streams/draft/events.ts";
import { keysVoter, linkVoter, type Voting } from "#streams/draft/quorum.ts";
import type { Actor } from "#streams/event.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { requiresHuman } from "./humanApproval.ts";

type Voter = Pick<Voting, "voter" | "place">;

/**
 * Who counts once, whichever way they came: a person of a chat, a mailbox, a person who is signed in, and all API keys together. A member whose address
 * an approval mail goes to is one with it. A link into a chat tells nobody apart: all who follow one into chats of a kind are one voter. `channel`: what the decision came
 * through; null for none.
 */
export function voterOf({ kind, id }: Pick<Actor, "kind" | "id">, channel: Asked["channel"] | null): Voter {
  const place = channel === null || channel.type === "email" ? null : placeOf(channel);
  if (kind === "api_key") return { voter: keysVoter, place: null };
  if (kind === "email_link") return { voter: place === null ? mailbox(id) : linkVoter(place), place };
  if (kind === "session" && id.includes("@")) return { voter: mailbox(id), place: null };
  return { voter: `${kind}:${id}`, place };
}

/** Another spelling or tag of an address leads to the same person. */
const mailbox = (address: string): string => `mailbox:${mailboxOf(address)}`;

/** Questions of before a chat's address was kept share one place. */
const placeOf = ({ type, address }: Asked["channel"]): string => `${type} ${address ?? ""}`.trim();

/** How many approvals an identity requires at this moment, and whether the keys' counts as one. */
export async function quorumOf(
  deps: Pick<Dependencies, "workspaces">,
  identity: Identity,
): Promise<Pick<Voting, "required" | "keysCount">> {
  const required = identity.approvalsRequired;
  // Where one is enough, whoever may decide at all decides.
  return { required, keysCount: required === 1 || !(await requiresHuman(deps, identity)) };
}

/** An approval as the draft's stream counts it. `channel`: what it came through; null for none. */
export const votingOf = async (
  deps: Pick<Dependencies, "workspaces">,
  identity: Identity,
  { actor, channel }: { actor: Actor; channel: Asked["channel"] | null },
): Promise<Voting> => ({ ...voterOf(actor, channel), ...(await quorumOf(deps, identity)) });
