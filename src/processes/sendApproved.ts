import type { Dependencies } from "#src/commands/dependencies.ts";
import { changeDraft } from "#src/commands/drafts/changeDraft.ts";
import { returnedBecause } from "#src/commands/drafts/life/fold.ts";
import type { Cause } from "#src/commands/handle.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { checkSenderAllowed } from "#src/commands/sends/sendChecks.ts";
import { commandThread } from "#src/commands/threads/threads.ts";
import { Rejected } from "#streams/decider.ts";
import { isByPersonOrKey } from "#streams/draft/draft.ts";
import { undoDeadline } from "#streams/draft/undo.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Acting, Process, ProcessContext, SetAside } from "./process.ts";

/** Milliseconds until a draft that another send has claimed is tried again, in case no event reports the claim's release. */
const recheckMs = 10_000;

/**
 * Maximum time in milliseconds that an auto-approved draft waits for its creation rules: `ofTurn` from their beginning, `inAll` in total.
 * After that a person is asked.
 */
const rulesWithinMs = { ofTurn: 30_000, inAll: 300_000 };

/** Refusals because of the sender's state. Events of the sender end them. */
const byState = ["sending_paused", "identity_not_active"];

/** Refusals because the identity now requires a person's approval, or more approvals. */
const wantsPeople = ["human_approval_required", "approvals_missing"];

/** Refusals after which the draft's own status says what happens next. */
const resolved = ["stale_draft", "content_changed", "invalid_status", "approval_withdrawn", "answered_meanwhile"];

/**
 * Sends approved drafts. The approval is recorded first, so a crash before the send loses nothing. A draft approved by a signed-in person
 * is sent once they cannot undo the approval any more; an automatically approved draft, once its creation rules have run.
 */
export function sendApproved(deps: Dependencies): Process {
  async function send(draftId: string, acting: Acting): Promise<SetAside | undefined> {
    for (;;) {
      const { state: draft } = await deps.drafts.load(draftId);
      if (draft.status !== "approved" || !draft.sendRequested) return undefined;
      const until = undoDeadline(draft, deps.clock.now().toISOString());
      // The approval can still be undone, so wait until it cannot, whichever event or timer woke this run. If it is undone by then, there
      // is nothing to do.
      if (until !== null) return again(draftId, acting, { dueAt: new Date(until) });
      // Only a person's approval may precede the creation rules.
      if (draft.autoApproved && !draft.rulesApplied) return undefined;
      try {
        const kind = isByPersonOrKey(draft.approval) ? "approval" : "auto";
        await queueSend(deps, { draftId, kind }, acting.cause);
        return undefined;
      } catch (error) {
        if (!(error instanceof Rejected)) throw error;
        const next = await refused(draftId, error, acting);
        if (next !== "again") return next;
      }
    }
  }

  async function refused(draftId: string, error: Rejected, acting: Acting): Promise<"again" | SetAside | undefined> {
    const { cause } = acting;
    if (resolved.includes(error.code)) return againIfStillMeant(draftId, acting);
    const isOverLimit = error.code === "loop_guarded" && error.details.ends_at !== undefined;
    if (isOverLimit || wantsPeople.includes(error.code)) return askPerson(draftId, error.message, cause);
    // After any other refusal the draft stays approved and shows the reason, so that the approver or a change of plan can resolve it.
    const hold = { type: "HoldSend", code: error.code, message: error.message } as const;
    const { state: draft } = await deps.drafts.handle(draftId, hold, cause);
    if (!byState.includes(error.code) || draft.status !== "approved" || !draft.sendRequested) return undefined;
    const { no } = await checkSenderAllowed(deps, draft, "shown");
    // The obstacle has ended or changed meanwhile, so try again; that sends the draft or records the present reason.
    if (no?.refusal.code !== error.code) return "again";
    // A deleted identity is an obstacle that no event ends.
    return no.endedBy?.length ? { setAside: no.endedBy } : undefined;
  }

  /**
   * Tries again later if the draft is still to be sent. An interrupted send may hold the draft's claim, and the approved draft must be sent
   * once that claim is released.
   */
  async function againIfStillMeant(draftId: string, acting: Acting): Promise<undefined> {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status === "approved" && draft.sendRequested) await again(draftId, acting);
  }

  /**
   * Returns an automatically approved draft to pending, because a person has to decide about it. Its approvers are then asked as for any
   * pending draft. If there are none, its thread is marked for review: first, so that a crash in between loses nothing.
   */
  async function askPerson(draftId: string, because: string, cause: Cause): Promise<undefined> {
    const { state: draft } = await deps.drafts.load(draftId);
    const { state: identity } = await deps.identities.load(draft.identityId);
    if (identity.approvalChannel === null) {
      const reason = `a draft waits for a person, and its identity has no approvers: ${returnedBecause(because)}`;
      const review = { type: "UpdateThread", needsReview: true, because: reason } as const;
      await commandThread(deps, { threadId: draft.threadId, command: review }, cause);
    }
    await changeDraft(deps, { draftId, command: { type: "ReturnToPending", because } }, cause);
  }

  async function again(
    draftId: string,
    { timers }: Acting,
    when: { inMs: number } | { dueAt: Date } = { inMs: recheckMs },
  ): Promise<undefined> {
    await timers.set({ key: draftId, name: "again", ...when });
  }

  const awaitRules =
    (name: keyof typeof rulesWithinMs) =>
    async ({ stream }: Recorded, { timers }: ProcessContext): Promise<void> => {
      const { state: draft } = await deps.drafts.load(idOf(stream));
      if (!draft.rulesApplied) await timers.set({ key: idOf(stream), name, inMs: rulesWithinMs[name] });
    };

  async function onRulesApplied(event: Recorded, context: ProcessContext): Promise<SetAside | undefined> {
    const { state: draft } = await deps.drafts.load(idOf(event.stream));
    if (!draft.autoApproved) return undefined;
    for (const name of Object.keys(rulesWithinMs)) await context.timers.cancel(idOf(event.stream), name);
    return onApproved(event, context);
  }

  async function giveUpOnRules(draftId: string, cause: Cause): Promise<undefined> {
    const command = { type: "GiveUpOnRules", because: "the rules could not be run" } as const;
    await deps.drafts.handle(draftId, command, cause);
  }

  const onApproved = (event: Recorded, context: ProcessContext) => send(idOf(event.stream), context);

  return {
    name: "sendApproved",
    categories: ["draft"],
    keyOf: (event) => idOf(event.stream),
    concerns({ type, data, metadata }) {
      // If this process itself abandoned the send, it continues without the event.
      if (type === "SendAbandoned") return metadata.actor.id !== "sendApproved";
      if (type === "DraftApproved") return data.sendRequested;
      return type !== "DraftSubmitted" || data.autoApproved === true;
    },
    on: {
      DraftSubmitted: awaitRules("inAll"),
      DraftRulesBegun: awaitRules("ofTurn"),
      DraftRulesApplied: onRulesApplied,
      DraftApproved: onApproved,
      // Another send of this draft was interrupted or refused; the approved draft must still be sent.
      SendAbandoned: onApproved,
    },
    onTimer: ({ key, name }, context) => (name === "again" ? send(key, context) : giveUpOnRules(key, context.cause)),
  };
}
