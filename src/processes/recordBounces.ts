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
  concerns: ({ data }) => (data as FilingDecision).bouncedAttemptId !== null,
  on: {
    FilingDecided: async (event, { cause }) => {
      const { bouncedAttemptId, deliveryId } = event.data as FilingDecision;
      const evidence = `a bounce came back (delivery ${deliveryId})`;
      await reportDelivery(deps, { attemptId: bouncedAttemptId as string, outcome: "bounced", evidence }, cause);
    },
  },
});
