import { errorReply } from "../framework/errors.ts";
import { createFence, untrustedLine } from "./fence.ts";

const readAgain = "Read the thread again: a newer message has arrived. Then submit a new draft that is based on it.";
const tellUser = "Tell the user; do not try another way.";

/** Advice to the model on its next step, if the error's sentence does not give it. */
const next: Record<string, string> = {
  unauthorized: "The key is wrong or was revoked. Stop and tell the user.",
  insufficient_scope: `This key may not do that. ${tellUser}`,
  stale_draft: readAgain,
  content_changed: "Read the draft again: its content changed after it was approved. A person has to decide again.",
  version_mismatch:
    "Read the draft again with get_draft: it was changed. Call again with its version, if that still makes sense.",
  invalid_request: "Correct the argument that the message begins with, and call again.",
  invalid_status: "Read the draft with get_draft, which says what to do next.",
  payload_too_large: "Shorten the text, and call again.",
  human_approval_required: "Wait for a person's decision with wait_for_decision.",
  approvals_missing: "Wait for the other approvers' decisions with wait_for_decision.",
  sending_paused: "Tell the user that sending is paused. Nothing is lost; do not try again until it is resumed.",
  identity_not_active: `This address cannot send now. ${tellUser}`,
  assistant_disabled: `The assistant of this address is switched off. ${tellUser}`,
  rate_limited: "Wait as long as the message says, then call again.",
  unavailable: "Call again in a few seconds.",
  not_found: "Check the id: ids come from list_threads, read_thread and submit_draft.",
  plan_limit_reached: "Tell the user that the plan's quota is used up.",
  loop_guarded:
    "Do not try again now: the other side seems to be a machine. Tell the user. If the message names a time, a person can approve this answer before it, and a key can send it from then on.",
  internal_error: "Tell the user, with the request_id. You may try once more.",
};

/** Advice for a call that was recorded although its answer failed. */
const recorded =
  "The change was made; only the response is missing. Do not repeat it: check with get_draft or read_thread.";

/** Errors whose sentence quotes a colleague's text. */
const quoting = ["sending_paused"];

/** Maximum number of characters of a sentence, which may repeat an argument's name. */
const maxSentence = 1_000;

/** The tool result for an error of the contract: its sentence, and advice on the next step. */
export function errorResult(error: unknown, requestId: string) {
  const reply = errorReply(error, { requestId });
  const json = (reply.content as { json: Record<string, unknown> }).json;
  const code = String(json.error);
  const sentence = untrustedLine(String(json.message), maxSentence);
  const todo = json.recorded === true ? recorded : next[code];
  const said = quoting.includes(code)
    ? {
        text: `Error ${code}.\n${createFence()({ what: "why", text: sentence })}\n`,
        data: { message: code, untrusted: { message: sentence } },
      }
    : { text: `Error ${code}: ${sentence}. `, data: { message: sentence } };
  const retryAfter = reply.headers["Retry-After"];
  const wait = retryAfter === undefined ? {} : { retry_after: Number(retryAfter) };
  const field = json.field === undefined ? {} : { field: untrustedLine(String(json.field)) };
  const structured: Record<string, unknown> = { ...json, ...field, ...said.data, ...wait, ...(todo && { next: todo }) };
  const text = `${said.text}${todo ?? ""}`.trimEnd();
  return { isError: true, content: [{ type: "text" as const, text }], structuredContent: structured };
}

export { next as nextSteps };
