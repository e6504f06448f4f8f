import Type from "typebox";
import { maxReasonBytes } from "#src/channels/approvalDecisions.ts";
import { Strict, Text, Timestamp } from "./common.ts";

/** An open request for changes to a draft. */
export const ChangesRequested = Strict(
  {
    by: Strict({
      kind: Type.String({ description: "api_key, telegram, slack, email_link or session" }),
      id: Type.String(),
      name: Type.Optional(Type.String()),
      channel: Type.Optional(Type.String()),
    }),
    text: Type.String(),
    at: Timestamp,
    version: Type.Integer({ minimum: 1 }),
  },
  {
    description:
      "Set while an approver waits for changes: what to change, in their words, and the version that they saw. An edit answers it. Meanwhile approving and sending answer 409 changes_requested.",
  },
);

export const RequestChanges = Strict(
  { text: Text(maxReasonBytes, { minLength: 1, description: "What to change; the agent sees these words." }) },
  { title: "RequestChanges" },
);
