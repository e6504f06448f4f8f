import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import pg from "pg";
import { prepareDirectories } from "#src/platform/embeddedPostgres/directories.ts";
import { readPostmaster } from "#src/platform/embeddedPostgres/postmaster.ts";
import { openMailer } from "#test/mail/in/smtpSender.ts";
import { inFull, itInFull } from "#test/support/full.ts";
import { mail } from "#test/support/inProcess.ts";
import { knownAddress, startSecondInstance } from "#test/support/secondInstance.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { testSettings } from "#test/support/settings.ts";
import { type StoppableServer, startStoppableServer } from "#test/support/stoppableServer.ts";
import { approvalLink, type Client, createClient, until } from "../scripts/support/client.ts";

const customer = "ada@customer.example";
/** Milliseconds between two requests of a caller. */
const pauseMs = inFull ? 60 : 700;
const draftsPressed = inFull ? 3 : 2;
/**
 * Milliseconds in which the approver's press of Approve must succeed. It follows an outage, which lasts until every caller has been
 * answered: long on a busy machine.
 */
const pressedWithinMs = 300_000;

const settings = {
  LOG_LEVEL: "info",
  HAND_OVER_SECONDS: "2",
  DELIVERY_CONFIRM_SECONDS: "3",
  NOTIFY_THROTTLE_SECONDS: "0",
  ...Object.fromEntries(["READ", "WRITE", "SEND", "NOTIFY"].map((name) => [`RATE_LIMIT_${name}`, "off"])),
};

type Answer = { status: number; retryAfter: string | null; body: string };
type Seen = Record<"read" | "write" | "page" | "ready" | "alive" | "mail", Answer[]>;

/** Callers of every kind, which repeat their requests during a fault and record the answers. */
class Callers {
  readonly seen: Seen = { read: [], write: [], page: [], ready: [], alive: [], mail: [] };
  /** Subjects of the mails that were answered 250, and ids of the drafts that were answered 201. */
  readonly mails: string[] = [];
  readonly drafts: string[] = [];
  readonly #world: World;
  readonly #over = new AbortController();
  readonly #loops: Promise<void>[];

  constructor(world: World) {
    this.#world = world;
    const { url } = world.service;
    const headers = { authorization: `Bearer ${world.apiKey}` };
    const get = (path: string) => () => asked(url + path, { headers });
    this.#loops = [
      this.#again("read", get("/v1/threads")),
      this.#again("ready", get("/readyz")),
      this.#again("alive", get("/healthz")),
      this.#again("page", () => asked(world.link)),
      this.#again("write", () => this.#write(headers)),
      this.#again("mail", () => this.#mail()),
    ];
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#loops);
  }

  async #again(kind: keyof Seen, ask: () => Promise<Answer>): Promise<void> {
    while (!this.#over.signal.aborted) {
      this.seen[kind].push(await ask());
      await sleep(pauseMs);
    }
  }

  async #write(headers: Record<string, string>): Promise<Answer> {
    const body = JSON.stringify({ ...this.#world.basis, body_text: "Here it is." });
    const json = { "content-type": "application/json" };
    const answer = await asked(`${this.#world.service.url}/v1/drafts`, {
      method: "POST",
      headers: { ...headers, ...json },
      body,
    });
    const told = JSON.parse(answer.body);
    if (answer.status === 201 || told.recorded) this.drafts.push(told.id);
    return answer;
  }

  async #mail(): Promise<Answer> {
    const subject = `Question ${randomUUID()}`;
    const id = `${randomUUID()}@customer.example`;
    const mailer = await openMailer(this.#world.service.smtpPort);
    const told = await mailer.send(Buffer.from(mail({ id, subject, text: "?" })), this.#world.identity.email_address);
    mailer.close();
    const status = Number(told.slice(0, 3));
    if (status === 250) this.mails.push(subject);
    return { status, retryAfter: null, body: "" };
  }
}

async function asked(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const body = await response.text();
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body,
  };
}

/** The service, in a separate process or in this one; in this process mocha reports errors that would end the process. */
type Service = Pick<TestService, "url" | "smtpPort" | "stop"> & Partial<Pick<TestService, "exitCode">>;

/** A service with drafts about which an approver was asked, before a fault. */
class World {
  readonly service: Service;
  readonly apiKey: string;
  readonly client: Client;
  identity!: { id: string; email_address: string };
  /** Ids of the message that each draft answers. */
  basis!: { thread_id: string; identity_id: string; based_on_message_id: string };
  /** An approval link that no approver presses. */
  link!: string;

  constructor(service: World["service"], apiKey: string) {
    this.service = service;
    this.apiKey = apiKey;
    this.client = createClient({ ...service, apiKey });
  }

