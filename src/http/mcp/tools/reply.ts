import Type from "typebox";
import { Strict, Uuid } from "../../schemas/common.ts";
import { ReplyEmail } from "../../schemas/emails.ts";
import { idempotencyKey } from "../input.ts";
import { tool } from "../tool.ts";
import { sending } from "./hints.ts";

const written = ["thread_id", "body_text", "body_html", "cc", "bcc", "reply_all"] as const;

export const reply = tool({
  name: "reply",
  title: "Reply on a thread",
  description:
    "Answers a thread in one call. If human approval is required, the answer waits as a draft for a person; otherwise it is sent immediately and cannot be undone: prefer submit_draft unless the user asked for an answer to be sent. Refused if a message newer than based_on_message_id has arrived.",
  scopes: ["write:emails"],
  input: Strict({
    ...Type.Pick(ReplyEmail, written).properties,
    // The route defaults to the newest message; required here, so that a model that has not read it notices.
    based_on_message_id: {
      ...Uuid,
      description: "The newest message that you read: newest_message_id of read_thread.",
    },
    ...idempotencyKey,
  }),
  limit: "send",
  annotations: sending,
  async run({ ask, args: { idempotency_key: once, ...body } }) {
    const accepted = await ask("POST /v1/emails/reply", { body }, { once });
    const waits = accepted.queued_at === null;
    const text = waits
      ? `The answer waits for a person as draft_id ${accepted.draft_id} (status ${accepted.status}). Next: call wait_for_decision.`
      : `The answer is on its way: draft_id ${accepted.draft_id}, message_id ${accepted.message_id}. Next: nothing; get_draft shows the result.`;
    return { text, structured: accepted };
  },
});
