import { askApprovers } from "#src/commands/askApprovers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import { draftStream } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { causedBy, causeOfTimer, traced } from "./cause.ts";
import type { Process, ProcessContext } from "./process.ts";

/** Seconds before each further try to reach the approvers. */
const retrySeconds = [5, 30, 120, 600];

/** A draft that waits for a person is shown to its approvers: when it is submitted, whenever it changes, and when the agent asks again. */
export function notifyApprovers(deps: Dependencies, provider: MailProvider): Process {
  async function ask(draftId: string, tries: number, cause: Cause, { timers }: ProcessContext): Promise<void> {
    const { state: draft, position } = await deps.load(draftDecider, draftStream(draftId));
    if (draft.status !== "pending" || draft.notified.answered.includes(cause.causationId)) return;
    // What approvers are shown comes from the read models, which have to know this draft first.
    if (!(await deps.projected(position))) throw new Unavailable("the read models lag behind");
    const again = retrySeconds[tries];
    const reached = await askApprovers(deps, provider, draftId, draft, again === undefined, cause);
    if (reached || again === undefined) return;
    const due = new Date(deps.clock.now().getTime() + again * 1000);
    await timers.set(draftId, "retry", due, { ...traced(cause), tries: tries + 1 });
  }
  const onEvent = (event: Recorded, context: ProcessContext) =>
    ask(idOf(event.stream), 0, causedBy(event, "notifyApprovers"), context);
  return {
    name: "notifyApprovers",
    categories: ["draft"],
    keyOf: (event) => idOf(event.stream),
    on: {
      DraftSubmitted: onEvent,
      DraftEdited: onEvent,
      DraftReturnedToPending: onEvent,
      NotifyRequested: onEvent,
    },
    onTimer: (timer, context) =>
      ask(timer.key, timer.payload.tries as number, causeOfTimer(timer.payload, "notifyApprovers"), context),
  };
}
