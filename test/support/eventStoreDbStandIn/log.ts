/** One event as received: the stand-in does not read its content. */
export type Proposed = { id: string; type: string; contentType: string; data: Uint8Array; metadata: Uint8Array };
export type StoredRecord = Proposed & { stream: string; revision: number; position: number; writtenAt: number };

export type Expected = number | "no_stream" | "any" | "stream_exists";
export type AppendAnswer =
  | { kind: "written"; last: StoredRecord }
  | { kind: "wrong"; current: number }
  | { kind: "too_large" };

export const maxAppendSize = 1_048_576;
/** Number of recent ids that an append at "any" revision recognises. */
const recentIds = 1000;

/** The server's log in memory, with its rules for revisions and for ids it has seen before. */
export class RecordLog {
  readonly records: StoredRecord[] = [];
  readonly streams = new Map<string, StoredRecord[]>();
  readonly #listeners = new Set<(record: StoredRecord) => void>();
  #nextPosition: number;

  constructor(firstPosition = 167) {
    this.#nextPosition = firstPosition;
    this.write("$users", [{ id: crypto.randomUUID(), type: "$UserCreated", ...empty }]);
  }

  onWrite(listener: (record: StoredRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  append(stream: string, expected: Expected, events: Proposed[]): AppendAnswer {
    const bytes = events.reduce((sum, event) => sum + event.data.length, 0);
    if (bytes > maxAppendSize) return { kind: "too_large" };
    const current = (this.streams.get(stream)?.length ?? 0) - 1;
    if (expected === "stream_exists" && current < 0) return { kind: "wrong", current };
    if (expected === "any" || expected === "stream_exists") {
      return { kind: "written", last: this.#recent(stream, events) ?? this.write(stream, events) };
    }
    const revision = expected === "no_stream" ? -1 : expected;
    // At the current revision ids are not compared: the same ones are written a second time.
    if (revision === current) return { kind: "written", last: this.write(stream, events) };
    const last = this.#alreadyThere(stream, revision, events);
    return last ? { kind: "written", last } : { kind: "wrong", current };
  }

  /** Appends without any check, like other applications on the same log. */
  write(stream: string, events: Proposed[]): StoredRecord {
    const target = this.streams.get(stream) ?? [];
    this.streams.set(stream, target);
    const written = events.map((event, index) => {
      const position = this.#nextPosition;
      this.#nextPosition += 90 + stream.length + event.data.length + event.metadata.length;
      return { ...event, stream, revision: target.length + index, position, writtenAt: Date.now() };
    });
    target.push(...written);
    this.records.push(...written);
    for (const record of written) for (const listener of this.#listeners) listener(record);
    return written.at(-1) ?? target.at(-1)!;
  }

  /** Returns the index of the first record at this position or later; undefined for a position between records. */
  indexOf(position: number): number | undefined {
    if (position > (this.records.at(-1)?.position ?? 0)) return this.records.length;
    const index = this.records.findLastIndex((record) => record.position <= position);
    return this.records[index]?.position === position ? index : undefined;
  }

  /**
   * Returns the last record if the same ids are stored from `revision` on: a prefix or run of stored events is recognised, anything new
   * is not.
   */
  #alreadyThere(stream: string, revision: number, events: Proposed[]): StoredRecord | undefined {
    const there = (this.streams.get(stream) ?? []).slice(revision + 1, revision + 1 + events.length);
    const same = there.length === events.length && there.every(({ id }, index) => id === events[index]!.id);
    return same ? there.at(-1) : undefined;
  }

  #recent(stream: string, events: Proposed[]): StoredRecord | undefined {
    const lately = this.records.slice(-recentIds);
    const found = events.map(({ id }) => lately.find((record) => record.stream === stream && record.id === id));
    return found.every((record) => record !== undefined) ? found.at(-1) : undefined;
  }
}

const empty = { contentType: "application/json", data: Buffer.from("{}"), metadata: new Uint8Array() };

/** Makes an event of some other application. */
export const foreignEvent = (type = "SomethingElse"): Proposed => ({ id: crypto.randomUUID(), type, ...empty });
