import Type from "typebox";
import { Nullable, Strict } from "./common.ts";
import { DraftAttachment } from "./drafts.ts";

export const ContentQuery = Strict({ version: Type.Optional(Type.Integer({ minimum: 1 })) });

/** The exact content that is sent; content_sha256 is the hash of its RFC 8785 JSON. */
export const DraftContent = Strict(
  {
    from: Strict({ name: Type.String(), address: Type.String() }),
    reply_to: Nullable(Type.String()),
    to: Type.Array(Type.String()),
    cc: Type.Array(Type.String()),
    bcc: Type.Array(Type.String()),
    subject: Type.String(),
    body_text: Nullable(Type.String()),
    body_html: Nullable(Type.String()),
    signature_text: Nullable(Type.String()),
    signature_html: Nullable(Type.String()),
    in_reply_to: Nullable(Type.String()),
    references: Type.Array(Type.String()),
    attachments: Type.Array(DraftAttachment),
  },
  { title: "DraftContent" },
);
