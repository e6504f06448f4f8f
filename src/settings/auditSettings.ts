import Type from "typebox";
import { Directory, OneOf } from "./settingKinds.ts";

/** The settings of the audit trees: a part of src/settings/settings.ts. */
export const auditSettings = {
  AUDIT_HEAD_DIR: Type.Optional(
    Directory({
      otherwise: "DATA_DIR",
      description:
        "The directory of copies of the newest signed audit heads; one on another disk than the database shows a database that was put back.",
    }),
  ),
  AUDIT_PUBLIC: OneOf(["true", "false"], {
    default: "false",
    description:
      "With true, checkpoints and tiles of the audit trees, which hold hashes alone, are served without a key; entries never are.",
  }),
};
