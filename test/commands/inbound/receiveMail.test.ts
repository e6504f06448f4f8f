import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { nameId } from "#src/commands/domains/domainNames.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { addressHash } from "#src/commands/identities/addresses.ts";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import type { Reception } from "#src/mail/in/reception.ts";
import { systemIds } from "#src/platform/clock.ts";
import { emailAddressStream } from "#streams/emailAddress/events.ts";
import { defaultSettings } from "#streams/identity/defaults.ts";
import { inboxStream } from "#streams/inbox/events.ts";
import { operator } from "#test/support/cause.ts";
import { emptyReads } from "#test/support/emptyReads.ts";
import { memoryBlobs } from "#test/support/memoryBlobs.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";

const [ours, theirs] = ["workspace-a", "workspace-b"];

/** Uses streams only: the read models are empty. */
describe("the recipients of received mail", () => {
  let store: ReturnType<typeof createMemoryEventStore>;
  let deps: Dependencies;
  let resolve: Reception["resolve"];
  let asked: string[];
  let now: number;

  beforeEach(() => {
    [asked, now] = [[], Date.parse("2026-03-02T09:00:00Z")];
    store = createMemoryEventStore();
    const watched = {
      ...store,
      readLast(stream: string) {
        asked.push(stream);
        return store.readLast(stream);
      },
    };
    const clock = { now: () => new Date(now) } as Dependencies["clock"];
    const services = createStreamServices({ store: watched, clock, ids: systemIds });
    const settings = { sandboxDomain: "agents.localhost", approvalsFrom: "Approvals@agents.localhost" };
    const rest = {
      ids: systemIds,
      reads: emptyReads,
      blobs: memoryBlobs(),
      messageIds: { open: () => undefined },
      headerReader: {
        read: async (raw: Buffer, { envelopeFrom }: { envelopeFrom: string }) => readHeaders(raw, envelopeFrom),
      },
    };
    deps = { ...services, ...rest, store: watched, clock, settings } as unknown as Dependencies;
    resolve = createReception(deps).resolve;
  });

  async function identity(address: string, workspaceId = ours, { created = true } = {}): Promise<string> {
    const identityId = systemIds.uuid();
    const claim = { type: "ClaimAddress", address, identityId, workspaceId, sandbox: false } as const;
    const earlier = (await deps.emailAddresses.load(addressHash(address))).state.identityId ?? undefined;
    await deps.emailAddresses.handle(addressHash(address), { ...claim, displaced: earlier }, operator());
    const [localPart = ""] = address.split("@");
    const settings = { ...defaultSettings, workspaceId, domainId: "d", localPart, emailAddress: address };
    if (created) await deps.identities.handle(identityId, { type: "CreateIdentity", identity: settings }, operator());
    return identityId;
  }
  const remove = (id: string) =>
    deps.identities.handle(id, { type: "DeleteIdentity", mayLoosen: true, workspaceRequires: false }, operator());
  const found = async (address: string, options?: { anew: boolean }) => {
    const recipient = await resolve(address, options);
    return recipient?.kind === "identity" ? recipient.identityId : recipient?.kind;
  };

  it("a recipient is found by the exact address first, then without the tag, in any case", async () => {
    const id = await identity("support@agents.localhost");
    const vip = await identity("support+vip@agents.localhost", theirs);
    expect(await found("Support@Agents.Localhost")).to.equal(id);
    expect(await found("support+vip@agents.localhost")).to.equal(vip);
    expect(await found("support+a+b@agents.localhost")).to.equal(id);
    expect(await resolve("support+vip@agents.localhost")).to.include({ workspaceId: theirs });
    expect(await found("APPROVALS@agents.localhost")).to.equal("approvals");
    for (const nobody of ["supporter@agents.localhost", "support@elsewhere.example", "support", ""])
      expect(await found(nobody), nobody).to.equal(undefined);
  });

  it("a recipient is found in quotes that are not needed", async () => {
    const id = await identity("support@agents.localhost");
    expect(await found('"support"@agents.localhost')).to.equal(id);
  });

  it("postmaster at every hosted domain is the operator, unless an identity has the address", async () => {
    const domain = { domainId: "ours", workspaceId: ours };
    const register = { type: "RegisterName", name: "example.com", gone: null, ...domain } as const;
    await deps.domainNames.handle(nameId("example.com"), register, operator());
    expect(await found("postmaster@example.com")).to.equal(undefined);
    await deps.domainNames.handle(nameId("example.com"), { type: "ClaimName", receives: true, ...domain }, operator());
    for (const address of ["postmaster", "Postmaster", "postmaster@agents.localhost", "POSTMASTER@example.com"])
      expect(await found(address), address).to.equal("postmaster");
    for (const address of ["postmaster@elsewhere.example", "postmaster@", "postmasters@example.com"])
      expect(await found(address), address).to.equal(undefined);
    const id = await identity("postmaster@example.com");
    expect(await found("postmaster@example.com", { anew: true })).to.equal(id);
  });

  it("a deleted identity or one that was never made is no recipient", async () => {
    const id = await identity("gone@agents.localhost");
    await identity("begun@agents.localhost", ours, { created: false });
    await remove(id);
    expect(await found("gone@agents.localhost")).to.equal(undefined);
    expect(await found("begun@agents.localhost")).to.equal(undefined);
    const next = await identity("gone@agents.localhost");
    expect(await found("gone@agents.localhost")).to.equal(next);
  });

  it("a recipient at a workspace's domain belongs to the workspace that has the domain now", async () => {
    const id = await identity("info@example.com");
    expect(await found("info@example.com")).to.equal(id);
    const names = deps.domainNames;
    const domain = { domainId: "theirs", workspaceId: theirs };
    const register = { type: "RegisterName", name: "example.com", gone: null, ...domain } as const;
    await names.handle(nameId("example.com"), register, operator());
    await names.handle(nameId("example.com"), { type: "ClaimName", receives: true, ...domain }, operator());
    expect(await found("info@example.com", { anew: true })).to.equal(undefined);
    const theirId = await identity("info@example.com", theirs);
    expect(await found("info+tag@example.com")).to.equal(theirId);
  });

  it("a found recipient is cached for 30 seconds; a missing one is looked up each time", async () => {
    const id = await identity("support@agents.localhost");
    for (let n = 0; n < 3; n++) expect(await found("support@agents.localhost")).to.equal(id);
    expect(asked).to.have.length(1);
    for (let n = 0; n < 3; n++) expect(await found("nobody@agents.localhost")).to.equal(undefined);
    expect(asked).to.have.length(4);
    expect(asked.at(-1)).to.equal(emailAddressStream(addressHash("nobody@agents.localhost")));
    await remove(id);
    expect(await found("support@agents.localhost")).to.equal(id);
    now += 30_000;
    expect(await found("support@agents.localhost")).to.equal(undefined);
    const next = await identity("nobody@agents.localhost");
    expect(await found("nobody@agents.localhost")).to.equal(next);
  });

  it("a recipient is looked up again on request, and cached with the new result", async () => {
    const id = await identity("support@agents.localhost");
    expect(await found("support@agents.localhost")).to.equal(id);
    await remove(id);
    expect(await found("support@agents.localhost", { anew: true })).to.equal(undefined);
    expect(await found("support@agents.localhost")).to.equal(undefined);
  });

  describe("the recipients of one mail", () => {
    const raw = Buffer.from("From: ann@customer.example\r\nMessage-ID: <1@customer.example>\r\n\r\nHello\r\n");
    const mail = { from: "ann@customer.example", raw, remote: { ip: "192.0.2.1", helo: "mx.customer.example" } };
    const addressed = async (...addresses: string[]) => {
      const all = addresses.map(async (address) => ({ address, recipient: (await resolve(address))! }));
      return { recipients: await Promise.all(all), ...mail };
    };

    it("each recipient of one mail has a copy under the address that named it", async () => {
      const [a, b] = [await identity("a@agents.localhost"), await identity("b@agents.localhost")];
      await createReception(deps).accept(await addressed("a@agents.localhost", "b+x@agents.localhost"));
      const received = store.all.filter(({ type }) => type === "MailReceived");
      expect(received.map(({ stream, data }: any) => [stream, data.envelope.to])).to.deep.equal([
        [inboxStream(a), "a@agents.localhost"],
        [inboxStream(b), "b+x@agents.localhost"],
      ]);
    });

    it("if one copy of a mail could not be stored, its sender is asked to try again for all recipients", async () => {
      await identity("a@agents.localhost");
      const b = await identity("b@agents.localhost");
      const transaction = await addressed("a@agents.localhost", "b@agents.localhost");
      const { handle } = deps.inboxes;
      deps.inboxes.handle = async (id, command, cause) => {
        if (id === b) throw new Unavailable("away");
        return handle(id, command, cause);
      };
      const refused = await createReception(deps)
        .accept(transaction)
        .catch((error) => error);
      expect(refused).to.be.instanceOf(Unavailable);
    });
  });
});
