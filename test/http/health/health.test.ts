import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import pg from "pg";
import { createApiKey } from "#src/commands/apiKeys.ts";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { updateContact } from "#src/commands/contacts.ts";
import { createIdentity } from "#src/commands/identities/identities.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { connectDatabase } from "#src/platform/postgres/database.ts";
import { whyReadModelsStalled } from "#src/runtime/projections/stalled.ts";
import { whyPlannerStalled } from "#src/runtime/work/stalled.ts";
import { startSender } from "#test/mail/in/smtpSender.ts";
import { asking } from "#test/support/asking.ts";
import { operator } from "#test/support/cause.ts";
import { certificateOf } from "#test/support/certificate.ts";
import { itInFull } from "#test/support/full.ts";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { testSettings } from "#test/support/settings.ts";
import { rawExchange, serveRoutes } from "../framework/support.ts";

describe("/readyz", () => {
  let service: InProcess;
  before(async () => {
    const names = { PUBLIC_URL: "https://countersign.example", ALLOWED_HOSTS: "second.example" };
    service = await startInProcess({ LOG_LEVEL: "silent", ...names });
  });
  after(() => service.stop());

  /** Makes an identity, which no read model may have yet; returns its address. */
  async function addressOf(workspaceId: string): Promise<string> {
    const identity = { domainId: sandboxDomainId(workspaceId), localPart: `new-${workspaceId.slice(-8)}` };
    const settings = { workspaceId, ...identity, displayName: "Support", mayLoosen: true };
    const { identityId } = await createIdentity(service.deps, settings, operator(workspaceId));
    return (await service.deps.identities.load(identityId)).state.emailAddress;
  }

  it("/readyz names the parts that this instance needs, and answers that all are ready", async () => {
    const response = await fetch(`${service.url}/readyz`);
    const body = (await response.json()) as any;
    expect([response.status, body.status, body.not_ready]).to.deep.equal([200, "ready", []]);
    expect(body.parts.map(({ name }: { name: string }) => name)).to.deep.equal([
      "database",
      "event_store",
      "read_models",
      "mail_provider",
      "unanswered_mail",
      "audit_heads",
      "processes",
    ]);
  });

  it("the front page says that the service is ready, and links to the docs and the outbox", async () => {
    const text = await (await fetch(service.url)).text();
    expect(text)
      .to.include("<h1>Countersign is running</h1>")
      .and.to.include('href="/docs"')
      .and.to.include('href="/outbox"');
  });

  it("/healthz, /readyz and /metrics are answered under a foreign host name, pages are not", async () => {
    const { port } = new URL(service.url);
    const asked = async (path: string, host: string) =>
      Number(
        (await rawExchange(Number(port), `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).slice(
          9,
          12,
        ),
      );
    for (const path of [
      "/",
      "/docs",
      "/openapi.json",
      "/outbox",
      "/outbox.json",
      "/outbox/1/raw",
      "/a/some-token-of-a-mail",
    ]) {
      expect(await asked(path, `rebound.example:${port}`), path).to.equal(421);
      expect(await asked(path, "localhost"), path).to.be.oneOf([200, 404]);
      expect(await asked(path, "countersign.example"), path).to.be.oneOf([200, 404]);
      expect(await asked(path, "second.example"), path).to.be.oneOf([200, 404]);
    }
    for (const path of ["/healthz", "/readyz", "/metrics"]) expect(await asked(path, "rebound.example")).to.equal(200);
  });

  it("read models that are behind the log and do not advance are reported as stuck", async () => {
    const { database, deps } = service;
    await service.caughtUp();
    const projections = [{ name: "drafts" }, { name: "threads" }];
    expect(await whyReadModelsStalled({ database, store: deps.store }, projections)).to.equal(undefined);
    const head = (await deps.store.head()) + 7;
    const store = { head: async () => head };
    expect(await whyReadModelsStalled({ database, store }, projections)).to.match(
      new RegExp(`^they are stuck at \\d+, but the log ends at ${head}$`),
    );
  });

  it("an instance that starts with read models behind the log answers 503 with their progress, never 401", async () => {
    const { id, ask, key } = await service.workspace();
    const holder = new pg.Client(service.urls.ownerUrl);
    await holder.connect();
    let beside: SecondInstance | undefined;
    try {
      // The lock stops every projection.
      await holder.query("begin; select 1 from work.checkpoints for update");
      const made = { workspaceId: id, name: "new", scopes: ["read:workspace"] };
      const { key: newKey } = await createApiKey(service.deps, made, operator(id));
      const newAddress = await addressOf(id);
      beside = await startSecondInstance(service.urls, { ROLES: "api,smtp" });
      const there = asking(beside.url, key);
      for (const options of [{}, { key: newKey }, { key: "svc_live_nobody" }]) {
        const { status, headers, json } = await there("GET /v1/workspaces/me", options);
        expect([status, json.error, headers.get("retry-after")]).to.deep.equal([503, "unavailable", "5"]);
        expect(json.message).to.match(/catching up with its event log: \d+ % \(position \d+ of \d+\): retry shortly$/);
      }
      expect((await there("GET /v1/nowhere")).status).to.equal(503);
      const ready = await there("GET /readyz");
      expect([ready.status, ready.json.not_ready]).to.deep.equal([503, ["read_models"]]);
      expect((await there("GET /healthz")).status).to.equal(200);
      // Recipients are read from streams, so mail is still accepted, and no existing address is called unknown.
      const sender = await startSender(beside.smtpPort);
      const answers: string[] = [];
      for (const line of [
        "EHLO a",
        "MAIL FROM:<ann@customer.example>",
        `RCPT TO:<${newAddress}>`,
        "RCPT TO:<nobody@agents.example>",
        "DATA",
        `${mail({ id: "behind-1@customer.example", to: newAddress })}\r\n.`,
      ])
        answers.push((await sender.say(line)).slice(0, 3));
      sender.hangUp("end");
      expect(answers).to.deep.equal(["250", "250", "250", "550", "354", "250"]);
      // An instance that was ready before still answers: only a starting one compares itself with the log's end.
      expect((await ask("GET /v1/workspaces/me")).status).to.equal(200);
      await holder.query("rollback");
      await until(async () => (await there("GET /v1/workspaces/me", { key: newKey })).status === 200);
      expect((await there("GET /v1/workspaces/me", { key: "svc_live_nobody" })).status).to.equal(401);
      // Readiness is cached for one second.
      await until(async () => (await there("GET /readyz")).status === 200);
      await until(async () => (await ask("GET /v1/threads")).json.total === 1);
    } finally {
      await holder.end();
      await beside?.stop();
    }
  });

  it("a failing read model makes only the routes that read it answer 503", async () => {
    const { id, ask, key } = await service.workspace();
    let beside: SecondInstance | undefined;
    const { address } = await service.identity(id);
    await service.deliver(address, mail({ id: "poison-1@customer.example", to: address }));
    const [contact] = (await ask("GET /v1/contacts")).json.data;
    const rename = (from: string, to: string) =>
      service.database.owner.query(`alter table read.${from} rename to ${to}`);
    await rename("contacts", "contacts_away");
    try {
      const changed = { json: { name: "Ann" } };
      const { deps } = service;
      const position = await updateContact(
        deps,
        { workspaceId: id, email: contact.email, changes: changed.json },
        operator(id),
      );
      await until(() => deps.projected(position.position, { of: ["threads"] }));
      const renamed = await ask("PATCH /v1/workspaces/me", { json: { name: "Goes on" } });
      expect([renamed.status, renamed.json.name]).to.deep.equal([200, "Goes on"]);
      await until(async () => (await ask("GET /v1/contacts")).status === 503);
      for (const line of ["GET /v1/contacts", `PATCH /v1/contacts/${contact.id}`]) {
        const { status, json } = await ask(line, line.startsWith("PATCH") ? changed : {});
        expect([status, json.message, json.recorded]).to.deep.equal([
          503,
          "contacts are not up to date; the rest of the service works: retry shortly",
          undefined,
        ]);
      }
      expect((await ask("GET /v1/threads")).json.total).to.equal(1);
      const ready = await ask("GET /readyz");
      expect(ready.status).to.equal(200);
      const detail = ready.json.parts.find(({ name }: { name: string }) => name === "read_models").detail;
      expect(detail).to.match(/^contacts is failing: /);
      const metrics = await ask("GET /metrics");
      expect(metrics.text).to.include('countersign_projection_left{projection="contacts"} 1');
      expect(metrics.text).to.include('countersign_projection_left{projection="threads"} 0');
      // An instance that starts now does not wait for the failing read model for ever.
      beside = await startSecondInstance(service.urls, { ROLES: "api" });
      const there = asking(beside.url, key);
      await until(async () => (await there("GET /readyz")).status === 200);
      expect((await there("GET /v1/threads")).json.total).to.equal(1);
      const refused = await there("GET /v1/contacts");
      expect([refused.status, refused.json.message]).to.deep.equal([
        503,
        "contacts are not up to date; the rest of the service works: retry shortly",
      ]);
      const { parts } = (await there("GET /readyz")).json;
      expect(parts.find(({ name }: { name: string }) => name === "read_models").detail).to.equal(
        "contacts cannot be answered from",
      );
    } finally {
      await beside?.stop();
      await rename("contacts_away", "contacts");
    }
  });

  it("an approval page whose read model fails has no button, and still shows an outcome", async () => {
    const { deps, database } = service;
    const { id, ask } = await service.workspace();
    const approver = "boss@approvers.example";
    const identity = await service.identity(id, { approvalChannel: { type: "email", config: { to: approver } } });
    const { address } = identity;
    await service.deliver(address, mail({ id: "asked-1@customer.example", to: address }));
    const [thread] = (await ask("GET /v1/threads")).json.data;
    const [message] = (await ask(`GET /v1/threads/${thread.id}`)).json.messages;
    const based = { identity_id: identity.id, thread_id: thread.id, based_on_message_id: message.id };
    await ask("POST /v1/drafts", { json: { ...based, body_text: "Tomorrow." } });
    const asked = async () => (await service.outbox.newest(10)).find(({ envelope }) => envelope.to.includes(approver));
    await until(async () => (await asked()) !== undefined);
    const token = /\/a\/([\w-]+)\?d=approve/.exec((await asked())!.text)![1]!;
    const page = async (options: RequestInit = {}) => {
      const response = await fetch(`${service.url}/a/${token}`, options);
      return { status: response.status, headers: response.headers, body: await response.text() };
    };
    const opened = await page();
    expect([opened.status, opened.body.includes("<form")]).to.deep.equal([200, true]);
    const nonce = /name="nonce" value="([^"]+)"/.exec(opened.body)![1]!;
    await database.owner.query(
      `create function read.refuse() returns trigger language plpgsql as $$ begin raise exception 'poison'; end $$;
       create trigger refuse before insert on read.messages for each row execute function read.refuse()`,
    );
    try {
      const { resolve, accept } = createReception(deps);
      const raw = Buffer.from(
        mail({ id: "asked-2@customer.example", to: address, inReplyTo: "asked-1@customer.example" }),
      );
      const recipients = [{ recipient: (await resolve(address))!, address }];
      await accept({ recipients, from: "ann@customer.example", raw, remote: { ip: "192.0.2.1", helo: "mx.example" } });
      await until(async () => (await ask(`GET /v1/messages/${message.id}/raw`)).status === 503);
      const form = { decision: "approve", nonce };
      for (const options of [{}, { method: "POST", body: new URLSearchParams(form) }]) {
        const { status, headers, body } = await page(options);
        expect([status, headers.get("retry-after")]).to.deep.equal([503, "5"]);
        expect(body)
          .to.include("Please try again in a moment")
          .and.not.to.match(/<form|<button/);
      }
      const outOfBand = { token, decision: "reject", reason: undefined, requestId: undefined } as const;
      const { decide } = approvalDecisions(deps);
      expect(await decide({ ...outOfBand, ip: undefined, userAgent: undefined })).to.deep.equal({ kind: "rejected" });
      for (const options of [{}, { method: "POST", body: new URLSearchParams(form) }]) {
        const { status, body } = await page(options);
        expect([status, /<title>(.*?)<\/title>/.exec(body)?.[1]]).to.deep.equal([200, "Already rejected"]);
      }
      const lagging = approvalDecisions({ ...deps, projected: async () => false });
      const error = await lagging.find(token).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Unavailable);
    } finally {
      await database.owner.query("drop trigger refuse on read.messages; drop function read.refuse()");
    }
  });

  it("readiness reports that no instance plans the processes' work, after waiting for a change of planner", async () => {
    expect(await whyPlannerStalled(service.database)).to.equal(undefined);
    const without = await createTestDatabase();
    const database = connectDatabase(without);
    const planner = (expires: string) =>
      database.query(
        `insert into work.leases (name, holder, epoch, expires_at) values ('planning', 'gone', 1, now() + interval '${expires}')
         on conflict (name) do update set expires_at = excluded.expires_at`,
      );
    await planner("-1 second");
    expect(await whyPlannerStalled(database)).to.equal("no instance plans the work of the processes");
    const asked = whyPlannerStalled(database);
    await planner("1 hour");
    expect(await asked).to.equal(undefined);
    await database.close();
    await without.drop();
  });
});

describe("the checks of /readyz", () => {
  it("readiness checks run once for all requests within a second, and again afterwards", async () => {
    let asked = 0;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const counted = async () => {
      asked += 1;
      await held;
      return { name: "database", ok: true };
    };
    const metrics = { answered: () => {}, shown: async () => ({ contentType: "text/plain", text: "" }) };
    const { url, close } = await serveRoutes([], { readiness: [counted], metrics });
    try {
      const stranger = { headers: { "X-Forwarded-For": "192.0.2.1" } };
      const ask = async (path: string) => (await fetch(`${url}${path}`, stranger)).status;
      const first = Promise.all(Array.from({ length: 10 }, (_, n) => ask(n % 2 ? "/readyz" : "/metrics")));
      await until(async () => asked > 0);
      release();
      expect(new Set(await first)).to.deep.equal(new Set([200]));
      await Promise.all(Array.from({ length: 10 }, (_, n) => ask(n % 2 ? "/readyz" : "/metrics")));
      expect(asked).to.equal(1);
      await until(async () => (await ask("/readyz")) === 200 && asked > 1);
      expect(asked).to.equal(2);
    } finally {
      await close();
    }
  });
});

describe("details about a part that is not ready", () => {
  const metricsToken = "a-token-of-16-or-more";
  let service: Awaited<ReturnType<typeof serveRoutes>>;
  before(async () => {
    const metrics = {
      answered: () => {},
      shown: async () => ({ contentType: "text/plain", text: "countersign_inner 1\n" }),
    };
    const broken = async () => ({ name: "database", ok: false, detail: "postgres://u:hunter2@h/d" });
    service = await serveRoutes([], { readiness: [broken], metrics, metricsToken });
  });
  after(() => service.close());

  const asked = async (headers: Record<string, string>) => {
    const lines = Object.entries({ Host: `127.0.0.1:${service.port}`, ...headers, Connection: "close" });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const get = (path: string) => rawExchange(service.port, `GET ${path} HTTP/1.1\r\n${head}\r\n`);
    return { readyz: await get("/readyz"), metrics: await get("/metrics") };
  };

  for (const [who, headers] of [
    ["this machine", {}],
    ["this machine by its name", { Host: "localhost" }],
    ["this machine by its address of IPv6", { Host: "[::1]:8080" }],
    ["the holder of the token", { Host: "mail.example", Authorization: `Bearer ${metricsToken}` }],
    [
      "the holder of the token behind a proxy",
      { "X-Forwarded-For": "192.0.2.1", Authorization: `bearer ${metricsToken}` },
    ],
  ] as const) {
    it(`${who} sees why a part is not ready, and all metrics`, async () => {
      const { readyz, metrics } = await asked(headers);
      expect(readyz)
        .to.match(/^HTTP\/1.1 503 /)
        .and.to.contain("hunter2");
      expect(metrics)
        .to.match(/^HTTP\/1.1 200 /)
        .and.to.contain("countersign_inner 1");
    });
  }

  for (const [who, headers] of [
    ["a caller who asks for another host", { Host: "mail.example" }],
    ["a caller who asks for a name that looks like this machine", { Host: "127.0.0.1.mail.example" }],
    ["a caller behind a proxy", { "X-Forwarded-For": "127.0.0.1" }],
    ["a caller behind another kind of proxy", { Forwarded: "for=127.0.0.1" }],
    ["a caller with another token", { Host: "mail.example", Authorization: "Bearer another-token-of-16" }],
    ["a caller with an empty token", { Host: "mail.example", Authorization: "Bearer " }],
  ] as const) {
    it(`${who} sees only that a part is not ready`, async () => {
      const { readyz, metrics } = await asked(headers);
      expect(readyz)
        .to.match(/^HTTP\/1.1 503 /)
        .and.to.contain('"not_ready":["database"]');
      expect(metrics)
        .to.match(/^HTTP\/1.1 200 /)
        .and.to.contain('countersign_part_ready{part="database"} 0');
      expect(readyz + metrics)
        .not.to.contain("hunter2")
        .and.not.to.contain("inner");
    });
  }
});

/** Shuts down a process with an open event stream and an unfinished request. */
describe("the service on SIGTERM", () => {
  let service: TestService;
  let greeted: string;
  let folder: string;
  let streamed: { begun: boolean; ended: boolean };
  let request: { received: string; late: unknown };
  before(async () => {
    const { certFile, keyFile } = await certificateFiles();
    service = await startService({
      env: { SMTP_IN_MAX_DATABASE_MB: "1", SMTP_IN_TLS_CERT: certFile, SMTP_IN_TLS_KEY: keyFile },
    });
    const sender = await startSender(service.smtpPort);
    greeted = await sender.say("EHLO a");
    sender.hangUp("end");
    await service.logged(({ msg }) => msg === "no mail is taken until there is room on the disk");
    const ready = (await (await fetch(`${service.url}/readyz`)).json()) as any;
    expect(ready.parts.map(({ name }: { name: string }) => name)).to.include("smtp");
    const reader = await openStream();
    const begun = !(await reader.read()).done;
    const { socket, received, rest } = await beginRequest();
    const ended = service.kill("SIGTERM");
    await service.logged(({ msg }) => msg === "stopping");
    const late = await fetch(`${service.url}/healthz`).catch(() => "refused");
    while (!(await reader.read()).done);
    streamed = { begun, ended: true };
    socket.write(rest);
    await once(socket, "close");
    await ended;
    request = { received: received(), late };
  });
  after(async () => {
    await service?.stop();
    await rm(folder, { recursive: true });
  });

  async function certificateFiles() {
    folder = await mkdtemp(join(tmpdir(), "countersign-certificate-"));
    const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const { cert, key } = certificateOf("mx.agents.example");
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
    return { certFile, keyFile };
  }

  async function openStream() {
    const headers = { Authorization: `Bearer ${service.apiKey}` };
    return (await fetch(`${service.url}/v1/events/stream`, { headers })).body!.getReader();
  }

  /** Sends a request with half of its body; `rest` is the other half. */
  async function beginRequest() {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    let received = "";
    socket.on("data", (data) => {
      received += data.toString();
    });
    const body = JSON.stringify({ name: "Renamed at the last moment" });
    const half = body.length / 2;
    socket.write(
      `PATCH /v1/workspaces/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.apiKey}\r\nExpect: 100-continue\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, half)}`,
    );
    // Wait until the service has asked for the body.
    while (!received.includes("100 Continue")) await once(socket, "data");
    return { socket, received: () => received, rest: body.slice(half) };
  }

  it("a service whose settings name a certificate offers STARTTLS", () => {
    expect(greeted).to.match(/STARTTLS/);
  });

  it("a service on SIGTERM ends its event streams, and exits with code 0", () => {
    expect(streamed).to.deep.equal({ begun: true, ended: true });
    expect(service.exitCode(), service.output()).to.equal(0);
  });

  it("a service on SIGTERM finishes its request, accepts no other, and exits with code 0", () => {
    expect(request.late).to.equal("refused");
    expect(request.received).to.match(/HTTP\/1\.1 200 OK/);
    expect(request.received).to.contain("Renamed at the last moment");
    expect(service.exitCode(), service.output()).to.equal(0);
  });
});

describe("the service in production", () => {
  itInFull("a service in production starts on the settings that it needs, and warns about missing ones", async () => {
    const service = await startService({
      env: {
        NODE_ENV: "production",
        MAIL_PROVIDER: "outbox",
        SECRETS_KEYS: testSettings.SECRETS_KEYS,
        ROLES: "api,smtp",
      },
    });
    try {
      await service.logged(({ msg }) => /^mail comes in unencrypted: set SMTP_IN_TLS_CERT/.test(msg));
      await service.logged(({ msg }) =>
        /^mail is caught in the outbox, which nobody can open: set OUTBOX_TOKEN/.test(msg),
      );
      for (const path of ["/outbox", "/outbox.json"]) expect((await fetch(service.url + path)).status).to.equal(404);
      expect(await (await fetch(service.url)).text()).not.to.include("/outbox");
      const sender = await startSender(service.smtpPort);
      expect(await sender.say("EHLO a")).to.not.match(/STARTTLS/);
      sender.hangUp("end");
    } finally {
      await service.stop();
    }
  });
});
