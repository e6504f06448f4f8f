import { expect } from "chai";
import { createRecentEvents } from "#src/work/recentEvents.ts";
import type { Recorded } from "#streams/event.ts";

const event = (position: number, text = ""): Recorded => ({
  ...{
    id: `${position}`,
    type: "Happened",
    data: { text },
    stream: "toy-1",
    revision: position,
    position,
    schemaVersion: 1,
  },
  metadata: { workspaceId: null, actor: { kind: "system", id: "t" }, correlationId: "c", causationId: "c", at: "" },
});

describe("recent events", () => {
  it("are the newest thousand, each once", () => {
    const recent = createRecentEvents();
    for (let position = 1; position <= 1_200; position++) recent.add([event(position), event(position)]);
    expect([recent.at(200), recent.at(201)?.position, recent.at(1_200)?.position]).to.deep.equal([
      undefined,
      201,
      1_200,
    ]);
  });

  it("are fewer if they are large", () => {
    const recent = createRecentEvents();
    for (let position = 1; position <= 100; position++) recent.add([event(position, "x".repeat(400_000))]);
    const kept = Array.from({ length: 100 }, (_, n) => n + 1).filter((position) => recent.at(position));
    expect(kept).to.have.length(19);
    expect(kept.at(-1)).to.equal(100);
  });
});
