import { expect } from "chai";
import { isHostedHere } from "#src/commands/approvals/approvalChannels.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { systemClock, systemIds } from "#src/platform/clock.ts";
import { emptyReads } from "#test/support/emptyReads.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";

describe("an approver's mailbox", () => {
  const deps = {
    settings: { sandboxDomain: null, approvalsFrom: "Approvals@mail.firm.example" },
    reads: emptyReads,
    // No workspace owns a domain here.
    ...createStreamServices({ store: createMemoryEventStore(), clock: systemClock, ids: systemIds }),
    // Contains only the dependencies that the tested rule uses.
  } as unknown as Dependencies;

  it("an approver's mailbox is not the address that approval mail comes from, in whatever case", async () => {
    expect(await isHostedHere(deps, "approvals@MAIL.firm.example")).to.equal(true);
    expect(await isHostedHere(deps, "boss@mail.firm.example")).to.equal(false);
  });
});
