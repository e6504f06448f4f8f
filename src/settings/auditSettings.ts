import Type from "typebox";
import { Directory, ListOf, OneOf, Witness } from "./settingKinds.ts";

/** The settings of the audit trees: a part of src/settings/settings.ts. */
export const auditSettings = {
  AUDIT_HEAD_DIR: Type.Optional(
    Directory({
      otherwise: "the directory DATA_DIR",
      description:
        "The directory of copies of the newest signed audit heads; one on another disk than the database shows that a database was restored.",
    }),
  ),
  AUDIT_WITNESSES: Type.Optional(
    ListOf(Witness(), {
      otherwise: "no witness is asked",
      description:
        "The witnesses (C2SP tlog-witness) that are asked to cosign the heads of the audit trees; npm run audit -- witness-lines prints what each has to know.",
    }),
  ),
  AUDIT_PUBLIC: OneOf(["true", "false"], {
    default: "false",
    description:
      "With true, checkpoints and tiles of the audit trees, which hold hashes alone, are served without a key; entries never are.",
  }),
};
