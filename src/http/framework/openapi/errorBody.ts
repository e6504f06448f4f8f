import Type from "typebox";

/** The body of every error. */
export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: "A stable code for programs." }),
    message: Type.String({ description: "A sentence for people." }),
    request_id: Type.String(),
    field: Type.Optional(Type.String({ description: "The field or parameter that is wrong." })),
    upgrade_url: Type.Optional(Type.String()),
    required: Type.Optional(
      Type.Integer({ description: "The number of approvals that the identity requires, with approvals_missing." }),
    ),
    given: Type.Optional(Type.Integer({ description: "The number of approvals given so far." })),
    new_message_id: Type.Optional(Type.String()),
    ends_at: Type.Optional(
      Type.String({
        format: "date-time",
        description: "With loop_guarded: the time from which one more answer to the address is possible.",
      }),
    ),
    text: Type.Optional(Type.String()),
    status: Type.Optional(Type.String({ description: "The draft's status, if the status prevents the operation." })),
    version: Type.Optional(Type.Integer({ description: "The current version, if another one was given or approved." })),
    content_sha256: Type.Optional(
      Type.String({ description: "The content hash of that version, with content_changed." }),
    ),
    recorded: Type.Optional(
      Type.Boolean({ description: "True if the write was recorded and only the read models lag." }),
    ),
    id: Type.Optional(Type.String()),
  },
  {
    title: "Error",
    examples: [{ error: "not_found", message: "no such resource", request_id: "0d6c2f0e-6d1e-4c7c-9d2a-5a3b0d0d8a11" }],
  },
);
