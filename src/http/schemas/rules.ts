import Type from "typebox";
import { fieldsOf } from "#streams/rule/content.ts";
import { operators, triggerEvents } from "#streams/rule/events.ts";
import { At, DateOrTime, Envelope, HeaderText, ListQuery, Nullable, Strict, Timestamp, Uuid } from "./common.ts";

const RuleStatus = Type.Enum(["active", "inactive"]);
const quoted = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(", ");

const fieldTable = triggerEvents.map((trigger) => `- \`${trigger}\`: ${quoted(fieldsOf[trigger])}`).join("\n");

const conditionsText = `A group \`{operator: AND | OR, conditions: [...]}\` of groups and conditions \`{field, op, value}\`; \`{}\` and any other
empty group pass. At most 10,240 bytes as JSON, 100 conditions, groups nested 8 levels deep.

Fields by trigger:
${fieldTable}

Operators: ${quoted(operators)}. \`in\` and \`not_in\` take a list of strings, the others one string. \`thread.status\` and
\`contact.status\` take the first two and the last two only. Addresses, domains and ids compare without case, other values exactly;
\`contains\`, \`starts_with\` and \`ends_with\` ignore case. \`contact.tag\` and \`message.to_emails\` match if any of their values does. What is
missing matches only the negative operators.`;

const actionsText = `What to do, in order. At most 10,240 bytes as JSON.
- \`{type: "set_thread_status", status: open | waiting | draft_pending | closed}\`
- \`{type: "set_approval_mode", mode: manual | auto}\`: at \`email.received\` for the next draft based on that message, at
  \`draft.created\` for that draft
- \`{type: "skip_approval"}\`: approves the pending draft and queues it
- \`{type: "notify_channel", channel: telegram | slack | email, config}\`: \`config\` as in an identity's approval channel
- \`{type: "add_tag", tag}\`: tags the contact
- \`{type: "set_priority", priority: low | normal | high | urgent}\`: of the thread

If a condition asks about \`contact.*\`, \`message.from_email\` or \`thread.status\`, \`skip_approval\` and \`set_approval_mode\` \`auto\` take
effect only with proof of the message's sender (DMARC, aligned), and only if that proof covers every recipient. If one asks about
\`message.subject\`, \`message.body_text\` or \`thread.subject\`, only for an answer to the message's From alone. Never for an identity that requires
human approval. Of several actions about one draft's approval the last one counts.`;

const conditionsExample = {
  operator: "AND",
  conditions: [
    { field: "contact.status", op: "equals", value: "trusted" },
    { field: "message.subject", op: "not_contains", value: "refund" },
  ],
};
const actionsExample = [
  { type: "set_priority", priority: "high" },
  { type: "add_tag", tag: "vip" },
];

const Conditions = Type.Unsafe<Record<string, unknown>>({
  type: "object",
  description: conditionsText,
  examples: [conditionsExample],
});
const Actions = Type.Unsafe<Record<string, unknown>[]>({
  type: "array",
  items: { type: "object" },
  description: actionsText,
  examples: [actionsExample],
});

export const Rule = Strict(
  {
    id: Uuid,
    workspace_id: Uuid,
    version: Type.Integer({ minimum: 1, description: "Increases by one with every change; evaluations refer to it." }),
    name: Type.String(),
    trigger_event: Type.Enum([...triggerEvents]),
    conditions: Conditions,
    actions: Actions,
    status: RuleStatus,
    priority: Type.Integer(),
    stop_after_match: Type.Boolean(),
    identity_id: Nullable(Uuid),
    assistant_id: Nullable(Uuid),
    warnings: Type.Array(Type.String(), { description: "Sentences about such a rule to consider." }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Rule" },
);

const name = HeaderText(255, { minLength: 1, examples: ["Trusted customers first"] });
const triggerEvent = Type.String({ description: `One of ${quoted(triggerEvents)}.`, examples: ["email.received"] });
const bounds = { minimum: -1_000_000, maximum: 1_000_000 };
const priorityText = "Lower is evaluated first.";

const given = {
  name,
  trigger_event: triggerEvent,
  conditions: Type.Unsafe<Record<string, unknown>>({ ...Conditions, default: {} }),
  actions: Type.Unsafe<unknown[]>({ ...Actions, items: {}, default: [] }),
  status: Type.Enum(["active", "inactive"], { default: "active" }),
  priority: Type.Integer({ ...bounds, default: 100, description: priorityText }),
  stop_after_match: Type.Boolean({ default: false }),
  identity_id: Type.Optional(Nullable(Uuid)),
  assistant_id: Type.Optional(Nullable(Uuid)),
};

export const CreateRule = Strict(given, { title: "CreateRule" });

/** Absent fields stay unchanged. */
export const UpdateRule = Strict(
  {
    name: Type.Optional(name),
    trigger_event: Type.Optional(triggerEvent),
    conditions: Type.Optional(Conditions),
    actions: Type.Optional(Type.Unsafe<unknown[]>({ ...Actions, items: {} })),
    status: Type.Optional(RuleStatus),
    priority: Type.Optional(Type.Integer({ ...bounds, description: priorityText })),
    stop_after_match: Type.Optional(Type.Boolean()),
    identity_id: Type.Optional(Nullable(Uuid)),
    assistant_id: Type.Optional(Nullable(Uuid)),
  },
  { title: "UpdateRule" },
);

export const RuleList = Envelope(Rule);

export const RuleQuery = ListQuery({
  trigger_event: Type.Optional(Type.Enum([...triggerEvents])),
  status: Type.Optional(RuleStatus),
  at: At,
});
export const RuleStateQuery = Strict({ at: At });

const outcomes = {
  type: Type.String(),
  reason: Nullable(Type.String({ description: "Why the action was not done." })),
};

export const RuleEvaluation = Strict(
  {
    id: Uuid,
    rule_id: Uuid,
    rule_version: Type.Integer({ minimum: 1 }),
    trigger_event: Type.Enum([...triggerEvents]),
    trigger_event_id: Uuid,
    identity_id: Uuid,
    thread_id: Uuid,
    message_id: Nullable(Uuid),
    draft_id: Nullable(Uuid),
    matched: Type.Boolean(),
    actions: Type.Array(
      Strict({ ...outcomes, outcome: Type.Enum(["pending", "done", "suppressed", "refused", "failed"]) }),
    ),
    evaluated_at: Timestamp,
  },
  { title: "RuleEvaluation" },
);

export const RuleEvaluationList = Envelope(RuleEvaluation);
export const RuleEvaluationQuery = ListQuery({ matched: Type.Optional(Type.Boolean()) });

export const TestRule = Strict(
  { rule: CreateRule, since: Type.Optional(DateOrTime) },
  { title: "TestRule", examples: [{ rule: { name: "Try", trigger_event: "email.received" }, since: "2026-01-01" }] },
);

export const RuleTest = Strict(
  {
    evaluated: Type.Integer({ minimum: 0 }),
    matched: Type.Integer({ minimum: 0 }),
    results: Type.Array(
      Strict({
        at: Timestamp,
        trigger_event: Type.Enum([...triggerEvents]),
        identity_id: Uuid,
        thread_id: Uuid,
        message_id: Nullable(Uuid),
        draft_id: Nullable(Uuid),
        matched: Type.Boolean(),
        actions: Type.Array(Strict({ ...outcomes, outcome: Type.Enum(["would_run", "suppressed"]) })),
      }),
    ),
  },
  { title: "RuleTest" },
);
