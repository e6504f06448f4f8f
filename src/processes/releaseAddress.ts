import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { addressHash } from "#src/commands/identities/identities.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { idOf } from "#streams/event.ts";
import { causedBy, causeOfTimer, traced } from "./cause.ts";
import type { Process, ProcessContext } from "./process.ts";

const recheckMs = 2_000;

/** A deleted identity's address is free again once nothing of it is on its way out any more. */
export const releaseAddress = (deps: Dependencies): Process => {
  async function release(identityId: string, payload: Record<string, unknown>, { timers }: ProcessContext) {
    const cause = causeOfTimer(payload, "releaseAddress");
    const workspaceId = cause.workspaceId as string;
    const onTheirWay = await draftIdsOfIdentity(deps.reads, workspaceId, { identityId, statuses: ["sending"] });
    if (onTheirWay.length > 0) {
      await timers.set({
        key: identityId,
        name: "release",
        dueAt: new Date(deps.clock.now().getTime() + recheckMs),
        payload,
      });
      return;
    }
    await deps.emailAddresses.handle(
      addressHash(payload.emailAddress as string),
      { type: "ReleaseAddress", identityId },
      cause,
    );
  }
  return {
    name: "releaseAddress",
    categories: ["identity"],
    keyOf: (event) => idOf(event.stream),
    on: {
      IdentityDeleted: async (event, context) => {
        if (!(await deps.projected(event.position))) throw new Unavailable("the read models lag behind");
        const { emailAddress } = event.data;
        const payload = { ...traced(causedBy(event, "releaseAddress")), emailAddress };
        await release(idOf(event.stream), payload, context);
      },
    },
    onTimer: (timer, context) => release(timer.key, timer.payload, context),
  };
};
