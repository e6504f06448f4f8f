import type { AttemptToFind } from "#src/mail/mailProvider.ts";
import { marks } from "./mailData.ts";
import type { ApiAnswer } from "./wire.ts";

/** Calls SendGrid's API; undefined if there is no answer. */
export type AskEmailLog = (call: {
  method: "GET" | "POST";
  path: string;
  body?: object;
}) => Promise<ApiAnswer | undefined>;

type LoggedMessage = {
  sg_message_id?: unknown;
  sg_message_id_created_at?: unknown;
  status?: unknown;
  custom_args?: Record<string, unknown>;
};

/** Maximum number of messages to a recipient that are checked, the newest first; each costs a request. */
const looksAtMost = 20;

/**
 * Looks for an attempt in the email logs by its mark: SendGrid filters by recipient and time, not by marks. A log that lags behind, is
 * incomplete, or may not be read by this account (it is an add-on) is no evidence: undefined.
 */
export async function findInLog(
  ask: AskEmailLog,
  { attemptId, recipients, since }: AttemptToFind,
): Promise<"accepted" | "refused" | undefined> {
  // The query language cannot write a quote inside a value.
  const recipient = recipients.find((address) => !/['"\\]/.test(address));
  if (recipient === undefined) return undefined;
  const from = since.toISOString().replace(/\.\d+Z$/, "Z");
  const query = `to_email = '${recipient}' AND sg_message_id_created_at >= TIMESTAMP "${from}"`;
  const found = read(await ask({ method: "POST", path: "/v3/logs", body: { query, limit: 100 } }));
  const messages = (Array.isArray(found?.messages) ? (found.messages as LoggedMessage[]) : []).toSorted(
    (one, other) => madeAt(other) - madeAt(one),
  );
  for (const { sg_message_id: id } of messages.slice(0, looksAtMost)) {
    if (typeof id !== "string") continue;
    const message = read(await ask({ method: "GET", path: `/v3/logs/${encodeURIComponent(id)}` })) as
      | LoggedMessage
      | undefined;
    if (message?.custom_args?.[marks.attempt] !== attemptId) continue;
    // A mail with several recipients that was dropped for one still proves that SendGrid had it.
    return message.status === "dropped" && recipients.length === 1 ? "refused" : "accepted";
  }
  return undefined;
}

const madeAt = ({ sg_message_id_created_at: at }: LoggedMessage): number => Date.parse(String(at)) || 0;

function read(answer: ApiAnswer | undefined): Record<string, unknown> | undefined {
  if (answer?.status !== 200) return undefined;
  try {
    const value: unknown = JSON.parse(answer.text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
