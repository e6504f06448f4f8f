import { randomUUID } from "node:crypto";
import { expect } from "chai";
import {
  type EventStore,
  InvalidAppend,
  maxAppendBytes,
  maxEventBytes,
  type NewEvent,
  noStream,
} from "#src/eventStore/eventStore.ts";
import { consume, count, errorOf, newCategory, newEvent, newStream } from "./support.ts";
import type { LogUnderTest } from "./underTest.ts";

const nested = (depth: number): Record<string, unknown> => {
  let value: Record<string, unknown> = { end: true };
  for (let level = 0; level < depth; level++) value = { value };
  return value;
};

/** `{"text":"…"}` of exactly this many bytes. */
const ofBytes = (bytes: number): Record<string, unknown> => ({ text: "x".repeat(bytes - '{"text":""}'.length) });

const faithful: Record<string, Record<string, unknown>> = {
  "no data": {},
  "every kind of value": { a: null, b: true, c: -1.5e-7, d: 9007199254740991, e: [], f: {}, g: "", h: [[{ i: [0] }]] },
  "NUL and other control characters": { text: "a\u0000b\u0001\u001f\u007f\u2028\u2029", "key\u0000": 1 },
  "quotes, backslashes and braces": { text: `"\\"{},\\u0000 \\\\u0000 '"'' $1 {"a"}`, '"': "\\" },
  "text of many scripts": { text: "Grüße, 你好, مرحبا, 🤷🏽‍♀️, a\u0301 é ﷽ \ufeff\ufffd", ключ: "値" },
  "half a surrogate pair": { text: "\ud83d and \ude00, \udfff\ud800" },
  "line breaks": { text: "one\r\ntwo\nthree\rfour\ttab" },
  "names that mean something to JavaScript": JSON.parse(
    '{"__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":"x","hasOwnProperty":null}',
  ),
  "names in an order of their own": { zeta: 1, alpha: 2, "": 3, beta: { z: 1, a: 2 } },
  "deep nesting": nested(500),
  "the largest event": ofBytes(maxEventBytes),
};

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;
const twice = newEvent();
const bad: Record<string, unknown[]> = {
  "no events": [],
  "an id that is no UUID": [{ ...newEvent(), id: "17" }],
  "the same id twice": [twice, { ...newEvent(), id: twice.id.toUpperCase() }],
  "an empty type": [newEvent({}, "")],
  "a type that belongs to the store": [newEvent({}, "$metadata")],
  "data that is a bigint": [{ ...newEvent(), data: 1n }],
  "data that holds a bigint": [newEvent({ amount: 1n })],
  "data that is undefined": [{ ...newEvent(), data: undefined }],
  "data that is a function": [{ ...newEvent(), data: () => 1 }],
  "data that holds itself": [newEvent(cyclic)],
  "metadata that holds a bigint": [{ ...newEvent(), metadata: { ...newEvent().metadata, at: 1n } }],
  "metadata that is undefined": [{ ...newEvent(), metadata: undefined }],
  "metadata that is null": [{ ...newEvent(), metadata: null }],
  "metadata that is a list": [{ ...newEvent(), metadata: [newEvent().metadata] }],
  "metadata that is a text": [{ ...newEvent(), metadata: "by whom" }],
  "a schema version that is none": [{ ...newEvent(), schemaVersion: 1.5 }],
  "an event over the limit": [newEvent(ofBytes(maxEventBytes + 1))],
  "events over the limit together": [newEvent(ofBytes(maxAppendBytes / 2)), newEvent(ofBytes(maxAppendBytes / 2))],
  "a bad event behind a good one": [newEvent(), newEvent({ amount: 1n })],
};
const badNames = [
  "",
  "draft",
  "-1",
  "draft-",
  "$draft-1",
  "$all",
  "my-",
  "dra ft-1",
  "draft-\u0000",
  "draft-é",
  "1draft-1",
];

export function payloadContract(log: () => LogUnderTest): void {
  describe("payloads", () => {
    for (const [name, data] of Object.entries(faithful)) {
      it(`a payload is read back unchanged: ${name}`, async () => {
        const { store } = log();
        const category = newCategory();
        const stream = newStream(category);
        const after = await store.head();
        const event: NewEvent = { ...newEvent(data), schemaVersion: 7 };
        const { position } = await store.append(stream, noStream, [event]);
        const [read] = await store.read(stream);
        expect(JSON.stringify(read?.data)).to.equal(JSON.stringify(data));
        expect({ ...read, data: 0 }).to.deep.equal({ ...event, data: 0, stream, revision: 0, position });
        const { events } = await consume(store, { after, categories: [category] }, count(1));
        expect(JSON.stringify(events)).to.equal(JSON.stringify([read]));
        expect(JSON.stringify(await store.readLast(stream))).to.equal(JSON.stringify(read));
      });
    }

    it("metadata is read back unchanged", async () => {
      const { store } = log();
      const stream = newStream();
      const event = newEvent();
      event.metadata = {
        ...event.metadata,
        workspaceId: null,
        actor: { kind: "sender", id: 'o"\\u0000x\u0000\ud800', name: "Ünï 🐈", userAgent: "\\u0000", ip: "::1" },
      };
      await store.append(stream, noStream, [event]);
      expect((await store.readLast(stream))?.metadata).to.deep.equal(event.metadata);
    });

    it("an event without a version has version 1, and ids are stored in lower case", async () => {
      const { store } = log();
      const stream = newStream();
      const id = randomUUID();
      await store.append(stream, noStream, [{ ...newEvent(), id: id.toUpperCase() }]);
      expect(await store.readLast(stream)).to.include({ id, schemaVersion: 1 });
    });

    for (const [name, events] of Object.entries(bad)) {
      it(`an append is refused without harm to later ones: ${name}`, async () =>
        expectRefused(log().store, newStream(), events));
    }

    it("an append to an invalid stream name is refused", async () => {
      for (const name of badNames) {
        expect(await errorOf(log().store.append(name, noStream, [newEvent()])), name).to.be.instanceOf(InvalidAppend);
      }
    });

    it("an append at an invalid revision is refused", async () => {
      for (const revision of [-2, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        expect(await errorOf(log().store.append(newStream(), revision, [newEvent()]))).to.be.instanceOf(InvalidAppend);
      }
    });

    it("a refused append fails no other append", async () => {
      const { store } = log();
      const streams = Array.from({ length: 20 }, () => newStream());
      const appends = streams.map((stream, n) => store.append(stream, noStream, [newEvent(n % 2 ? { n } : { n: 1n })]));
      const results = await Promise.allSettled(appends);
      expect(results.map((result) => result.status)).to.deep.equal(
        streams.map((_, n) => (n % 2 ? "fulfilled" : "rejected")),
      );
      const lengths = await Promise.all(streams.map(async (stream) => (await store.read(stream)).length));
      expect(lengths).to.deep.equal(streams.map((_, n) => n % 2));
    });
  });
}

async function expectRefused(store: EventStore, stream: string, events: unknown[]): Promise<void> {
  expect(await errorOf(store.append(stream, noStream, events as NewEvent[]))).to.be.instanceOf(InvalidAppend);
  expect(await store.read(stream)).to.deep.equal([]);
  await store.append(stream, noStream, [newEvent()]);
}
