import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { createApiKey } from "#src/commands/apiKeys.ts";
import { createIdentity } from "#src/commands/identities/identities.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { quotaStream } from "#streams/quota/events.ts";
import { cause } from "#test/processes/sendWorld.ts";
import { asking } from "#test/support/asking.ts";
import { inFull } from "#test/support/full.ts";
import { mail, until } from "#test/support/inProcess.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { testSettings } from "#test/support/settings.ts";

const cap = 50;
/** Mails used up before the test, to make it shorter. */
const usedBefore = inFull ? 0 : 44;
const left = cap - usedBefore;
const drafts = left + 6;
const mails = left + 10;
/** Sends that are answered before one instance is killed. */
const answeredBefore = inFull ? 12 : 4;
const betweenLooksMs = 500;
/** Drafts that one instance works on at the same moment. */
const mostAtOnce = 32;

describe("quotas with two instances, one of them killed [8 builder_pack]", function () {
  this.timeout(600_000);
  let database: TestDatabase;
  let first: TestService;
  let second: SecondInstance;
  before(async () => {
    database = await createTestDatabase({ readModels: true });
  });
  after(async () => {
    await Promise.all([first?.stop(), second?.stop()]);
    await database.drop();
  });

  it("outbound and inbound quotas are used up to the last mail and never exceeded although an instance is killed", async () => {
    // Short times, so that the dead instance's hand-overs are given up soon.
    const env = { ...testSettings, HAND_OVER_SECONDS: "20", DELIVERY_CONFIRM_SECONDS: "3" };
    first = await startService({ database, env });
    second = await startSecondInstance(database, env);
    const { deps } = second;
    const { workspaceId } = await createWorkspace(
      deps,
      { name: "T", plan: "builder_pack", betaOverride: false },
      cause,
    );
    const own = { ...cause, workspaceId };
    for (const stream of ["lifetime", "inbound-lifetime"]) {
      const reservationIds = Array.from({ length: usedBefore }, () => randomUUID());
      const command = { type: "ReserveThoseThatFit", reservationIds, cap } as const;
      await deps.quotas.handle(quotaStream(workspaceId, stream), command, own);
    }
    const { key } = await createApiKey(deps, { workspaceId, name: "k", scopes: allScopes }, own);
    const localPart = `agent-${randomUUID().slice(0, 8)}`;
    await createIdentity(deps, { workspaceId, domainId: sandboxDomainId(workspaceId), localPart }, own);
    const address = `${localPart}@${deps.settings.sandboxDomain}`;
    const ask = asking(second.url, key);
    const dying = asking(first.url, key);
    const { resolve, accept } = createReception(deps);
    await until(async () => (await resolve(address)) !== undefined);
    const receive = async (id: string) => {
      const remote = { ip: "192.0.2.1", helo: "x" };
      const raw = Buffer.from(mail({ id: `${id}@x.example` }));
      const recipients = [{ recipient: (await resolve(address))!, address }];
      await accept({ recipients, from: "ann@customer.example", raw, remote });
    };
    await receive("first");
    await until(async () => (await ask("GET /v1/threads")).json?.total === 1);
    const thread = (await ask("GET /v1/threads")).json.data[0];
    const [message] = (await ask(`GET /v1/threads/${thread.id}`)).json.messages;
    const based = { thread_id: thread.id, identity_id: thread.identity_id, based_on_message_id: message.id };
    const ids: string[] = [];
    for (let n = 0; n < drafts; n++) {
      const { json } = await ask("POST /v1/drafts", { json: { ...based, body_text: `Answer ${n}.` } });
      ids.push(json.id);
    }

    let answered = 0;
    const send = async (id: string, by: typeof ask) => {
      const { status } = await by(`POST /v1/drafts/${id}/send`);
      if (++answered === answeredBefore) void first.kill("SIGKILL");
      return status;
    };
    await Promise.allSettled([
      ...ids.map((id, n) => send(id, n % 2 ? dying : ask)),
      ...Array.from({ length: mails - 1 }, (_, n) => receive(`mail-${n}`)),
    ]);
    // The other instance undoes or finishes the dead instance's sends.
    await until(async () => {
      await pause(betweenLooksMs);
      const open = (await ask(`GET /v1/drafts?thread_id=${thread.id}&status=pending&limit=100`)).json;
      const statuses = await Promise.all(open.data.map(({ id }: any) => send(id, ask)));
      return statuses.length > 0 && statuses.every((status) => status === 402);
    }, 200_000);
    const ended = async () => {
      const of = (status: string) => ask(`GET /v1/drafts?thread_id=${thread.id}&status=${status}&limit=100`);
      const [sent, failed] = await Promise.all([of("sent"), of("failed")]);
      return { sent: sent.json.total, failures: failed.json.data.map((draft: any) => draft.failure_code) };
    };
    // A mail that the dead instance was handing over may have been sent: it is not sent again and keeps its quota.
    await until(async () => {
      await pause(betweenLooksMs);
      const { sent, failures } = await ended();
      return sent + failures.length === left;
    }, 200_000);
    const filed = async () => {
      const { data } = (await ask("GET /v1/inbound?limit=100")).json;
      return data.filter((entry: any) => entry.filed_position !== null).map((entry: any) => entry.disposition);
    };
    await until(async () => (await filed()).length === mails, 200_000);
    const stored = (await filed()).filter((disposition: string) => disposition === "threaded");
    expect(stored).to.have.length(left);
    expect((await ask("GET /v1/billing/subscription")).json).to.include({
      emails_sent_this_period: cap,
      inbound_received_this_period: cap,
    });
    const { sent, failures } = await ended();
    expect(sent + failures.length).to.equal(left);
    expect(failures.filter((code: string) => code !== "unconfirmed")).to.deep.equal([]);
    // One instance hands over at most this many at once.
    expect(failures.length).to.be.at.most(mostAtOnce);
  });
});
