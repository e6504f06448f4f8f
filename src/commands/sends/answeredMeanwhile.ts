import { Rejected } from "#streams/decider.ts";
import { type Draft, isByPersonOrKey } from "#streams/draft/draft.ts";
import { type DraftEvent, draftStream } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import type { Cause } from "../handle.ts";

/**
 * Claims the send of an approved draft, unless its message was answered after the approval. In that case the approvers are asked again,
 * once per answer. `claim` receives the answers that the approvers knew of; the thread's stream refuses the claim if there is any other. An
 * approval by a rule or a setting is not affected. Throws Rejected answered_meanwhile, and any error of `claim`.
 */
export async function claimUnlessAnswered<T>(
  deps: Dependencies,
  { draftId, draft, claim }: { draftId: string; draft: Draft; claim: (knows: readonly string[]) => Promise<T> },
  cause: Cause,
): Promise<T> {
  let knows: readonly string[] = [];
  for (;;) {
    try {
      return await claim(knows);
    } catch (error) {
      if (!(error instanceof Rejected) || error.code !== "answered_meanwhile") throw error;
      const answers = error.details.answers as string[];
      knows = await knownAnswers(deps, { draftId, draft, answers });
      const unknown = answers.filter((each) => !knows.includes(each));
      if (unknown.length === 0) continue;
      const command = { type: "AskAgain", version: draft.version, answeredBy: unknown } as const;
      await changeDraft(deps, { draftId, command }, cause);
      throw error;
    }
  }
}

/** Returns the answers that the approvers were asked again about, or that were queued before they approved, by log position. */
async function knownAnswers(
  deps: Dependencies,
  { draftId, draft, answers }: { draftId: string; draft: Draft; answers: readonly string[] },
): Promise<string[]> {
  if (!isByPersonOrKey(draft.approval)) return [...answers];
  const approvedAt = approvalPosition(await eventsOf(deps, draftId));
  const known: string[] = [];
  for (const answer of answers) {
    const queued = (await eventsOf(deps, answer)).find(({ type }) => type === "DraftQueued");
    const isOlder = queued !== undefined && queued.position < approvedAt;
    if (isOlder || draft.askedAgainAbout.includes(answer)) known.push(answer);
  }
  return known;
}

const eventsOf = async (deps: Dependencies, draftId: string) =>
  (await deps.store.read(draftStream(draftId))) as Recorded<DraftEvent>[];

/** Returns the log position of the present approval's first vote. */
function approvalPosition(events: readonly Recorded<DraftEvent>[]): number {
  const returned = events.findLastIndex(
    ({ type, data }) => type === "DraftReturnedToPending" && !data.withdrawn && !data.lapsed,
  );
  const since = events.slice(returned + 1);
  const approval = since.findLast((event) => event.type === "DraftApproved");
  if (approval === undefined) return -1;
  const { version, quorum } = approval.data;
  const votes = since.filter(
    (event) =>
      event.type === "ApprovalGiven" && event.data.version === version && quorum?.voters.includes(event.data.voter),
  );
  return Math.min(approval.position, ...votes.map(({ position }) => position));
}
