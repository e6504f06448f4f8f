import { readEvents } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";
import { type FilingEvent, filingStream } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";

/** Number of events per page. Decisions that name many mails are large; this many of them fit well into memory. */
const pageSize = 200;

/** Reads a filing stream from a revision (inclusive) to its end, in pages. */
export async function* filingEvents(
  { store }: Pick<Dependencies, "store">,
  identityId: string,
  fromRevision: number,
): AsyncGenerator<Recorded<FilingEvent>[]> {
  for (let from = fromRevision; ; ) {
    const events = await readEvents<FilingEvent>(store, filingStream(identityId), { from, count: pageSize });
    if (events.length > 0) yield events;
    if (events.length < pageSize) return;
    from = (events.at(-1) as Recorded).revision + 1;
  }
}
