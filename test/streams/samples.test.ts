import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import type { Event } from "#streams/event.ts";
import { newestVersion, upcast } from "#streams/upcast.ts";

type Sample = { type: string; schemaVersion: number; data: Record<string, unknown>; metadata: Record<string, unknown> };

const folder = new URL("../../streams/", import.meta.url);
const text = (path: string) => readFileSync(new URL(path, folder), "utf8");
const streams = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** The types of a stream's union, from the text that declares them. */
const typesOf = (stream: string): string[] =>
  [...text(`${stream}/events.ts`).matchAll(/\bEvent<\s*"(\w+)"/g)].map((match) => match[1] as string);

const samplesOf = (stream: string): Sample[] => JSON.parse(text(`${stream}/samples.json`));

describe("stored events", () => {
  it("stored events are found in every stream", () => {
    expect(streams).to.include.members(["draft", "thread", "filing", "delivery", "quota"]);
    for (const stream of streams) expect(typesOf(stream), stream).not.to.have.length(0);
    expect(typesOf("draft")).to.include.members(["DraftSubmitted", "ApproversAsked", "DraftRejected"]);
  });

  for (const stream of streams) {
    it(`every version of every event type of ${stream} has a sample, and can be folded`, async () => {
      const samples = samplesOf(stream);
      const versions = typesOf(stream).flatMap((type) =>
        Array.from({ length: newestVersion(type) }, (_, index) => `${type} ${index + 1}`),
      );
      expect(new Set(samples.map(({ type, schemaVersion }) => `${type} ${schemaVersion}`))).to.include.all.keys(
        versions,
      );
      expect(new Set(samples.map((sample) => upcast(sample).type))).to.deep.equal(new Set(typesOf(stream)));
      const { [`${stream}Decider`]: decider } = await import(`../../streams/${stream}/decider.ts`);
      expect(decider.category).to.equal(stream);
      for (const sample of samples) {
        const event = upcast(sample);
        expect(sample.metadata).to.include.keys("workspaceId", "actor", "correlationId", "causationId", "at");
        const state = fold(decider, [event as Event]);
        // An event that evolve does not know would leave nothing behind.
        expect(state, sample.type).to.be.an(decider.initial instanceof Map ? "map" : "object");
      }
      fold(decider, samples.map((sample) => upcast(sample)) as Event[]);
    });
  }
});
