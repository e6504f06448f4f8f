import { expect } from "chai";
import type { Channel } from "#src/channels/channel.ts";
import { isBundled } from "#src/commands/approvals/bundles.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";

/** Dependencies whose read model reports `open` open requests of the mailbox, and fails if it is asked to count further than necessary. */
const depsWith = (open: number, settings: object = {}) =>
  ({
    settings,
    reads: {
      of: () => ({
        query: async (_: string, values: number[]) => ({ rows: [{ count: Math.min(open, values[3]!) }] }),
      }),
    },
  }) as unknown as Dependencies;

const mailed = { askTogether: async () => ({ reached: true }) } as unknown as Channel;
const question = (confirmCode = false) =>
  ({
    draftId: "one",
    draft: { workspaceId: "workspace", identityId: "identity", version: 1, authoredVersion: 1, notified: { open: {} } },
    identity: { confirmCode },
    channel: { type: "email", config: { to: "Boss@x.example" } },
    slot: "primary",
  }) as unknown as Parameters<typeof isBundled>[2];

describe("a request to a mailbox", () => {
  it("a request to a mailbox waits for a bundle if 30 others are open there, and not with one fewer", async () => {
    expect(await isBundled(depsWith(29), mailed, question())).to.equal(false);
    expect(await isBundled(depsWith(30), mailed, question())).to.equal(true);
    expect(await isBundled(depsWith(1, { mostMailedAlone: 2 }), mailed, question())).to.equal(false);
    expect(await isBundled(depsWith(2, { mostMailedAlone: 2 }), mailed, question())).to.equal(true);
  });

  it("a request with a code, or on a channel without bundles, waits for none", async () => {
    expect(await isBundled(depsWith(30), mailed, question(true))).to.equal(false);
    expect(await isBundled(depsWith(30), { ask: mailed.ask }, question())).to.equal(false);
  });
});
