import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { firstWorkspace } from "#src/firstStart.ts";

describe("the first workspace", () => {
  it("is not waited for where the read models show one, however far behind the log they are", async () => {
    const deps = {
      reads: { ofAll: { query: async () => ({ rows: [{ id: "1" }] }) } },
      store: { head: async () => 7 },
      projected: () => new Promise<boolean>(() => {}),
    } as unknown as Dependencies;
    expect(await firstWorkspace(deps)).to.equal(undefined);
  });
});
