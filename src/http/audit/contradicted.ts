import { HeadContradicted } from "#src/commands/audit/signHead.ts";
import { invalidRequest } from "#streams/decider.ts";

/** Documents when a route that signs a head answers 409. */
export const contradictionConflict =
  "the workspace's events contradict a head that was signed, so nothing more is proven";

/** Returns the result of work that signs a head. Refuses with 409 if the tree contradicts a signed head. */
export async function whenContradicted<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof HeadContradicted)) throw error;
    throw invalidRequest(
      "id",
      "the events of this workspace do not continue a head that was signed: they were changed, or the database was restored from a backup. No evidence is issued until the operator has found out why and runs npm run audit -- new-epoch",
      { conflict: true },
    );
  }
}
