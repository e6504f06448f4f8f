import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";

/**
 * Folders of the provider's own descriptions (OpenAPI 3.1), if they are on this machine: `SENDGRID_OPENAPI`, or a folder next to the
 * repository.
 */
const folders = [process.env.SENDGRID_OPENAPI, join(import.meta.dirname, "../../../../shared/openapi")];

/** Returns the path of a description (`tsg_mail_v3.json`); undefined if it is not on this machine. */
export const descriptionFile = (name: string): string | undefined =>
  folders
    .filter((folder) => folder !== undefined)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));

/**
 * Validates bodies by the schema at a JSON pointer of a description, or by `otherwise`, a smaller schema of our own, if the description
 * is not on this machine. Returns the faults in words; undefined if there are none.
 */
export function judgeBy(
  { file, pointer }: { file: string; pointer: string },
  otherwise: object,
): (body: unknown) => string | undefined {
  const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });
  const path = descriptionFile(file);
  if (path) ajv.addSchema({ $id: "description", ...JSON.parse(readFileSync(path, "utf8")) });
  const check = ajv.compile(path ? { $ref: `description#${pointer}` } : otherwise);
  return (body) => (check(body) ? undefined : ajv.errorsText(check.errors));
}
