import Type from "typebox";
import { Envelope, kilobyte, ListQuery, Nullable, Strict, Text, Timestamp, Uuid, VisibleLine } from "./common.ts";

const AssistantStatus = Type.Enum(["active", "disabled"], {
  description: "Identities of a disabled assistant accept no new drafts or sends; decisions by people still count.",
});
const maxName = 255;
const maxDescription = 8 * kilobyte;

export const Assistant = Strict(
  {
    id: Uuid,
    workspace_id: Uuid,
    name: Type.String(),
    description: Nullable(Type.String()),
    status: AssistantStatus,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Assistant" },
);

export const AssistantList = Envelope(Assistant);

export const AssistantQuery = ListQuery({ status: Type.Optional(AssistantStatus) });

const description = Type.Optional(Nullable(Text(maxDescription)));

export const CreateAssistant = Strict(
  {
    name: VisibleLine(maxName, { examples: ["Support agent"] }),
    description,
    status: Type.Enum(["active", "disabled"], { default: "active" }),
  },
  { title: "CreateAssistant" },
);

/** Absent fields stay unchanged. */
export const UpdateAssistant = Strict(
  {
    name: Type.Optional(VisibleLine(maxName)),
    description,
    status: Type.Optional(AssistantStatus),
  },
  { title: "UpdateAssistant" },
);
