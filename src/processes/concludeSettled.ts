import type { Dependencies } from "#src/commands/dependencies.ts";
import { idOf } from "#streams/event.ts";
import { causedBy } from "./cause.ts";
import { endAccepted } from "./deliveryEnds.ts";
import type { Process } from "./process.ts";

/**
 * A report can settle what nobody knew: then the draft is sent, or, if it had failed as unconfirmed, gets that evidence. Other settlements
 * are concluded by the code that settled them; doing it twice changes nothing.
 */
export const concludeSettled = (deps: Dependencies): Process => ({
  name: "concludeSettled",
  categories: ["delivery"],
  keyOf: (event) => idOf(event.stream),
  on: {
    DeliverySettled: async (event) => {
      if (event.data.outcome !== "accepted") return;
      const { state: delivery } = await deps.deliveries.load(idOf(event.stream));
      if (delivery.phase !== "accepted") return;
      const { draftId } = delivery.started;
      const attemptId = idOf(event.stream);
      const { state: draft } = await deps.drafts.load(draftId);
      if (draft.attemptId !== attemptId) return;
      await endAccepted(deps, { draftId, attemptId, delivery }, causedBy(event, "concludeSettled"));
    },
  },
});
