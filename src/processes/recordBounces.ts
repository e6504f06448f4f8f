import type { Dependencies } from "#src/commands/dependencies.ts";
import { reportDelivery } from "#src/commands/sends/deliveryReports.ts";
import { idOf } from "#streams/event.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Process } from "./process.ts";

/** A bounce of our own mail, known by the Message-ID it reports, says what became of that mail: whether its own text is shown or held. */
export const recordBounces = (deps: Dependencies): Process => ({
  name: "recordBounces",
  categories: ["filing"],
  keyOf: (event) => idOf(event.stream),
  on: {
    FilingDecided: async (event, { cause }) => {
      const { bouncedAttemptId: attemptId, deliveryId } = event.data as FilingDecision;
      if (attemptId === null) return;
      const evidence = `a bounce came back (delivery ${deliveryId})`;
      await reportDelivery(deps, { attemptId, outcome: "bounced", evidence }, cause);
    },
  },
});
