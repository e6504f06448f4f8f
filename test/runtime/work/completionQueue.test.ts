import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { systemClock } from "#src/platform/clock.ts";
import { connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import { createCompletionQueue } from "#src/runtime/work/completionQueue.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { quietLog } from "../projections/support.ts";

describe("the queue of endings", () => {
  it("an ending is stored also if it is added at the moment in which the previous write ends", async () => {
    const test = await createTestDatabase();
    const database = inBackground(connectDatabase(test));
    const endings = createCompletionQueue({
      database,
      clock: systemClock,
      log: quietLog(),
      backoff: () => 1,
      onReady: () => {},
    });
    const nobodys = () => ({
      lane: { process: "toyRule", key: "a", workspace: "", claim: randomUUID(), generation: 1 },
      next: { how: "go on" } as const,
    });
    const held = [];
    for (let n = 0; n < 3; n++) held.push(await endings.add(nobodys()));
    expect(held).to.deep.equal([false, false, false]);
    await endings.close();
    await database.close();
    await test.drop();
  });
});
