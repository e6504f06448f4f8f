import { type Guard, noStream } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { newerHumanMessage, staleDraft } from "#streams/draft/staleness.ts";
import { whyApprovalInvalid, whyPersonsApprovalInvalid } from "../approvals/approvalValidity.ts";
import { requireKeysMayDecide } from "../approvals/humanApproval.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import type { Cause } from "../handle.ts";
import { requireQuotaLeft } from "../plans/quotas.ts";
import { freshStates, type Loader } from "../states/loader.ts";
import { claimedAttempt, loadWholeThread } from "../threads/threads.ts";
import { barrierWaitMs, inboxEnd, waitUntilFiled } from "./barrier.ts";
import { type SenderObstacle, type SendingIdentity, senderRefusal, senderState } from "./sender.ts";

/** Names of the checks of a sender; below, names of the checks of a draft. */
type SenderQuestion = "sender" | "plan";
type DraftQuestion = "person" | "approval" | "stale" | "claim" | "attempt";

/** Checks at moments when there is no draft yet, or only the sender matters. */
export const senderMoments = {
  /** One call writes and sends a mail. "written": the caller's approval does not suffice to send; "written to be sent": it suffices. */
  written: ["sender"],
  "written to be sent": ["sender", "plan"],
  /** A draft is submitted, and its identity's setting approves it. */
  "approved by a setting": ["plan"],
  /** The console shows what would prevent the send. */
  shown: ["sender", "plan"],
} as const satisfies Record<string, readonly SenderQuestion[]>;

/** Checks at moments between a draft's approval and its hand-over. */
export const draftMoments = {
  /** A person approves. */
  approved: ["stale"],
  queued: ["person", "sender", "approval", "stale", "plan"],
  "queued again": ["approval", "stale"],
  connected: ["sender", "stale"],
  started: ["sender", "approval", "stale", "claim"],
  "first byte": ["approval"],
  /** The relay was so slow that the last check is older than 5 s when the first byte is to be sent. */
  "late first byte": ["sender", "stale", "claim", "attempt", "approval"],
} as const satisfies Record<string, readonly (SenderQuestion | DraftQuestion)[]>;

/** A draft and the moment for which it is checked. `byKey`: an API key sends it, which counts as an approval. */
export type SendCheck = { moment: keyof typeof draftMoments; draftId: string; draft: Draft; byKey?: boolean };

/**
 * Why a mail may not proceed. `obstacle`: what prevents the sender from sending; the next event of one of the streams in `endedBy` may end
 * it. `lapsed`: see Withdrawal.
 */
export type SendRefusal = {
  question: SenderQuestion | DraftQuestion;
  refusal: Rejected;
  obstacle?: SenderObstacle | "plan_limit_reached";
  endedBy?: readonly Guard[];
  lapsed?: readonly string[];
};

/**
 * Result if the mail may proceed. `guards`: on the streams judged; the append is refused if one has moved. `filedUpTo`: the inbox's last
 * revision; all mail up to it was judged.
 */
type Yes = { no?: undefined; guards: readonly Guard[]; filedUpTo: number };
export type SendVerdict = Yes | { no: SendRefusal; guards?: undefined; filedUpTo?: undefined };
type CheckResult = Partial<Yes> | { no: SendRefusal };

/**
 * Checks if this draft may proceed at this moment, from streams only. Does not check what a stream decides together with the append:
 * status, version, undo, quorum, quota reservation, answers meanwhile, loops (src/sendPath.md, "Moments"). Throws Unavailable while
 * acknowledged mail cannot be filed.
 */
export const checkDraftSendable = (deps: Dependencies, asked: SendCheck, cause: Cause): Promise<SendVerdict> =>
  checkDraftSendableWith(freshStates(deps), asked, cause);

/**
 * Like checkDraftSendable, but with this loader's states, for a moment that ends with an append. Throws Unsure if a "no" must be confirmed
 * with fresh states.
 */
export async function checkDraftSendableWith(loader: Loader, asked: SendCheck, cause: Cause): Promise<SendVerdict> {
  const verdict = await firstRefusal(draftMoments[asked.moment], (question) =>
    question === "sender" || question === "plan"
      ? ofSender[question](loader, asked.draft)
      : ofDraft[question](loader, asked, cause),
  );
  if (verdict.no) loader.requireFresh();
  return verdict;
}

/** Checks if this sender may send, with the checks that this moment requires. */
export function checkSenderAllowed(
  deps: Dependencies,
  sender: SendingIdentity,
  moment: keyof typeof senderMoments,
): Promise<SendVerdict> {
  const loader = freshStates(deps);
  return firstRefusal(senderMoments[moment], (question) => ofSender[question](loader, sender));
}

/** Throws the refusal if this sender may not send. */
export async function requireSenderAllowed(...asked: Parameters<typeof checkSenderAllowed>): Promise<void> {
  const { no } = await checkSenderAllowed(...asked);
  if (no) throw no.refusal;
}

