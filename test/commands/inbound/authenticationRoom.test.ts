import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { authenticateMail } from "#src/processes/authenticateMail.ts";
import { mailReceived } from "#test/support/examples/index.ts";

/** The part of a thread's state that lists its mails without a recorded check. */
type State = { unauthenticated: Record<string, true> };
const awaiting: State = { unauthenticated: { 1: true } };
const notAwaiting: State = { unauthenticated: {} };

describe("the room for authenticating mails", () => {
  /** Makes mails whose senders' DNS servers do not answer until `stop`. */
  function world(sizeBytes: number, { kept, loaded = awaiting }: { kept?: State; loaded?: State } = {}) {
    let stop = (): void => {};
    const silence = new Promise<never>((_, reject) => (stop = () => reject(new Error("stopped"))));
    const begun: string[] = [];
    let loads = 0;
    const received = (workspaceId: string) => {
      const mail = { number: 1, references: [], identityId: workspaceId, workspaceId, rawSha256: "" };
      return { ...mailReceived(mail), sizeBytes };
    };
    const load = async () => {
      loads += 1;
      return { state: loaded };
    };
    const deps = {
      threads: { kept: () => kept && { state: kept }, load, fresh: load },
      store: { read: async (stream: string) => [{ data: received(stream.slice("inbox-".length)) }] },
      authenticator: {
        authenticate: ({ turn }: { turn: string }) => {
          begun.push(turn);
          return silence;
        },
      },
    } as unknown as Dependencies;
    const { MessageReceived } = authenticateMail(deps).on;
    const ended: unknown[] = [];
    const come = (workspaceId: string) => {
      const data = {
        number: 1,
        identityId: workspaceId,
        inboxRevision: 0,
        from: null,
        deliveryId: received(workspaceId).deliveryId,
      };
      const event = { stream: "thread-1", metadata: { workspaceId }, data } as any;
      return Promise.resolve(MessageReceived!(event, { cause: {} } as any)).then(
        (answer) => ended.push(answer),
        () => {},
      );
    };
    return { come, begun, ended, stop, loads: () => loads };
  }
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };

  it("authentication uses a kept thread state only if that state knows the mail", async () => {
    for (const [states, looks, loads] of [
      [{ kept: awaiting, loaded: notAwaiting }, 1, 0],
      [{ kept: notAwaiting, loaded: awaiting }, 1, 1],
      [{ kept: notAwaiting, loaded: notAwaiting }, 0, 1],
      [{ loaded: awaiting }, 1, 1],
      [{ loaded: notAwaiting }, 0, 1],
    ] as const) {
      const { come, begun, stop, ...thread } = world(1_000, states);
      const coming = come("asks");
      await settle();
      expect([begun.length, thread.loads()], JSON.stringify(states)).to.deep.equal([looks, loads]);
      stop();
      await coming;
    }
  });

  it("mails that find no room to be authenticated give their places to others at once", async () => {
    const { come, begun, ended, stop } = world(300_000);
    const all = Array.from({ length: 40 }, () => come("flooded"));
    await settle();
    expect(begun, "half of those that may be large").to.have.length(32);
    expect(ended).to.deep.equal(Array(8).fill({ againInMs: 1_000 }));
    all.push(come("other"));
    await settle();
    expect(begun.at(-1)).to.equal("other");
    stop();
    await Promise.all(all);
  });

  it("small mails are authenticated without waiting for room", async () => {
    const { come, begun, stop } = world(2_000);
    const all = Array.from({ length: 100 }, () => come("flooded"));
    await settle();
    expect(begun).to.have.length(100);
    stop();
    await Promise.all(all);
  });
});
