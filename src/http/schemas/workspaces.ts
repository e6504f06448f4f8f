import Type from "typebox";
import { Plan, PlanStatus } from "./billing.ts";
import { Nullable, Strict, Text, Timestamp, Uuid, VisibleLine } from "./common.ts";

export const Workspace = Strict(
  {
    id: Uuid,
    name: Type.String(),
    slug: Type.String(),
    plan: Plan,
    plan_status: PlanStatus,
    beta_override: Type.Boolean({ description: "True if plan limits are bypassed." }),
    sending_paused: Type.Boolean({ description: "While true, nothing is sent." }),
    sending_paused_reason: Nullable(
      Type.String({ description: "The reason given by the person or key that paused it." }),
    ),
    sending_paused_by: Nullable(
      Strict(
        { kind: Type.String(), id: Type.String(), name: Type.Optional(Type.String()) },
        { description: "The signed-in person, API key or operator that paused it." },
      ),
    ),
    sending_paused_at: Nullable(Timestamp),
    require_human_approval: Type.Boolean({
      description: "Applies to each of the workspace's identities as if set there.",
    }),
    require_named_approvers: Type.Boolean({
      description:
        "Approval links lead to the sign-in, so that each of their decisions is a member's. Presses in chats are not concerned.",
    }),
    emails_sent_this_period: Type.Integer({ minimum: 0 }),
    inbound_received_this_period: Type.Integer({ minimum: 0 }),
    trial_ends_at: Nullable(Timestamp),
    current_period_start: Nullable(Timestamp),
    current_period_end: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Workspace" },
);

export const UpdateWorkspace = Strict(
  {
    name: Type.Optional(Nullable(Text(255, { minLength: 1 }))),
    sending_paused: Type.Optional(Type.Boolean()),
    sending_paused_reason: Type.Optional(
      Nullable(
        VisibleLine(200, {
          description: "Shown wherever a send is refused because of the pause. Only while sending is paused.",
        }),
      ),
    ),
    require_human_approval: Type.Optional(Type.Boolean()),
    require_named_approvers: Type.Optional(Type.Boolean()),
  },
  { title: "UpdateWorkspace" },
);
