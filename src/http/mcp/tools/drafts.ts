import Type from "typebox";
import type { WireDraft } from "../../present/drafts.ts";
import { Strict, Uuid } from "../../schemas/common.ts";
import { CreateDraft, Draft, EditDraft } from "../../schemas/drafts.ts";
import { createFence } from "../fence.ts";
import { idempotencyKey } from "../input.ts";
import { draftData, draftText, withText } from "../texts/draft.ts";
import { type ToolCall, type ToolResult, tool } from "../tool.ts";
import { reading, sending, writing } from "./hints.ts";

const { version } = Draft.properties;
const draftId = { draft_id: Uuid };

const written = [
  ...["thread_id", "identity_id", "based_on_message_id", "body_text", "body_html", "subject_override", "cc", "bcc"],
  "rationale",
] as const;

export const submitDraft = tool({
  name: "submit_draft",
  title: "Submit a draft answer",
  description:
    "Submits an answer on a thread as a draft, based on its newest message. A person approves or rejects it; nothing is sent by this call, unless the identity's own settings approve replies. Give a rationale: the person reads it. Then call wait_for_decision.",
  scopes: ["write:drafts"],
  input: Strict({ ...Type.Pick(CreateDraft, written as never).properties, ...idempotencyKey }),
  limit: "write",
  annotations: writing,
  async run(call) {
    const { idempotency_key: once, ...body } = call.args;
    const { warnings, ...draft } = await call.ask("POST /v1/drafts", { body }, { once });
    const { text, structured } = await draftResult(call, draft);
    return {
      text: [text, ...warnings.map((each) => `Warning: ${each}.`)].join("\n"),
      structured: { ...structured, warnings },
    };
  },
});

export const reviseDraft = tool({
  name: "revise_draft",
  title: "Revise a pending draft",
  description:
    'Changes a pending draft, for example because an approver asked for changes (changes_requested): a new version, which a person has to decide about again. Give the version that you read; if the draft has changed meanwhile, nothing is done. What is left out stays as it is; "" removes a text, and [] the addresses of cc or bcc. A draft that is outdated by a newer message cannot be revised: submit a new one.',
  scopes: ["write:drafts"],
  input: Strict({ ...draftId, version, ...EditDraft.properties }),
  revises: true,
  limit: "write",
  annotations: writing,
  async run(call) {
    const { draft_id: id, version: ifMatch, ...body } = call.args;
    return draftResult(call, await call.ask("PATCH /v1/drafts/:id", { params: { id }, ifMatch, body }));
  },
});

export const getDraft = tool({
  name: "get_draft",
  title: "Read a draft",
  description:
    "Returns a draft's status, who decided, the reason for a rejection, the changes that an approver asked for, whether a newer message has arrived (newer_message_id) or the message was answered meanwhile (answered_meanwhile), and what to do next.",
  scopes: ["read:threads"],
  input: Strict(draftId),
  limit: "read",
  annotations: reading,
  async run(call) {
    return draftResult(call, await call.ask("GET /v1/drafts/:id", { params: { id: call.args.draft_id } }));
  },
});

export const sendDraft = tool({
  name: "send_draft",
  title: "Send a draft",
  description:
    "Sends a draft, once, however often it is called. If human approval is required, only what a person has approved is sent; otherwise this call also approves an undecided draft, and no person sees it first: call wait_for_decision first, unless the user asked for it to be sent. If a newer message has arrived, the draft becomes stale instead. Give the version that was approved.",
  scopes: ["write:emails"],
  input: Strict({ ...draftId, version: Type.Optional(version), ...idempotencyKey }),
  limit: "send",
  annotations: { ...sending, idempotentHint: true },
  async run({ ask, args: { draft_id: id, version: ifMatch, idempotency_key: once } }) {
    const sent = await ask("POST /v1/drafts/:id/send", { params: { id }, ifMatch }, { once });
    return {
      text: `Draft draft_id ${sent.draft_id} is on its way. Next: nothing; get_draft shows the result.`,
      structured: sent,
    };
  },
});

/** The result of every tool about one draft. */
export async function draftResult(call: ToolCall, given: WireDraft): Promise<ToolResult> {
  const draft = await withText(call, given);
  const now = call.now();
  return { text: draftText(draft, { fence: createFence(), now }), structured: { draft: draftData(draft, { now }) } };
}
