import { StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { TooMuchWork } from "#src/platform/threadPool/faults.ts";
import { invalidRequest as invalidField, Rejected } from "#streams/decider.ts";
import { Reply } from "./reply.ts";

/** The HTTP status of each error code of the contract; defined only here. */
export const statuses = {
  unauthorized: 401,
  insufficient_scope: 401,
  plan_limit_reached: 402,
  not_found: 404,
  stale_draft: 409,
  content_changed: 409,
  changes_requested: 409,
  idempotency_in_flight: 409,
  version_mismatch: 412,
  payload_too_large: 413,
  invalid_request: 422,
  invalid_status: 422,
  identity_not_active: 422,
  validation: 422,
  invalid_plan: 422,
  invalid_interval: 422,
  stripe_customer_missing: 422,
  human_approval_required: 422,
  approvals_missing: 422,
  sending_paused: 422,
  cold_send_not_allowed: 422,
  loop_guarded: 422,
  assistant_disabled: 422,
  idempotency_mismatch: 422,
  rate_limited: 429,
  internal_error: 500,
  stripe_error: 502,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof statuses;

/** Error codes of commands that the API reports under a more general code. */
const wireNames: Record<string, ErrorCode> = {
  send_in_progress: "invalid_status",
  approval_withdrawn: "invalid_status",
  answered_meanwhile: "invalid_status",
};

/** Details of a refusal that are shown to the caller, in addition to its code and sentence. */
const publicDetails = [
  "upgrade_url",
  "new_message_id",
  "text",
  "field",
  "status",
  "version",
  "content_sha256",
  "required",
  "given",
  "ends_at",
  "recorded",
  "id",
];

/** A read model cannot be read now. Answered with 503 before any look-up, which would wrongly report not_found. */
export class NotReadable extends Unavailable {
  override readonly name = "NotReadable";
  /** Seconds. */
  readonly retryAfter = 5;
  /** Sentence for the caller. */
  readonly sentence: string;
  constructor(sentence: string) {
    super(sentence);
    this.sentence = `${sentence}: retry shortly`;
  }
}

/** Seconds after which a caller should retry when a dependency is down. */
const retryAfterSeconds = 2;

export type ErrorOptions = { requestId: string; upgradeUrl?: string };

/** The error body. Any error that is neither a refusal nor an outage is reported as internal_error, without details. */
export function errorReply(error: unknown, { requestId, upgradeUrl }: ErrorOptions): Reply {
  const { code, message, details } = asRefusal(error);
  const shown = Object.fromEntries(
    publicDetails.filter((name) => details[name] !== undefined).map((name) => [name, details[name]]),
  );
  if (code === "plan_limit_reached" && upgradeUrl !== undefined) shown.upgrade_url ??= upgradeUrl;
  const status = details.conflict === true ? 409 : statuses[code];
  return new Reply(
    { json: { error: code, message, request_id: requestId, ...shown } },
    status,
    headersOf(code, details),
  );
}

function asRefusal(error: unknown): { code: ErrorCode; message: string; details: Record<string, unknown> } {
  if (error instanceof Rejected) {
    const code = wireNames[error.code] ?? error.code;
    if (Object.hasOwn(statuses, code))
      return { code: code as ErrorCode, message: error.message, details: error.details };
  }
  if (error instanceof NotReadable) {
    return { code: "unavailable", message: error.sentence, details: { retryAfter: error.retryAfter } };
  }
  if (error instanceof TooMuchWork) {
    return { code: "unavailable", message: error.message, details: { retryAfter: error.retryAfter } };
  }
  if (error instanceof Unavailable) {
    const details = error as { recorded?: unknown; id?: unknown };
    const sentence = details.recorded
      ? "the change was recorded but cannot be read yet: retry shortly"
      : "part of the service is unavailable: retry shortly";
    return { code: "unavailable", message: sentence, details: { recorded: details.recorded, id: details.id } };
  }
  if (error instanceof StreamMoved) {
    return { code: "unavailable", message: "too many concurrent changes: retry shortly", details: {} };
  }
  return { code: "internal_error", message: "internal error: something went wrong on our side", details: {} };
}

function headersOf(code: ErrorCode, details: Record<string, unknown>): Record<string, string> {
  if (statuses[code] === 401) return { "WWW-Authenticate": "Bearer" };
  const seconds = details.retryAfter ?? details.retry_after ?? (code === "unavailable" ? retryAfterSeconds : undefined);
  return seconds === undefined ? {} : { "Retry-After": String(seconds) };
}

/** invalid_request; `field` is empty if it is about the request as a whole. */
export const invalid = (field: string, sentence: string): Rejected =>
  field === "" ? new Rejected("invalid_request", sentence) : invalidField(field, sentence);
