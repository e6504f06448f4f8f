import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { expect } from "chai";
import { begunDraft, edited } from "#test/support/events.ts";
import { sized } from "#test/support/full.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { startSecondInstance } from "#test/support/secondInstance.ts";
import { openStream } from "./eventStreamSupport.ts";

describe("the event stream [d11 stream]", () => {
  let service: InProcess;
  let workspace: Workspace;

  before(async () => {
    service = await startInProcess({ ROLES: "api,projections" });
  });
  after(() => service?.stop());
  beforeEach(async () => {
    workspace = await service.workspace();
  });

  const sequencesIn = (frames: { data?: any }[]): number[] => frames.map(({ data }) => data.sequence);
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

  it("the event stream begins with new events, and names its position before the first of them", async () => {
    await begunDraft(service.deps, workspace.id);
    await service.caughtUp();
    const stream = await openStream(service.url, workspace.key);
    await stream.until(() => stream.lastId() !== undefined);
    expect(stream.response.headers.get("content-type")).to.match(/^text\/event-stream/);
    await stream.close();
    // Cut off before the first event: what happens meanwhile is not lost.
    const { draftId } = await begunDraft(service.deps, workspace.id);
    const again = await openStream(service.url, workspace.key, { lastEventId: stream.lastId() });
    await again.until(() => again.events().length === 1);
    const [frame] = again.events();
    expect(frame).to.include({ event: "draft.created" });
    expect(frame!.data).to.include({ type: "draft.created", sequence: 2, cursor: frame!.id });
    expect(frame!.data.data.draft_id).to.equal(draftId);
    const { json } = await workspace.ask("GET /v1/events?limit=100");
    expect(json.data[1]).to.deep.equal(frame!.data);
    await again.close();
  });

  it("the event stream gives all earlier events, page after page, and then new ones", async () => {
    const count = 250;
    const draft = await begunDraft(service.deps, workspace.id);
    await draft.all(
      ...upTo(count)
        .slice(1)
        .map((version) => ({ type: "DraftEdited", data: edited(version) })),
    );
    await service.caughtUp();
    const stream = await openStream(service.url, workspace.key, { path: "/v1/events/stream?after=MC4w" });
    await stream.until(() => stream.events().length === count);
    await draft.next("DraftMarkedStale", { newMessageId: randomUUID() });
    await stream.until(() => stream.events().length > count);
    expect(sequencesIn(stream.events())).to.deep.equal(upTo(count + 1));
    await stream.close();
  });

  it("the event stream misses and repeats nothing over reconnects by Last-Event-ID, under load", async () => {
    const count = sized(250, 400);
    const draft = await begunDraft(service.deps, workspace.id);
    const writing = (async () => {
      for (let version = 2; version <= count; version++) await draft.next("DraftEdited", edited(version));
    })();
    const seen: number[] = [];
    let after = "";
    let connections = 0;
    while (seen.length < count) {
      const path = after ? "/v1/events/stream" : "/v1/events/stream?after=MC4w";
      const stream = await openStream(service.url, workspace.key, { path, lastEventId: after || undefined });
      const wanted = Math.min(count - seen.length, 1 + ((connections * 13) % 37));
      await stream.until(() => stream.events().length >= wanted);
      await stream.close();
      // Discards the later events, as a client that died does: the next connection has to deliver them again.
      const taken = stream.events().slice(0, wanted);
      seen.push(...sequencesIn(taken));
      after = taken.at(-1)!.id!;
      connections += 1;
    }
    await writing;
    expect(connections).to.be.greaterThan(10);
    expect(seen).to.deep.equal(upTo(count));
  });

  it("the event stream gives only the requested kinds, and continues past the others", async () => {
    const stream = await openStream(service.url, workspace.key, { path: "/v1/events/stream?types=draft.stale" });
    const draft = await begunDraft(service.deps, workspace.id);
    await draft.all(
      ...upTo(149)
        .slice(1)
        .map((version) => ({ type: "DraftEdited", data: edited(version) })),
    );
    await draft.next("DraftMarkedStale", { newMessageId: randomUUID() });
    await stream.until(() => stream.events().length === 1);
    await draft.next("DraftMarkedStale", { newMessageId: randomUUID() });
    await stream.until(() => stream.events().length === 2);
    expect(stream.events().map(({ event }) => event)).to.deep.equal(["draft.stale", "draft.stale"]);
    await stream.close();
  });

  it("the event stream waits for a client that does not read, and loses nothing of what it reads later", async () => {
    const count = 3_000;
    const draft = await begunDraft(service.deps, workspace.id);
    const lazy = await fetch(`${service.url}/v1/events/stream?after=MC4w`, {
      headers: { Authorization: `Bearer ${workspace.key}` },
    });
    const quick = await openStream(service.url, workspace.key, { path: "/v1/events/stream?after=MC4w" });
    for (let version = 2; version <= count; version += 100) {
      const batch = Array.from({ length: Math.min(100, count - version + 1) }, (_, index) => version + index);
      await draft.all(...batch.map((each) => ({ type: "DraftEdited", data: edited(each) })));
    }
    await quick.until(() => quick.events().length === count);
    await quick.close();
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of lazy.body!) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      if (text.includes(`"sequence":${count},`)) break;
    }
    const sequences = [...text.matchAll(/"sequence":(\d+),/g)].map((match) => Number(match[1]));
    expect(sequences).to.deep.equal(upTo(count));
  });

  it("the event stream ends when its key is revoked, without delaying the DELETE [4 DELETE /v1/api-keys/{key_id}]", async () => {
    const key = await workspace.keyOf(["read:events"]);
    await service.caughtUp();
    const streams = await Promise.all(Array.from({ length: 5 }, () => openStream(service.url, key)));
    const mine = await openStream(service.url, workspace.key);
    await Promise.all(streams.map((stream) => stream.until(() => stream.frames.length > 0)));
    const { json } = await workspace.ask("GET /v1/api-keys");
    const id = json.data.find(({ prefix }: { prefix: string }) => key.startsWith(prefix)).id;
    const revoked = await workspace.ask(`DELETE /v1/api-keys/${id}`);
    expect(revoked.status, revoked.text).to.equal(200);
    const frames = streams.map((stream) => stream.frames.length);
    await begunDraft(service.deps, workspace.id);
    await mine.until(() => mine.events().length === 1);
    await Promise.all(streams.map((stream) => stream.over()));
    expect(streams.map((stream) => stream.frames.length)).to.deep.equal(frames);
    expect((await workspace.ask("GET /v1/events/stream", { key })).status).to.equal(401);
    await mine.close();
  });

  it("[7 429 rate_limited] a key has room for 5 event streams, a workspace for 50; a HEAD request keeps none", async () => {
    const tenant = await service.workspace();
    const keys = [tenant.key, ...(await Promise.all(Array.from({ length: 10 }, () => tenant.keyOf(["read:events"]))))];
    await service.caughtUp();
    const head = await fetch(`${service.url}/v1/events/stream`, {
      method: "HEAD",
      headers: { Authorization: `Bearer ${tenant.key}` },
    });
    expect(head.status).to.equal(200);
    const openAll = (key: string) => Promise.all(Array.from({ length: 5 }, () => openStream(service.url, key)));
    const refusalOf = async (key: string) => {
      const { status, json, headers } = await tenant.ask("GET /v1/events/stream", { key });
      expect(Number(headers.get("retry-after"))).to.be.within(1, 60);
      return [status, json?.error, /^this (API key|workspace)/.exec(json?.message)?.[1]];
    };
    const open = await openAll(tenant.key);
    expect(await refusalOf(tenant.key)).to.deep.equal([429, "rate_limited", "API key"]);
    for (const key of keys.slice(1, 10)) open.push(...(await openAll(key)));
    expect(await refusalOf(keys[10]!)).to.deep.equal([429, "rate_limited", "workspace"]);
    await open[0]!.close();
    let again = await openStream(service.url, tenant.key);
    while (again.response.status === 429) again = await openStream(service.url, tenant.key);
    await begunDraft(service.deps, tenant.id);
    await Promise.all([...open.slice(1), again].map((stream) => stream.until(() => stream.events().length === 1)));
    await Promise.all([...open, again].map((stream) => stream.close()));
  });

  it("five vanished clients block a key's streams for at most a minute, and a replaced client misses nothing", async () => {
    const first = await openStream(service.url, workspace.key);
    await first.until(() => first.frames.length > 0);
    // Clients that vanish without closing: their connections stay open and read nothing.
    const gone = [1, 2, 3, 4].map(() => connect(Number(new URL(service.url).port), "127.0.0.1"));
    const head = `GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${workspace.key}\r\n\r\n`;
    for (const socket of gone) socket.write(head);
    await Promise.all(gone.map((socket) => once(socket, "readable")));
    const { status, headers } = await workspace.ask("GET /v1/events/stream");
    expect(status).to.equal(429);
    service.clock.advance(1000 * Number(headers.get("retry-after")));
    const sixth = await openStream(service.url, workspace.key);
    expect(sixth.response.status).to.equal(200);
    await first.over();
    expect(first.ended()).to.equal("cleanly");
    await begunDraft(service.deps, workspace.id);
    const again = await openStream(service.url, workspace.key, { lastEventId: first.lastId() });
    await Promise.all([sixth, again].map((stream) => stream.until(() => stream.events().length === 1)));
    for (const socket of gone) socket.destroy();
    await Promise.all([sixth.close(), again.close()]);
  });

  it("the event stream ends cleanly when the service stops, also for a client that does not read", async () => {
    const other = await startSecondInstance(service.urls, { ROLES: "api" });
    const parked = await openStream(other.url, workspace.key);
    await parked.until(() => parked.frames.length > 0);
    const unread = await fetch(`${other.url}/v1/events/stream?after=MC4w`, {
      headers: { Authorization: `Bearer ${workspace.key}` },
    });
    let stopped = false;
    const stopping = other.stop().then(() => {
      stopped = true;
    });
    await parked.over();
    expect(parked.ended()).to.equal("cleanly");
    await until(async () => stopped, 60_000);
    await stopping;
    await unread.body?.cancel().catch(() => undefined);
  });
});
