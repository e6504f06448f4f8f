import Type from "typebox";
import { Nullable, Strict, Uuid } from "./common.ts";

/** The member who takes care of a draft's decision. */
export const AssignedTo = Strict(
  { user_id: Uuid, name: Type.String() },
  {
    description:
      "The member who takes care of the decision, while the draft is pending: a sign to colleagues. Everybody who may decide still may.",
  },
);

export const AssignDraft = Strict(
  {
    user_id: Nullable(
      Type.String({
        format: "uuid",
        description: "A member who may decide about drafts; null: nobody.",
        examples: [null],
      }),
    ),
  },
  { title: "AssignDraft" },
);
