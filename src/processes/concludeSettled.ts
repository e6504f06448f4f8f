import type { Dependencies } from "#src/commands/dependencies.ts";
import { deliveryDecider } from "#streams/delivery/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import { draftStream } from "#streams/draft/events.ts";
import { idOf } from "#streams/event.ts";
import { causedBy } from "./cause.ts";
import { endAccepted } from "./deliveryEnds.ts";
import type { Process } from "./process.ts";

/**
 * A report can settle what nobody knew: then the draft is sent, or, where it had failed as unconfirmed, gets that evidence. Other settlements
 * are concluded by whoever settled them; doing it twice changes nothing.
 */
export const concludeSettled = (deps: Dependencies): Process => ({
  name: "concludeSettled",
  categories: ["delivery"],
  keyOf: (event) => idOf(event.stream),
  on: {
    DeliverySettled: async (event) => {
      if (event.data.outcome !== "accepted") return;
      const { state: delivery } = await deps.load(deliveryDecider, event.stream);
      const draftId = delivery.started?.draftId;
      if (draftId === undefined) return;
      const { state: draft } = await deps.load(draftDecider, draftStream(draftId));
      if (draft.attemptId !== idOf(event.stream)) return;
      await endAccepted(deps, { draftId, draft, delivery }, causedBy(event, "concludeSettled"));
    },
  },
});
