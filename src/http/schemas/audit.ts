import Type from "typebox";
import { Envelope, Paging, Strict, Timestamp } from "./common.ts";

export const AuditHead = Strict(
  {
    epoch: Type.Integer({ minimum: 1 }),
    size: Type.Integer({ minimum: 1, description: "How many entries the tree had." }),
    root: Type.String({ description: "The tree's root hash at this size, in base64." }),
    signed_at: Timestamp,
    verifier_key: Type.String({
      description: "The public key of its signature, as a verifier key of C2SP signed-note: ORIGIN+ID+KEY.",
    }),
    witnesses: Type.Array(Type.String(), { description: "Names of those who signed it besides the service." }),
    checkpoint: Type.String({ description: "What is signed, and the signatures, as in C2SP tlog-checkpoint." }),
  },
  { title: "AuditHead" },
);

export const AuditHeadList = Envelope(AuditHead);
export const AuditHeadQuery = Paging;
