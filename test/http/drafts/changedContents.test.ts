import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { updateIdentity } from "#src/commands/identities/identities.ts";
import { operator } from "#test/support/cause.ts";
import { inFull } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { barrier } from "../framework/support.ts";

/** Sending a draft whose identity changed: who makes the new version, the send or the service's own process, is held in the test's hand. */
describe("http drafts of an identity that changed", () => {
  let service: InProcess;
  let tenant: Workspace;
  let identity: Identity;
  let basis: object;
  before(async () => {
    service = await startInProcess();
    tenant = await service.workspace();
    identity = await service.identity(tenant.id);
    await service.deliver(identity.address, mail({ id: "q@customer.example" }));
    const thread = (await tenant.ask("GET /v1/threads")).json.data[0];
    const [message] = (await tenant.ask(`GET /v1/threads/${thread.id}`)).json.messages;
    basis = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: message.id };
  });
  after(() => service.stop());

  const submit = async (): Promise<string> =>
    (await tenant.ask("POST /v1/drafts", { json: { ...basis, body_text: "Soon." } })).json.id;
  const read = async (id: string) => (await tenant.ask(`GET /v1/drafts/${id}`)).json;
  const send = (id: string, headers: Record<string, string> = {}) =>
    tenant.ask(`POST /v1/drafts/${id}/send`, { headers: { "Idempotency-Key": randomUUID(), ...headers } });

  /** Changes the signature. The process that refreshes drafts has met the change when this answers, and waits to be released. */
  async function changeSignature() {
    const { deps } = service;
    const { projected } = deps;
    const [met, gate, done] = [barrier(), barrier(), barrier()];
    let toldPosition = (_: number) => {};
    const changedAt = new Promise<number>((resolve) => {
      toldPosition = resolve;
    });
    const before = await deps.store.head();
    deps.projected = async (position) => {
      if (position > before && position === (await changedAt)) {
        met.open();
        await gate.opened;
        deps.projected = projected;
        done.open();
      }
      return projected(position);
    };
    const changes = { signatureText: `Yours, ${randomUUID()}` };
    const own = operator(tenant.id);
    const { position } = await updateIdentity(
      deps,
      { workspaceId: tenant.id, identityId: identity.id, changes, mayLoosen: true },
      own,
    );
    toldPosition(position);
    await met.opened;
    return {
      release: async () => {
        gate.open();
        await done.opened;
      },
    };
  }

  for (const [turn, [order, asked]] of (
    [
      [
        "the send",
        async (id: string, process: { release(): Promise<void> }) => {
          const refused = await send(id);
          await process.release();
          return refused;
        },
      ],
      [
        "the service's own process",
        async (id: string, process: { release(): Promise<void> }) => {
          await process.release();
          await until(async () => (await read(id)).version === 2);
          return send(id);
        },
      ],
      [
        "nobody knows who, both started at once,",
        async (id: string, process: { release(): Promise<void> }) => {
          const [refused] = await Promise.all([send(id), process.release()]);
          return refused;
        },
      ],
    ] as const
  ).entries()) {
    it(`where ${order} made the new version of an approved one: 409 until somebody decided [d3 content_changed]`, async () => {
      for (const decide of ["approve", "If-Match"].filter((_, n) => inFull || n === turn % 2)) {
        const id = await submit();
        await tenant.ask(`POST /v1/drafts/${id}/approve`);
        const refused = await asked(id, await changeSignature());
        const now = await read(id);
        expect([now.status, now.version]).to.deep.equal(["pending", 2]);
        for (const answer of [refused, await send(id), await send(id)]) {
          expect([answer.status, answer.json.error]).to.deep.equal([409, "content_changed"]);
          expect(answer.json).to.include({ version: 2, content_sha256: now.content_sha256 });
          expect(answer.json.message).to.contain('If-Match: "2"');
        }
        const older = await send(id, { "If-Match": '"1"' });
        expect([older.status, older.json.error, older.json.version]).to.deep.equal([412, "version_mismatch", 2]);
        if (decide === "approve") {
          const approved = await tenant.ask(`POST /v1/drafts/${id}/approve`, { headers: { "If-Match": '"2"' } });
          expect(approved.status).to.equal(200);
        }
        const sent = await send(id, decide === "approve" ? {} : { "If-Match": '"2"' });
        expect(sent.status, sent.text).to.equal(202);
        await until(async () => (await read(id)).status === "sent");
        expect((await read(id)).decided_by.kind).to.equal("api_key");
      }
    });

    it(`where ${order} made the new version of one that nobody approved: it is sent`, async () => {
      const id = await submit();
      const sent = await asked(id, await changeSignature());
      expect(sent.status, sent.text).to.equal(202);
      await until(async () => (await read(id)).status === "sent");
      const draft = await read(id);
      expect(draft.version).to.equal(2);
    });
  }

  it("the same Idempotency-Key with and without If-Match is another request", async () => {
    const id = await submit();
    await tenant.ask(`POST /v1/drafts/${id}/approve`);
    const process = await changeSignature();
    await process.release();
    await until(async () => (await read(id)).version === 2);
    const key = { "Idempotency-Key": randomUUID() };
    expect((await send(id, key)).status).to.equal(409);
    const other = await send(id, { ...key, "If-Match": '"2"' });
    expect([other.status, other.json.error]).to.deep.equal([422, "idempotency_mismatch"]);
    expect((await send(id, key)).headers.get("idempotency-replayed")).to.equal("true");
    expect((await send(id, { "If-Match": "*" })).status, "any version is no decision").to.equal(409);
  });
});
