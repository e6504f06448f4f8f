import type { Tool } from "../tool.ts";

/** Reads what the service has, and changes nothing. */
export const reading: Tool["annotations"] = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** Writes what a person still decides about. */
export const writing: Tool["annotations"] = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};

/** Lets mail leave, which nobody can take back. */
export const sending: Tool["annotations"] = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};
