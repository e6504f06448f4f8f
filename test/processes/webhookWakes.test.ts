import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { systemClock } from "#src/platform/clock.ts";
import type { WebhookDeliveries } from "#src/platform/webhooks/deliveries.ts";
import { deliverWebhooks, deliveryTimer } from "#src/processes/deliverWebhooks.ts";
import { setImmediateTimers } from "#src/runtime/work/immediateTimers.ts";
import { eventually } from "#test/runtime/projections/support.ts";
import { useWorkTable } from "#test/runtime/work/support.ts";

describe("a queue of webhook deliveries that waits for its next try", () => {
  const work = useWorkTable();

  it("a webhook queue that is woken while it is read is read again at once", async () => {
    const queue = {
      webhook_id: randomUUID(),
      subject: randomUUID(),
      workspace_id: randomUUID(),
      event_id: randomUUID(),
    };
    const wake = () => work.database.transaction((tx) => setImmediateTimers(tx, [deliveryTimer(queue)]));
    let looks = 0;
    const deliveries = {
      async begin() {
        looks += 1;
        // A retry is requested that this read has not seen.
        if (looks === 1) await wake();
        return looks === 1 ? { dueInMs: 600_000 } : undefined;
      },
    } as unknown as WebhookDeliveries;
    const deps = {
      clock: systemClock,
      webhooks: { load: async () => ({ state: { deleted: false, settings: { status: "active" } } }) },
      installations: { load: async () => ({ state: { paused: false }, revision: -1 }) },
    } as unknown as Dependencies;
    const runner = work.run([deliverWebhooks(deps, { deliveries, sender: {} as never, retrySeconds: [600] })]);
    await wake();
    runner.wake();
    await eventually(() => looks === 2);
    expect(looks).to.equal(2);
  });
});
