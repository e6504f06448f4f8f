import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { addressHash } from "#src/commands/identities/addresses.ts";
import { idOf } from "#streams/event.ts";
import type { Again, Process, ProcessContext } from "./process.ts";

const againInMs = 2_000;

/** A deleted identity's address is free again once nothing of it is on its way out any more. */
export function releaseAddress(deps: Dependencies): Process {
  async function release(identityId: string, { cause }: ProcessContext): Promise<Again | undefined> {
    const { state: identity } = await deps.identities.load(identityId);
    const onTheirWay = { identityId, statuses: ["sending"] };
    if ((await draftIdsOfIdentity(deps.reads, cause.workspaceId as string, onTheirWay)).length > 0)
      return { againInMs };
    await deps.emailAddresses.handle(addressHash(identity.emailAddress), { type: "ReleaseAddress", identityId }, cause);
    return undefined;
  }
  return {
    name: "releaseAddress",
    categories: ["identity"],
    keyOf: (event) => idOf(event.stream),
    on: {
      IdentityDeleted: async (event, context) => {
        if (!(await context.reached(event.position, ["drafts"]))) return { waitFor: event.position, of: ["drafts"] };
        return release(idOf(event.stream), context);
      },
    },
  };
}