  async open(): Promise<this> {
    this.identity = await this.client.identity();
    this.basis = await this.#question();
    const { draft } = await this.#asked();
    this.link = draft;
    return this;
  }

  async #question(): Promise<World["basis"]> {
    const subject = `Order ${randomUUID()}`;
    await this.client.mail({ from: customer, to: this.identity.email_address, subject, text: "Where is it?" });
    const found = await until("the thread", async () =>
      (await this.#threads()).find((thread) => thread.subject === subject),
    );
    const { messages } = await this.client.ask(`GET /v1/threads/${found.id}`);
    return { thread_id: found.id, identity_id: this.identity.id, based_on_message_id: messages[0].id };
  }

  async #asked() {
    const text = `Here it is: ${randomUUID()}`;
    const { id } = await this.client.ask("POST /v1/drafts", { ...(await this.#question()), body_text: text });
    const asking = await until("the approval mail", async () =>
      (await this.client.outbox()).find((mail) => mail.to.includes("approver@example.com") && mail.text.includes(text)),
    );
    return { id: id as string, text, draft: approvalLink(asking, "approve") };
  }

  async #threads(): Promise<any[]> {
    const all: any[] = [];
    for (let after = ""; ; ) {
      const page = await this.client.ask(`GET /v1/threads?limit=100${after}`);
      all.push(...page.data);
      if (!page.next_cursor) return all;
      after = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
  }

  /** Runs `happen` while callers of every kind send requests and approvers press; then checks every promise that was made. */
  async survive(happen: () => Promise<void>): Promise<void> {
    const drafts = await Promise.all(Array.from({ length: draftsPressed }, () => this.#asked()));
    const callers = new Callers(this);
    await sleep(300);
    const pressing = Promise.all(drafts.map(({ draft }, index) => sleep(150 * index).then(() => this.#press(draft))));
    // A failure of the presses is reported below, after the fault.
    pressing.catch(() => {});
    try {
      await happen();
      await until("the service to be ready", async () => (await fetch(`${this.service.url}/readyz`)).status === 200);
      await pressing;
      await sleep(300);
    } finally {
      await callers.stop();
    }
    expect(this.service.exitCode?.() ?? null, "the process is up").to.equal(null);
    expectOnlyPromisedAnswers(callers.seen);
    for (const id of callers.drafts) expect((await this.client.api(`GET /v1/drafts/${id}`)).status).to.equal(200);
    await until("every mail that was told 250", async () => {
      const subjects = new Set((await this.#threads()).map((thread) => thread.subject));
      return callers.mails.every((subject) => subjects.has(subject));
    });
    for (const { id, text } of drafts) await this.#endsOnce(id, text);
  }

  /** Presses the link, and repeats the press if the answer asks for a retry. */
  async #press(link: string): Promise<void> {
    const told: string[] = [];
    const count = async (): Promise<boolean> => {
      const since = performance.now();
      const unreached = (error: unknown) => ({ status: 0, page: `<h1>${error}</h1>` });
      const { status, page } = await this.client.press(link, "approve").catch(unreached);
      told.push(`${status} ${/<h1[^>]*>([^<]*)/.exec(page)?.[1]} after ${Math.round(performance.now() - since)} ms`);
      // On a busy machine the hand-over is interrupted after 2 s, and a mail whose outcome is unknown is not sent again.
      return status === 200 || /Already approved|Approved, but it could not be delivered/.test(page);
    };
    await until("the press to count", count, pressedWithinMs).catch((error) => {
      throw new Error(`${error.message}; told:\n${[...new Set(told)].join("\n")}`);
    });
  }

  /** Expects that the draft is sent and its mail exists once; or that its outcome is unknown and its mail exists at most once. */
  async #endsOnce(id: string, text: string): Promise<void> {
    const draft = await until(`draft ${id} to end`, async () => {
      const { body } = await this.client.api(`GET /v1/drafts/${id}`);
      return ["sent", "failed", "stale"].includes(body.status) && body;
    });
    const copies = (await this.client.outbox()).filter(
      (mail) => mail.to.includes(customer) && mail.text.includes(text),
    );
    if (draft.status === "sent") expect(copies.length).to.equal(1);
    else {
      expect(`${draft.status} ${draft.failure_code}`).to.equal("failed unconfirmed");
      expect(copies.length).to.be.at.most(1);
    }
  }
}

function expectOnlyPromisedAnswers(seen: Seen): void {
  for (const { status, retryAfter, body } of [...seen.read, ...seen.write]) {
    if (status < 300) continue;
    expect(status, body).to.equal(503);
    expect(Number(retryAfter)).to.be.greaterThan(0);
    expect(JSON.parse(body)).to.include.keys("error", "message", "request_id").and.include({ error: "unavailable" });
  }
  for (const { status, retryAfter, body } of seen.page) {
    if (status === 200) continue;
    expect(status, body).to.equal(503);
    expect(Number(retryAfter)).to.be.greaterThan(0);
    expect(body).to.include("Please try again in a moment");
  }
  for (const { status } of seen.mail) expect(status).to.be.oneOf([250, 451]);
  for (const { status } of seen.alive) expect(status).to.equal(200);
  for (const { status, body } of seen.ready) {
    if (status === 200) continue;
    expect(status).to.equal(503);
    expect(JSON.parse(body).not_ready).to.not.be.empty;
  }
}

describe("outages of PostgreSQL", function () {
  this.timeout(600_000);
  let dataDir: string;
  let directory: string | undefined;
  let service: Service;
  let apiKey: string;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "countersign-outages-"));
    const own = await startService({ database: "embedded", dataDir, env: { ...testSettings, ...settings } });
    service = own;
    apiKey = own.apiKey!;
    ({ directory } = await prepareDirectories(dataDir));
  });
  after(async () => {
    await service?.stop();
    for (const path of [directory, dataDir]) if (path) await rm(path, { recursive: true, force: true });
  });

  it("the embedded PostgreSQL is started again after kill -9 while all workers are busy", async () => {
    const world = await new World(service, apiKey).open();
    await world.survive(async () => {
      const place = await prepareDirectories(dataDir);
      process.kill((await readPostmaster(place))!.pid, "SIGKILL");
      await sleep(500);
    });
  });

  describe("outages of a configured PostgreSQL", () => {
    let server: StoppableServer;
    let world: World;

    // Starts PostgreSQL on the same data, without the service that would restart it.
    before(async () => {
      await service.stop();
      server = await startStoppableServer(dataDir);
      service = await startSecondInstance(server.urls, {
        ...settings,
        ...(await knownAddress()),
        DATA_DIR: dataDir,
        LOG_LEVEL: "silent",
      });
      world = await new World(service, apiKey).open();
    });
    after(async () => {
      await service.stop();
      await server.close();
    });

    /**
     * Expects that all callers are answered while the server is away, and that none waits until it is back; with `waits`, SMTP senders may
     * wait. Called when the server is away; `comeBack` is called when all callers were answered.
     */
    async function expectEverybodyNotices(comeBack: () => Promise<void>, { waits = false } = {}): Promise<void> {
      const callers = new Callers(world);
      const { seen } = callers;
      const told = (): boolean =>
        [seen.read, seen.write, seen.page, ...(waits ? [] : [seen.mail])].every((answers) => answers.length > 0) &&
        seen.ready.some(({ body }) => body.includes("database"));
      await until("everybody to be told", async () => told())
        .finally(comeBack)
        .finally(() => callers.stop());
      expectOnlyPromisedAnswers(seen);
      for (const kind of ["read", "write", "page"] as const) expect(seen[kind][0]!.status, kind).to.equal(503);
      // An SMTP sender may wait some seconds: a mail that was stored after all is answered 250.
      expect(seen.mail[0]!.status).to.be.oneOf(waits ? [250, 451] : [451]);
      // The readiness check caches its result for a second, and the read models may still be catching up with earlier events.
      const notReady = seen.ready.filter(({ status }) => status === 503);
      expect(notReady.flatMap(({ body }) => JSON.parse(body).not_ready)).to.include("database");
    }

    itInFull("whose backends are all terminated, again and again", async () => {
      const admin = new pg.Client(server.urls.adminUrl);
      await admin.connect();
      await world.survive(async () => {
        for (let times = 0; times < 12; times++) {
          await admin.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
          );
          await sleep(150);
        }
      });
      await admin.end();
    });

    it("the service survives a configured PostgreSQL that is stopped for 5 s", async () => {
      await world.survive(async () => {
        await server.stop();
        const past = sleep(5_000);
        await expectEverybodyNotices(() => past.then(server.start), { waits: true });
      });
    });

    it("the service survives a configured PostgreSQL that answers nothing until every worker has noticed", async () => {
      await world.survive(async () => {
        const stopped = await stopProcesses();
        await expectEverybodyNotices(async () => {
          for (const pid of stopped) process.kill(pid, "SIGCONT");
        });
      });
    });

    /** Suspends the postmaster, so that it starts no further backends, and all its children. Returns their process ids. */
    async function stopProcesses(): Promise<number[]> {
      const pid = await server.pid();
      process.kill(pid, "SIGSTOP");
      await until("the postmaster to stop", async () => (await readFile(`/proc/${pid}/stat`, "utf8")).includes(") T "));
      const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
      // A child that ends now stays a zombie until the postmaster reads its exit, so none of the ids is reused.
      const stopped = [pid, ...children.trim().split(" ").map(Number)];
      for (const each of stopped) process.kill(each, "SIGSTOP");
      return stopped;
    }
  });
});
