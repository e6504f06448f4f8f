import type { Dependencies } from "#src/commands/dependencies.ts";
import { releaseAddress as release } from "#src/commands/identities/addresses.ts";
import { idOf } from "#streams/event.ts";
import type { Process } from "./process.ts";

const againInMs = 2_000;

/** Frees a deleted identity's address once none of the identity's mail is being sent. Usually the deletion has freed it already. */
export function releaseAddress(deps: Dependencies): Process {
  return {
    name: "releaseAddress",
    categories: ["identity"],
    keyOf: (event) => idOf(event.stream),
    on: {
      IdentityDeleted: async (event, context) => {
        if (!(await context.reached(event.position, ["drafts"]))) return { waitFor: event.position, of: ["drafts"] };
        const deleted = { workspaceId: context.cause.workspaceId as string, identityId: idOf(event.stream) };
        return (await release(deps, deleted, context.cause)) ? undefined : { againInMs };
      },
    },
  };
}
