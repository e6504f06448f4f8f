import { errorReply } from "../framework/errors.ts";

/** What a model does next, where the sentence of the error does not say it. */
const next: Record<string, string> = {
  stale_draft: "Read the thread again: a newer message came in. Then reject this draft and submit a new one.",
  content_changed: "Read the draft again: its content changed after it was approved. A person has to decide anew.",
  version_mismatch: "Read the draft again: somebody changed it.",
  human_approval_required: "Wait for a person's decision with wait_for_decision.",
  approvals_missing: "Wait for the others' decisions with wait_for_decision.",
  sending_paused: "Tell the user that sending is paused. Nothing is lost; do not try again until it is resumed.",
  rate_limited: "Wait as long as it says, then call again.",
  unavailable: "Call again in a few seconds.",
  not_found: "Check the id: ids come from list_threads, read_thread and submit_draft.",
  insufficient_scope: "This key may not do that. Tell the user; do not try another way.",
  plan_limit_reached: "Tell the user that the plan's limit is reached.",
  loop_guarded: "Do not answer: the other side seems to be a machine that was answered already.",
};

/** An error of the contract as a tool says it: its sentence, and what to do next. */
export function errorResult(error: unknown, requestId: string) {
  const reply = errorReply(error, { requestId });
  const json = (reply.content as { json: Record<string, unknown> }).json;
  const code = String(json.error);
  const todo = next[code];
  const retryAfter = reply.headers["Retry-After"];
  const structured = retryAfter === undefined ? json : { ...json, retry_after: Number(retryAfter) };
  const text = [`Error ${code}: ${json.message}.`, ...(todo === undefined ? [] : [todo])].join(" ");
  return { isError: true, content: [{ type: "text" as const, text }], structuredContent: structured };
}
