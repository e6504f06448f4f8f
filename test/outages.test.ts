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
/** How long each caller pauses between two requests. */
const pauseMs = inFull ? 60 : 700;
const draftsPressed = inFull ? 3 : 2;
/** An outage lasts until everybody has been told, which a busy machine takes its time for; the press that counts comes after it. */
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

/** What a caller of every kind is answered, again and again, while something happens. */
class Callers {
  readonly seen: Seen = { read: [], write: [], page: [], ready: [], alive: [], mail: [] };
  /** Subjects of mails that were told 250, and ids of drafts that were told 201. */
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

/** In a process of its own, or in this one: then mocha tells what would have ended the process. */
type Service = Pick<TestService, "url" | "smtpPort" | "stop"> & Partial<Pick<TestService, "exitCode">>;

/** A service with an approver asked about some drafts, ready for something bad to happen. */
class World {
  readonly service: Service;
  readonly apiKey: string;
  readonly client: Client;
  identity!: { id: string; email_address: string };
  /** What a draft answers. */
  basis!: { thread_id: string; identity_id: string; based_on_message_id: string };
  /** An approval link that nobody presses. */
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

  /** Lets `happen` while callers of every kind ask and approvers press; then everything must be as it was promised. */
  async survive(happen: () => Promise<void>): Promise<void> {
    const drafts = await Promise.all(Array.from({ length: draftsPressed }, () => this.#asked()));
    const callers = new Callers(this);
    await sleep(300);
    const pressing = Promise.all(drafts.map(({ draft }, index) => sleep(150 * index).then(() => this.#press(draft))));
    // Told of below, once what happened is over.
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

  /** An approver who is told to try again does. */
  async #press(link: string): Promise<void> {
    const told: string[] = [];
    const count = async (): Promise<boolean> => {
      const since = performance.now();
      const unreached = (error: unknown) => ({ status: 0, page: `<h1>${error}</h1>` });
      const { status, page } = await this.client.press(link, "approve").catch(unreached);
      told.push(`${status} ${/<h1[^>]*>([^<]*)/.exec(page)?.[1]} after ${Math.round(performance.now() - since)} ms`);
      // After 2 s a busy machine's hand-over is cut off, and what is not known to have left is not tried again.
      return status === 200 || /Already approved|Approved, but it could not be delivered/.test(page);
    };
    await until("the press to count", count, pressedWithinMs).catch((error) => {
      throw new Error(`${error.message}; told:\n${[...new Set(told)].join("\n")}`);
    });
  }

  /** Sent, and there once; or not known to be sent, and there once at most. */
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

    // On the same data, without the service that would start it again.
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
     * Those who come while the server is away are told so before it is back: nobody waits for it. `waits`: but who hands over a mail. Called when it
     * is away; `comeBack` is called when they have been told.
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
      // Who hands over a mail is let wait some seconds: one that was stored after all is told 250.
      expect(seen.mail[0]!.status).to.be.oneOf(waits ? [250, 451] : [451]);
      // What was found out is told for a second, and the read models may still be catching up with what was before.
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

    /** The postmaster, so that it starts no other, and all its children, which are not asked to go away. Answers their ids. */
    async function stopProcesses(): Promise<number[]> {
      const pid = await server.pid();
      process.kill(pid, "SIGSTOP");
      await until("the postmaster to stop", async () => (await readFile(`/proc/${pid}/stat`, "utf8")).includes(") T "));
      const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
      // One that ends meanwhile stays until the postmaster has heard of it: none of the ids is another's.
      const stopped = [pid, ...children.trim().split(" ").map(Number)];
      for (const each of stopped) process.kill(each, "SIGSTOP");
      return stopped;
    }
  });
});
