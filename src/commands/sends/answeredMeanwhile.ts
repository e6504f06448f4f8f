import { answeredElsewhereBy } from "#projections/drafts/queries.ts";
import { Rejected } from "#streams/decider.ts";
import { type Draft, isByPersonOrKey } from "#streams/draft/draft.ts";
import { type DraftEvent, draftStream } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import type { Cause } from "../handle.ts";

type KnownDraft = { draftId: string; draft: Draft };

/**
 * Claims the send of an approved draft, unless its message was answered after the approval. In that case the approvers are asked again,
 * once per answer. `claim` receives the answers that the approvers knew of; the thread's stream refuses the claim if there is any other. An
 * approval by a rule or a setting is not affected. Throws Rejected answered_meanwhile, and any error of `claim`.
 */
export async function claimUnlessAnswered<T>(
  deps: Dependencies,
  { draftId, draft, claim }: KnownDraft & { claim: (knows: readonly string[]) => Promise<T> },
  cause: Cause,
): Promise<T> {
  await requireNoneElsewhere(deps, { draftId, draft }, cause);
  let knows: readonly string[] = [];
  for (;;) {
    try {
      return await claim(knows);
    } catch (error) {
      if (!(error instanceof Rejected) || error.code !== "answered_meanwhile") throw error;
      const answers = error.details.answers as string[];
      knows = await knownAnswers(deps, { draftId, draft, answers });
      await askAboutUnknown(deps, { draftId, draft, answers, knows, refusal: error }, cause);
    }
  }
}

/**
 * Asks again about answers that another identity of the workspace gave to the same mail, as far as the read models know them: an answer of
 * the same moment from another mailbox is only shown.
 */
async function requireNoneElsewhere(deps: Dependencies, { draftId, draft }: KnownDraft, cause: Cause): Promise<void> {
  if (draft.basedOnMessageId === null || !isByPersonOrKey(draft.approval)) return;
  const answers = await answeredElsewhereBy(deps.reads, draft.workspaceId, draftId);
  if (answers.length === 0) return;
  const knows = await knownAnswers(deps, { draftId, draft, answers });
  const refusal = new Rejected(
    "answered_meanwhile",
    "the message was answered from another address after this approval",
  );
  await askAboutUnknown(deps, { draftId, draft, answers, knows, refusal }, cause);
}

type Refused = KnownDraft & { answers: readonly string[]; knows: readonly string[]; refusal: Rejected };

/** Asks the approvers again, and throws the refusal, if they do not know of all answers. */
async function askAboutUnknown(
  deps: Dependencies,
  { draftId, draft, answers, knows, refusal }: Refused,
  cause: Cause,
): Promise<void> {
  const answeredBy = answers.filter((each) => !knows.includes(each));
  if (answeredBy.length === 0) return;
  await changeDraft(deps, { draftId, command: { type: "AskAgain", version: draft.version, answeredBy } }, cause);
  throw refusal;
}

/** Returns the answers that the approvers were asked again about, or that were queued before they approved, by log position. */
async function knownAnswers(
  deps: Dependencies,
  { draftId, draft, answers }: KnownDraft & { answers: readonly string[] },
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
