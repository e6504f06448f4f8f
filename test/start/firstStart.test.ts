import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { type Batch, type SubscribeOptions, Unavailable } from "#src/eventStore/eventStore.ts";
import { oneAtATime } from "#src/platform/postgres/oneAtATime.ts";
import { firstWorkspace, isInLog } from "#src/start/firstStart.ts";
import { startInProcess } from "#test/support/inProcess.ts";

describe("the first workspace", () => {
  it("the start does not wait for read models if they already show a workspace", async () => {
    const deps = {
      reads: { ofAll: { query: async () => ({ rows: [{ id: "1" }] }) } },
      store: { head: async () => 7 },
      projected: () => new Promise<boolean>(() => {}),
    } as unknown as Dependencies;
    expect(await firstWorkspace(deps)).to.equal(undefined);
  });

  it("the first workspace is not searched in a log that stopped answering, however often a subscription retries", async () => {
    async function* subscribe({ signal }: SubscribeOptions): AsyncGenerator<Batch> {
      yield { events: [], position: 3, caughtUp: false };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    }
    const failed = await isInLog({ head: async () => 7, subscribe }, 20).catch((error) => error);
    expect(failed).to.be.instanceOf(Unavailable);
    expect(failed.message).to.equal("the event log did not answer within 0.02 s");
  });

  it("one of two instances that start at once makes the first workspace, and shows its key", async () => {
    const app = await startInProcess();
    try {
      // Neither instance has seen a workspace yet.
      const deps = {
        ...app.deps,
        reads: { ...app.deps.reads, ofAll: { query: async () => ({ rows: [], rowCount: 0 }) } },
      };
      const oneByOne = <T>(work: () => Promise<T>) => oneAtATime(app.urls.ownerUrl, "firstStart", work);
      const start = () => firstWorkspace(deps as Dependencies, { patiently: (step) => step(), oneByOne });
      const made = (await Promise.all([start(), start()])).filter((each) => each !== undefined);
      expect(made).to.have.length(1);
      const [{ apiKey, workspaceId }] = made as [{ apiKey: string; workspaceId: string }];
      const answer = await fetch(`${app.url}/v1/workspaces/me`, { headers: { authorization: `Bearer ${apiKey}` } });
      expect(await answer.json()).to.include({ id: workspaceId, name: "My workspace" });
    } finally {
      await app.stop();
    }
  });
});
