import { Rejected } from "../decider.ts";
import type { Draft } from "./draft.ts";

/** Refuses a decision about another version or content than the newest. null: none was named. Throws Rejected version_mismatch. */
export function requireShown(version: number | null, contentSha256: string | null, draft: Draft): void {
  const changed = version !== null && version !== draft.version;
  if (changed || (contentSha256 !== null && contentSha256 !== draft.contentSha256)) {
    throw new Rejected("version_mismatch", `this draft changed: review version ${draft.version} first`, {
      version: draft.version,
    });
  }
}
