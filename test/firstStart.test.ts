import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { firstWorkspace } from "#src/firstStart.ts";
import { startInProcess } from "#test/support/inProcess.ts";

describe("the first workspace", () => {
  it("is not waited for where the read models show one, however far behind the log they are", async () => {
    const deps = {
      reads: { ofAll: { query: async () => ({ rows: [{ id: "1" }] }) } },
      store: { head: async () => 7 },
      projected: () => new Promise<boolean>(() => {}),
    } as unknown as Dependencies;
    expect(await firstWorkspace(deps)).to.equal(undefined);
  });

  it("is one, though two instances start at the same moment; each shows a key of its own, and both are good", async () => {
    const app = await startInProcess();
    try {
      const before = { ...app.deps, reads: { ...app.deps.reads, ofAll: { query: async () => ({ rows: [] }) } } };
      const [one, other] = await Promise.all([1, 2].map(() => firstWorkspace(before as unknown as Dependencies)));
      expect(one!.workspaceId).to.equal(other!.workspaceId);
      expect(one!.apiKey).not.to.equal(other!.apiKey);
      for (const { apiKey } of [one!, other!]) {
        const answer = await fetch(`${app.url}/v1/workspaces/me`, { headers: { authorization: `Bearer ${apiKey}` } });
        expect(await answer.json()).to.include({ id: one!.workspaceId, name: "My workspace" });
      }
    } finally {
      await app.stop();
    }
  });
});
