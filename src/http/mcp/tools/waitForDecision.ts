import Type from "typebox";
import { eventsAfter, type FeedPlace, feedEnd, payloadOf } from "#projections/feed/queries.ts";
import { holdersOf } from "../../framework/longRequestLimit.ts";
import type { WireDraft } from "../../present/drafts.ts";
import { Strict, Uuid } from "../../schemas/common.ts";
import { type ToolCall, tool } from "../tool.ts";
import { draftResult } from "./drafts.ts";
import { reading } from "./hints.ts";

const maxSeconds = 600;
/** Below the minute after which many clients give up. */
const defaultSeconds = 45;
/** Milliseconds between progress messages, with which some clients wait longer than a minute. */
const progressMs = 15_000;
const pageSize = 100;

export const waitForDecision = tool({
  name: "wait_for_decision",
  title: "Wait for a decision",
  description:
    "Waits until a draft is decided, sent back for changes, outdated by a newer message, sent or failed, or until timeout_seconds are over; then returns the same as get_draft. Call it instead of calling get_draft repeatedly. More than 50 seconds need a client that waits longer than a minute for an answer. It does not decide.",
  scopes: ["read:threads"],
  input: Strict({
    draft_id: Uuid,
    timeout_seconds: Type.Integer({
      minimum: 1,
      maximum: maxSeconds,
      default: defaultSeconds,
      description: "More than 50 only if the client waits longer than a minute for an answer.",
    }),
  }),
  limit: "read",
  annotations: reading,
  async run(call) {
    const place = call.deps.waits.take(holdersOf({ id: call.keyId, workspaceId: call.workspaceId }));
    const { draft, waitedSeconds } = await decided(call, place.replaced).finally(place.leave);
    const isOver = !isUndecided(draft);
    const { text, structured } = await draftResult(call, draft);
    const notYet = `No decision within ${waitedSeconds} s. Nothing is lost: call wait_for_decision again, or get_draft later.`;
    return {
      text: isOver ? text : `${notYet}\n${text}`,
      structured: { decided: isOver, timed_out: !isOver, ...structured },
    };
  },
});

const isUndecided = ({ status, newer_message_id, changes_requested }: WireDraft): boolean =>
  status === "pending" && newer_message_id === null && changes_requested === null;

/**
 * Resolves with the draft when it is decided, at the timeout, or when another request takes this one's place. Holds no database connection
 * while it waits.
 */
async function decided(
  call: ToolCall<{ draft_id: string; timeout_seconds: number }>,
  replaced: AbortSignal,
): Promise<{ draft: WireDraft; waitedSeconds: number }> {
  const { args, deps, workspaceId, progress } = call;
  const began = performance.now();
  const signal = AbortSignal.any([call.signal, deps.closing, replaced]);
  const lastsMs = args.timeout_seconds * 1000;
  const waited = (): number => performance.now() - began;
  const read = (): Promise<WireDraft> => call.ask("GET /v1/drafts/:id", { params: { id: args.draft_id } });

  deps.requireReadable(["feed"]);
  // Read before the draft, so that later events are not missed.
  let seen = await feedEnd(deps.reads, workspaceId);
  let draft = await read();
  while (isUndecided(draft) && waited() < lastsMs && !signal.aborted) {
    await progress(`waiting for a decision since ${Math.round(waited() / 1000)} s`);
    const timeoutMs = Math.max(1, Math.min(progressMs, lastsMs - waited()));
    const end = await deps.feedTail.next(workspaceId, seen, { timeoutMs, signal });
    if (end === undefined || signal.aborted) continue;
    if (await saysSomething({ seen, end, draft }, call)) {
      await deps.projected(end.position, { of: ["drafts", "threads", "messages"] });
      draft = await read();
    }
    seen = end;
  }
  call.signal.throwIfAborted();
  return { draft, waitedSeconds: Math.round(waited() / 1000) };
}

/** True if new events concern the draft or its thread: other mail of the workspace then causes no read of the draft. */
async function saysSomething(
  { seen, end, draft }: { seen: FeedPlace; end: FeedPlace; draft: WireDraft },
  { deps, workspaceId }: ToolCall,
): Promise<boolean> {
  const rows = await eventsAfter(deps.reads, workspaceId, { after: seen, types: undefined, limit: pageSize });
  // More than one page of events: read the draft in any case.
  if (rows.length === pageSize && rows.at(-1)!.position < end.position) return true;
  return rows.some((row) => {
    const { draft_id, thread_id } = payloadOf(row).data;
    return draft_id === draft.id || thread_id === draft.thread_id || row.type === "thread.merged";
  });
}
