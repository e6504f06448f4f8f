import { subjectsSentTo } from "#projections/drafts/queries.ts";
import type { MessageRow } from "#projections/messages/queries.ts";
import type { Hint } from "#src/channels/hints/hints.ts";
import { withoutPrefixes } from "#src/mail/in/text/subjects.ts";
import type { Dependencies } from "../dependencies.ts";

/** Milliseconds within which a program answers. A person needs longer. */
const atOnceMs = 60_000;

/** Characters of a subject that an absence notice has to repeat, at least: shorter ones stand in any mail. */
const shortestSubject = 12;

/**
 * Returns a hint if the message may be an absence notice that has no sign of one, as vacation(1) writes them: it answers nothing, came within
 * a minute after a mail of ours to its sender, and repeats the subject of that mail.
 */
export async function absenceHint(
  { reads }: Pick<Dependencies, "reads">,
  message: MessageRow,
  text: string | null,
): Promise<Hint[]> {
  const { workspace_id: workspaceId, identity_id: identityId, from_email: address, received_at: until } = message;
  const answersNothing = message.in_reply_to === null && message.reference_ids.length === 0;
  if (message.kind !== "customer" || !answersNothing || until === null || address === "") return [];
  const since = new Date(until.getTime() - atOnceMs);
  const said = `${message.subject}\n${text ?? ""}`.toLowerCase();
  const subjects = await subjectsSentTo(reads, workspaceId, { identityId, address, since, until });
  const repeated = subjects.map(withoutPrefixes).find((ours) => ours.length >= shortestSubject && said.includes(ours));
  return repeated === undefined ? [] : [hint];
}

const hint: Hint = {
  kind: "absence_notice",
  sentence:
    "The message looks like an absence notice: it came within a minute after a mail to its sender, and repeats that mail's subject.",
};
