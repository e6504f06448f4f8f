import type { Metadata, Recorded } from "#streams/event.ts";
import type { ValidEvent } from "../validate.ts";
import type { Page, PageRequest } from "./reader.ts";

/** An event as it was sent, and where it ended up. */
export type WrittenEvent = Pick<Recorded, "stream" | "revision" | "position"> & { event: ValidEvent };

/** What one commit added to the log: all events after `after` up to `position`. `bytes`: of data and metadata. */
export type Written = { after: number; position: number; events: readonly WrittenEvent[]; bytes: number };

/** What this process has written lately, so that who follows the log need not read it back. */
export type OwnCommits = {
  add(written: Written): void;
  /** What a read would bring, if all of it was written here, and nothing by others in between. */
  page(request: PageRequest): Page | undefined;
  forget(): void;
};

/** What is kept: who follows the log is a moment behind it, or reads. */
const mostEvents = 500;
const mostBytes = 1_000_000;

export function createOwnCommits(): OwnCommits {
  /** Each begins where the one before it ends. */
  let chain: Written[] = [];
  let events = 0;
  let bytes = 0;

  function forget(): void {
    chain = [];
    events = 0;
    bytes = 0;
  }

  function letGo(): void {
    let gone = 0;
    for (; events > mostEvents || bytes > mostBytes; gone++) {
      events -= chain[gone]!.events.length;
      bytes -= chain[gone]!.bytes;
    }
    if (gone > 0) chain = chain.slice(gone);
  }

  return {
    add(written) {
      if (written.after !== chain.at(-1)?.position) forget();
      chain.push(written);
      events += written.events.length;
      bytes += written.bytes;
      letGo();
    },
    page({ after, upTo, categories, limit }) {
      if (chain.at(-1)?.position !== upTo) return undefined;
      const first = chain.findLastIndex((written) => written.after === after);
      if (first < 0) return undefined;
      const wanted = chain.slice(first).flatMap((written) => written.events);
      if (wanted.length > limit) return undefined;
      return { events: wanted.filter(({ stream }) => isOf(stream, categories)).map(asRead), position: upTo };
    },
    forget,
  };
}

const isOf = (stream: string, categories: readonly string[] | undefined): boolean =>
  !categories || categories.some((category) => stream.startsWith(`${category}-`));

/** From the very text that the log keeps: equal to what a read brings, and nobody else's object. */
const asRead = ({ stream, revision, position, event }: WrittenEvent): Recorded => ({
  id: event.id,
  type: event.type,
  schemaVersion: event.schemaVersion,
  data: JSON.parse(event.data) as Record<string, unknown>,
  metadata: JSON.parse(event.metadata) as Metadata,
  stream,
  revision,
  position,
});
