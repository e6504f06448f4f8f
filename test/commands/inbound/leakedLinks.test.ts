import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { withoutApprovalLinks } from "#src/commands/inbound/leakedLinks.ts";
import type { MailReceivedEvent, ReadMail } from "#src/commands/inbound/readMail.ts";
import { newUnsubscribeToken, unsubscribeLinks } from "#src/commands/serviceMail/unsubscribes.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { noPlaces, uncheckedRuns } from "#src/mail/in/links/tokenRuns.ts";
import { systemIds } from "#src/platform/clock.ts";
import { createKeyRing, newRingKey } from "#src/platform/secrets/keyRing.ts";
import { emptyReads } from "#test/support/emptyReads.ts";
import { mailReceived } from "#test/support/examples/index.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";

const token = "a".repeat(43);
const receivedAt = "2026-01-01T12:00:00.000Z";

describe("approval links in a mail", () => {
  const ids = { identityId: "identity", workspaceId: "workspace", rawSha256: "raw" };
  const received = mailReceived({ number: 1, references: [], ...ids });
  const mailWith = (found: string[]): ReadMail => ({
    event: { data: received, position: 7, metadata: { at: receivedAt } } as unknown as MailReceivedEvent,
    parsed: {
      ...{
        bodyText: token,
        bodyHtml: null,
        extractedText: token,
        writers: [],
        attachments: [],
        unreadable: null,
        cut: null,
        notes: [],
      },
      links: {
        ...uncheckedRuns,
        unchecked: false,
        found,
        places: { ...noPlaces, text: [0, 43, 0], extracted: [0, 43, 0] },
      },
    },
  });

  /** Makes read models that have reached a position, or never will, `waitedMs` after the mail arrived. */
  function world(reached: number, waitedMs: number) {
    const positions: number[] = [];
    const projected = async (position: number): Promise<boolean> => {
      positions.push(position);
      return position <= reached;
    };
    const clock = { now: () => new Date(Date.parse(receivedAt) + waitedMs) };
    const accounts = { links: { withdrawLeaked: async () => [] } };
    return { positions, deps: { projected, clock, reads: emptyReads, accounts } as unknown as Dependencies };
  }

  it("approval links in a mail are looked up once the read model has all requests made before the mail", async () => {
    const { deps, positions } = world(7, 0);
    const { mail, approvalLinks } = await withoutApprovalLinks(deps, { mail: mailWith([token]) });
    expect([mail.parsed.bodyText, approvalLinks, positions]).to.deep.equal([token, undefined, [7]]);
  });

  it("a mail with an approval link waits for a lagging read model; after ten minutes any text like one is a link", async () => {
    const early = await withoutApprovalLinks(world(6, 600_000).deps, { mail: mailWith([token]) }).catch(
      (error) => error,
    );
    expect(early).to.be.instanceOf(Unavailable);
    const { mail, approvalLinks } = await withoutApprovalLinks(world(6, 600_001).deps, { mail: mailWith([token]) });
    const { bodyText, extractedText } = mail.parsed;
    const mark = "[approval link removed]";
    expect([bodyText, extractedText, approvalLinks]).to.deep.equal([mark, mark, "removed"]);
  });

  it("a leaked link that stops our mail is closed if this service made it, without reading a read model", async () => {
    const keyRing = createKeyRing(newRingKey("k1"));
    const mailbox = { workspaceId: "any", address: "boss@example.com" };
    const { deps: bare, positions } = world(6, 0);
    const services = createStreamServices({ store: createMemoryEventStore(), clock: bare.clock, ids: systemIds });
    const deps = {
      ...bare,
      serviceMails: services.serviceMails,
      workspaces: services.workspaces,
      ids: systemIds,
      keyRing,
    };
    const stop = await newUnsubscribeToken(deps, mailbox);
    const altered = `${stop.slice(0, -1)}${stop.endsWith("A") ? "B" : "A"}`;
    const { find } = unsubscribeLinks(deps);
    for (const [found, expected] of [
      [altered, undefined],
      [stop, "removed"],
      [stop, "removed"],
    ] as const) {
      expect((await find(await newUnsubscribeToken(deps, mailbox)))?.standing).to.equal("valid");
      const read = await withoutApprovalLinks(deps, { mail: mailWith([found]) });
      expect(read.approvalLinks, found).to.equal(expected);
      expect((await find(stop))?.standing).to.equal(expected === undefined ? "valid" : "closed");
    }
    expect(positions).to.deep.equal([]);
  });

  it("a mail without anything like an approval link does not wait", async () => {
    const { deps, positions } = world(6, 0);
    const { approvalLinks } = await withoutApprovalLinks(deps, { mail: mailWith([]) });
    expect([approvalLinks, positions]).to.deep.equal([undefined, []]);
  });
});