/** Runs all checks concurrently. Returns the first "no" in the order of the checks. */
async function firstRefusal<Q>(
  questions: readonly Q[],
  ask: (question: Q) => Promise<CheckResult>,
): Promise<SendVerdict> {
  const answers = questions.map(ask);
  for (const answer of answers) answer.catch(() => undefined);
  let yes: Yes = { guards: [], filedUpTo: noStream };
  for (const asked of answers) {
    const answer = await asked;
    if (answer.no) return { no: answer.no };
    yes = { ...yes, ...answer };
  }
  return yes;
}

const ofSender: Record<SenderQuestion, (deps: Dependencies, sender: SendingIdentity) => Promise<CheckResult>> = {
  async sender(deps, sender) {
    const { obstacle, guards, endedBy } = await senderState(deps, sender);
    if (obstacle === null) return { guards };
    const { sendingPausedReason } = (await deps.workspaces.load(sender.workspaceId)).state;
    return { no: { question: "sender", obstacle, endedBy, refusal: senderRefusal(obstacle, sendingPausedReason) } };
  },
  /** Takes no quota; the later reservation decides. */
  plan: (deps, { workspaceId }) =>
    answerOf("plan", () => requireQuotaLeft(deps, workspaceId), { obstacle: "plan_limit_reached" }),
};

const ofDraft: Record<DraftQuestion, (deps: Dependencies, asked: SendCheck, cause: Cause) => Promise<CheckResult>> = {
  /** An API key, a rule or a setting may have approved the draft before human approval became required. */
  async person(deps, { draft }) {
    if (draft.approval?.by === "person") return {};
    return answerOf("person", () => requireKeysMayDecide(deps, draft));
  },
  /** If an API key sends, its send is the approval, whatever rule or setting approved before. */
  async approval(deps, { draftId, draft, byKey }) {
    const withdrawal = byKey
      ? await whyPersonsApprovalInvalid(deps, draft)
      : await whyApprovalInvalid(deps, draftId, draft);
    if (withdrawal === null) return {};
    const { because, ...lapsed } = withdrawal;
    return { no: { question: "approval", refusal: new Rejected("approval_withdrawn", because), ...lapsed } };
  },
  async stale(deps, { moment, draft, byKey = false }, cause) {
    for (;;) {
      const filedUpTo = await waitUntilFiled(
        deps,
        draft.identityId,
        barrierWaitMs(deps, byKey || moment === "approved"),
      );
      const newer = newerHumanMessage((await loadWholeThread(deps, draft.threadId, cause)).state, draft);
      if (newer !== null) return { no: { question: "stale", refusal: staleDraft(newer.messageId) } };
      if ((await inboxEnd(deps, draft.identityId)) === filedUpTo) return { filedUpTo };
    }
  },
  async claim(deps, { draftId, draft: { threadId, attemptId } }, cause) {
    const claimed = await claimedAttempt(deps, { threadId, draftId }, cause);
    return claimed.attemptId === attemptId ? {} : { no: { question: "claim", refusal: goneOn } };
  },
  /** Refuses if another instance took over the attempt and ended it. */
  async attempt(deps, { draft }) {
    const { state } = await deps.deliveries.load(draft.attemptId ?? "");
    return state.phase === "started" ? {} : { no: { question: "attempt", refusal: goneOn } };
  },
};

const goneOn = new Rejected("send_in_progress", "another instance has continued with this draft");

async function answerOf(
  question: SendRefusal["question"],
  require: () => Promise<void>,
  more: Pick<SendRefusal, "obstacle"> = {},
): Promise<CheckResult> {
  try {
    await require();
    return {};
  } catch (refusal) {
    if (refusal instanceof Rejected) return { no: { question, refusal, ...more } };
    throw refusal;
  }
}

/** Records the consequence of a "no" and throws its refusal. The draft must be pending or approved, or have a closed attempt. */
export async function recordSendRefusal(
  deps: Dependencies,
  { draftId, draft, no }: { draftId: string; draft: Draft; no: SendRefusal },
  cause: Cause,
): Promise<never> {
  const { question, refusal, lapsed } = no;
  const { message: because } = refusal;
  if (question === "stale") await endStale(deps, { draftId, draft, newMessageId: newerMessageIn(no) }, cause);
  if (question === "person") await changeDraft(deps, { draftId, command: { type: "ReturnToPending", because } }, cause);
  if (question === "approval") {
    const command = { type: "WithdrawApproval", version: draft.version, because, ...(lapsed && { lapsed }) } as const;
    await changeDraft(deps, { draftId, command }, cause);
  }
  throw refusal;
}

/** Returns the id of the customer's newer message, which a refusal as stale contains. */
export const newerMessageIn = ({ refusal }: Pick<SendRefusal, "refusal">): string =>
  refusal.details.new_message_id as string;

/** Marks the draft as stale, because the customer wrote again. A process then releases the draft's claim and quota. */
export async function endStale(
  deps: Dependencies,
  { draftId, draft, newMessageId }: { draftId: string; draft: Draft; newMessageId: string },
  cause: Cause,
): Promise<void> {
  const command = { type: "MarkStale", newMessageId, attemptId: draft.attemptId } as const;
  await changeDraft(deps, { draftId, command }, cause);
}
