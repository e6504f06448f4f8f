import type { Dependencies } from "#src/commands/dependencies.ts";
import { changeDraft } from "#src/commands/drafts/changeDraft.ts";
import type { Cause } from "#src/commands/handle.ts";
import { maySend } from "#src/commands/sends/mayLeave.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { Rejected } from "#streams/decider.ts";
import { isByPersonOrKey } from "#streams/draft/draft.ts";
import { undoableUntil } from "#streams/draft/undo.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Acting, Process, ProcessContext, SetAside } from "./process.ts";

/** A draft that another send holds is told when that one gives it back; this is for what nobody tells. */
const recheckMs = 10_000;

/** How long an auto-approved draft waits for the rules of its creation, from when their turn comes and in all; then a person is asked. */
const rulesWithinMs = { ofTurn: 30_000, inAll: 300_000 };

/** Refusals by a state of the sender that its own events end. */
const byState = ["sending_paused", "identity_not_active"];

/** Refusals because the identity came to want a person's word, or more of them. */
const wantsPeople = ["human_approval_required", "approvals_missing"];

/** Refusals after which the draft's own status says how it goes on. */
const resolved = ["stale_draft", "content_changed", "invalid_status", "approval_withdrawn", "answered_meanwhile"];

/**
 * An approval that means to send is carried out by this rule, so that a crash in between loses nothing; a signed-in person's as soon as they can take it
 * back no more. One by its identity's setting alone comes after the rules of the draft's creation.
 */
export function sendApproved(deps: Dependencies): Process {
  async function send(draftId: string, acting: Acting): Promise<SetAside | undefined> {
    for (;;) {
      const { state: draft } = await deps.drafts.load(draftId);
      if (draft.status !== "approved" || !draft.sendRequested) return undefined;
      const until = undoableUntil(draft, deps.clock.now().toISOString());
      // Whatever woke this: who approved can still take it back. Of one that is, nothing is left to do then.
      if (until !== null) return again(draftId, acting, { dueAt: new Date(until) });
      // Nothing but a person's word comes before the rules of its creation, whatever else woke this.
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
    if (wantsPeople.includes(error.code)) return askPerson(draftId, error.message, cause);
    // Any other refusal leaves the draft approved, with the reason, for the approver or the plan to resolve.
    const hold = { type: "HoldSend", code: error.code, message: error.message } as const;
    const { state: draft } = await deps.drafts.handle(draftId, hold, cause);
    if (!byState.includes(error.code) || draft.status !== "approved" || !draft.sendRequested) return undefined;
    const { no } = await maySend(deps, draft, "shown");
    // By now something else is in the way, or nothing: that is to be its reason.
    if (no?.refusal.code !== error.code) return "again";
    // Nothing ends a deletion.
    return no.endedBy?.length ? { setAside: no.endedBy } : undefined;
  }

  /** A send that was cut off may still hold this draft's claim; once that is taken back, the approval has to be carried out after all. */
  async function againIfStillMeant(draftId: string, acting: Acting): Promise<undefined> {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status === "approved" && draft.sendRequested) await again(draftId, acting);
  }

  /** Approved by nobody, and since then the identity wants a person's word: its approvers are asked as for any pending draft. */
  async function askPerson(draftId: string, because: string, cause: Cause): Promise<undefined> {
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
      // What it abandons itself it goes on from itself.
      if (type === "SendAbandoned") return metadata.actor.id !== "sendApproved";
      if (type === "DraftApproved") return data.sendRequested;
      return type !== "DraftSubmitted" || data.autoApproved === true;
    },
    on: {
      DraftSubmitted: awaitRules("inAll"),
      DraftRulesBegun: awaitRules("ofTurn"),
      DraftRulesApplied: onRulesApplied,
      DraftApproved: onApproved,
      // Another send of this draft was cut off, or refused. What the approval means is carried out after all.
      SendAbandoned: onApproved,
    },
    onTimer: ({ key, name }, context) => (name === "again" ? send(key, context) : giveUpOnRules(key, context.cause)),
  };
}
