import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect } from "chai";
import { mboxOf } from "#src/audit/mbox.ts";
import { archiveOf } from "#src/http/audit/archive.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { asking } from "#test/support/asking.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { openTenant, type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { download, type Json, newFolder, openFolder, removeFolders, verify } from "./evidenceSupport.ts";

describe("http: audit exports", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let ada: StoryMail;
  let bob: StoryMail;
  let middle: string;

  before(async () => {
    ({ service, tenant } = await startStory({ AUDIT_HEAD_DIR: await newFolder() }));
    ada = await tenant.mail({ from: "ada@customer.example", text: "From here on:\n\nFrom Ada." });
    await sent(ada);
    middle = new Date().toISOString();
    await (await openTenant(service)).mail();
    bob = await tenant.mail({ from: "bob@customer.example" });
    await sent(bob);
    await (await tenant.draft(bob, { body_text: "x".repeat(30_000) })).reject("too long");
    await service.caughtUp();
  });
  after(async () => {
    await service.stop();
    await removeFolders();
  });

  async function sent(mail: StoryMail) {
    const draft = await tenant.draft(mail);
    await draft.approve();
    await draft.sendNow();
    await until(async () => (await draft.history()).some(({ type }) => type === "DeliveryDelivered"));
    return draft;
  }

  const exported = (query = "", key = tenant.key): Promise<string> =>
    download(`${service.url}/v1/audit/export${query}`, key);
  const eventsIn = async (folder: string): Promise<Json[]> =>
    (await readFile(join(folder, "entries.jsonl"), "utf8"))
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(JSON.parse(line).text));
  const streamsIn = async (folder: string): Promise<Set<string>> =>
    new Set((await eventsIn(folder)).map(({ stream }) => stream));

  it("an export discloses no stored secret, sealed or hashed", async () => {
    const channel = { type: "telegram", config: { bot_token: "123456:hidden-in-the-log", chat_id: "-100777" } };
    await tenant.ask(`PATCH /v1/identities/${tenant.identity.id}`, { json: { approval_channel: channel } });
    await tenant.ask("POST /v1/webhooks", { json: { url: "https://hooks.example/in", events: ["draft.rejected"] } });
    await tenant.ask("POST /v1/domains", { json: { domain_name: "sealed.example" } });
    const slack = { webhook_url: "https://hooks.slack.com/services/T0/B0/hidden" };
    const action = { type: "notify_channel", channel: "slack", config: slack };
    const rule = { name: "Tell us", trigger_event: "draft.created", status: "inactive", actions: [action] };
    const made = await tenant.ask("POST /v1/rules", { json: rule });
    expect(made.json.id, made.text).to.be.a("string");
    await service.caughtUp();
    const disclosed = await readFile(join(await exported(), "disclosures.jsonl"), "utf8");
    expect(disclosed, "sealed by the key ring").not.to.match(/[\w-]{1,32}\.[\w-]{16}\.[\w-]+\.[\w-]{22}\b/);
    const paths = disclosed
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(JSON.parse(line).disclosure)[1] as string);
    expect(paths).to.include("/data/url").and.to.include("/data/mailDomain");
    const secret = /(config|secrets?|privateKey|hash|actions|confirmCode)$/;
    expect(paths.filter((path) => secret.test(path))).to.deep.equal([]);
  });

  it("an export of the workspace has each of its events, in the order of the tree, and is proven by verify.mjs", async () => {
    const folder = await exported();
    const { wrong, said } = await verify(folder);
    expect(wrong).to.deep.equal([]);
    const [, size] = (await readFile(join(folder, "checkpoint"), "utf8")).split("\n");
    const events = await eventsIn(folder);
    expect(events).to.have.length(Number(size));
    expect(said).to.contain(`${size} entries are in the tree of ${size} entries`);
    expect(said.match(/no person's approval, entry \d+, comes before it/g)).to.have.length(2);
    expect(said).to.contain("4 mails of mail.mbox are named by entries, byte for byte.");
    const counts = await readFile(join(folder, "counts.csv"), "utf8");
    expect(counts).to.contain(`"DraftSubmitted","3"\n`);
    expect(await readFile(join(folder, "errors.csv"), "utf8")).to.equal('"event","sha256","error"\n');
    expect((await readFile(join(folder, "contents.jsonl"), "utf8")).match(/\n/g)).to.have.length(3);
  });

  it("the checksums of an export are those of its files", async () => {
    const folder = await exported();
    const sums = (await readFile(join(folder, "SHA256SUMS"), "utf8")).trim().split("\n");
    expect(sums).to.have.length((await readdir(folder)).length - 1);
    for (const line of sums) {
      const [sum, name = ""] = line.split("  ");
      const bytes = await readFile(join(folder, name));
      expect(createHash("sha256").update(bytes).digest("hex"), name).to.equal(sum);
    }
  });

  it("an export of a thread has its mails, its drafts and their hand-overs, and nothing of other threads", async () => {
    const folder = await exported(`?thread=${ada.threadId}`);
    expect((await verify(folder)).wrong).to.deep.equal([]);
    const streams = await streamsIn(folder);
    expect([...streams].map((stream) => stream.split("-")[0]).sort()).to.deep.equal(["delivery", "draft", "thread"]);
    expect(streams).to.include(`thread-${ada.threadId}`);
    expect(await readFile(join(folder, "disclosures.jsonl"), "utf8")).not.to.contain("bob@customer.example");
  });

  it("an export about a person, by address or id, has everything about that person, and nothing about others", async () => {
    const { json } = await tenant.ask("GET /v1/contacts?q=ada");
    const byId = await exported(`?contact=${json.data[0].id}`);
    const byAddress = await exported("?contact=ADA@customer.example");
    expect(await streamsIn(byId)).to.deep.equal(await streamsIn(byAddress));
    expect((await verify(byAddress)).wrong).to.deep.equal([]);
    const events = await eventsIn(byAddress);
    expect(events.map(({ type }) => type)).to.include.members(["MailReceived", "MessageReceived", "DraftSent"]);
    expect(events.filter(({ type }) => type === "MailReceived")).to.have.length(1);
    expect(await readFile(join(byAddress, "disclosures.jsonl"), "utf8")).not.to.contain("bob@customer.example");
    expect(await eventsIn(await exported("?contact=da@customer.example"))).to.have.length(0);
  });

  it("an export of a period has the events of that period", async () => {
    const early = await eventsIn(await exported(`?to=${middle}`));
    const late = await eventsIn(await exported(`?from=${middle}`));
    const whole = await eventsIn(await exported());
    expect(early.length).to.be.above(5);
    expect(late.length).to.be.above(5);
    expect(early.length + late.length).to.equal(whole.length);
    expect(early.every(({ at }) => at <= middle)).to.equal(true);
    expect((await verify(await exported(`?from=${middle}`))).wrong).to.deep.equal([]);
  });

  it("the header of an export has the number of its entries", async () => {
    for (const query of ["", `?thread=${ada.threadId}`, "?contact=ada@customer.example"]) {
      const answer = await tenant.ask(`GET /v1/audit/export${query}`);
      const folder = await exported(query);
      expect(Number(answer.headers.get("audit-entries")), query).to.equal((await eventsIn(folder)).length);
    }
  });

  it("a workspace has two exports at a time, and another when one has ended", async () => {
    const begin = async () => {
      const ending = new AbortController();
      const headers = { Authorization: `Bearer ${tenant.key}` };
      const { status, body } = await fetch(`${service.url}/v1/audit/export`, { headers, signal: ending.signal });
      return { status, body, ending };
    };
    const large = await tenant.draft(bob, { body_text: randomBytes(700_000).toString("base64").slice(0, 250_000) });
    // More than what sockets hold, so that an export that nobody reads stays open.
    for (let n = 0; n < 25; n += 1) await large.edit({ body_text: randomBytes(180_000).toString("base64") });
    const [first, second] = [await begin(), await begin()];
    expect([first.status, second.status]).to.deep.equal([200, 200]);
    const third = await begin();
    expect(third.status).to.equal(429);
    first.ending.abort();
    await until(async () => {
      const next = await begin();
      next.ending.abort();
      return next.status === 200;
    });
    second.ending.abort();
  });

  it("an export needs read:audit, one subject, and one that exists in the own workspace", async () => {
    const ask = asking(service.url, await tenant.keyOf(allScopes.filter((scope) => scope !== "read:audit")));
    expect((await ask("GET /v1/audit/export")).outcome).to.equal("401 insufficient_scope");
    const stranger = await openTenant(service);
    for (const [query, outcome] of [
      [`thread=${ada.threadId}&contact=ada@customer.example`, "422 invalid_request"],
      ["from=yesterday", "422 invalid_request"],
      ["contact=ada", "422 invalid_request"],
      [`thread=${ada.threadId}`, "404 not_found"],
      ["contact=00000000-0000-7000-8000-000000000002", "404 not_found"],
    ])
      expect((await stranger.ask(`GET /v1/audit/export?${query}`)).outcome, query).to.equal(outcome);
    expect(await eventsIn(await exported("?contact=ada@customer.example", stranger.key))).to.have.length(0);
  });

  it("a mail that may contain approval links is listed as missing for keys that may not decide", async () => {
    const own = await openTenant(service, {
      requireHumanApproval: true,
      approvalChannel: { type: "email", config: { to: "jane@customer.example" } },
    });
    const asked = await own.draft(await own.mail());
    const link = (await asked.approvalMail("jane@customer.example")).link();
    await own.mail({ text: `Look: ${link}` });
    const folder = await exported("", await own.keyOf(["read:audit"]));
    expect(await readFile(join(folder, "mail.mbox"), "latin1")).not.to.contain(new URL(link).pathname);
    expect(await readFile(join(folder, "errors.csv"), "utf8")).to.contain("write:approvals");
    expect((await verify(folder)).wrong).to.deep.equal([]);
  });

  describe("forged exports are found", () => {
    const forgeries: { [name: string]: (text: { [file: string]: string }) => unknown } = {
      "an entry is changed": (files) =>
        (files["entries.jsonl"] = files["entries.jsonl"]!.replace('DraftApproved\\"', 'DraftRejected\\"')),
      "an entry is removed": (files) =>
        (files["entries.jsonl"] = files["entries.jsonl"]!.replace(/\n[^\n]*DraftApproved[^\n]*/, "")),
      "an entry is there twice": (files) =>
        (files["entries.jsonl"] += files["entries.jsonl"]!.slice(0, files["entries.jsonl"]!.indexOf("\n") + 1)),
      "a hash of a proof is changed": (files) =>
        (files["entries.jsonl"] = files["entries.jsonl"]!.replace(/"hashes":\["\w/, '"hashes":["_')),
      "a value is changed": (files) =>
        (files["disclosures.jsonl"] = files["disclosures.jsonl"]!.replaceAll("ada@", "eve@")),
      "a mail is changed": (files) => (files["mail.mbox"] = files["mail.mbox"]!.replace("From Ada", "From Eve")),
      "a content is changed": (files) =>
        (files["contents.jsonl"] = files["contents.jsonl"]!.replace("On its way", "Off its way")),
    };
    for (const [name, forge] of Object.entries(forgeries))
      it(`a forged export is found: ${name}`, async () => {
        const { folder, read } = await openFolder(await exported());
        const files: { [file: string]: string } = {};
        for (const file of ["entries.jsonl", "disclosures.jsonl", "mail.mbox", "contents.jsonl"])
          files[file] = await read(file);
        forge(files);
        for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
        const { code, wrong } = await verify(folder);
        expect([code, wrong.length > 0]).to.deep.equal([1, true]);
      });
  });

  it("a mailbox gives each mail back, whatever its lines begin with", () => {
    const mail = "Subject: x\r\n\r\nFrom a\r\n>From b\n>>From c\rFrom d";
    const text = mboxOf(Buffer.from(mail), "2026-11-28T14:05:31.000Z").toString();
    expect(text).to.match(/^From MAILER-DAEMON Sat Nov 28 14:05:31 2026\n/);
    expect(text).to.contain("\n>From a").and.to.contain("\n>>From b").and.to.contain("\n>>>From c\rFrom d\n\n");
  });

  it("an archive is read by unzip, and no more files are made once its reader has gone", async () => {
    let made = 0;
    let isOver = false;
    async function* files() {
      try {
        for (;;) {
          made += 1;
          yield { name: `${made}.txt`, bytes: Buffer.alloc(200_000, made) };
        }
      } finally {
        isOver = true;
      }
    }
    const endless = archiveOf({ files: files(), mtime: new Date() });
    await new Promise((resolve) => endless.once("readable", resolve));
    endless.destroy();
    await until(async () => isOver);
    expect(made).to.be.below(50);

    async function* two() {
      yield { name: "a.txt", bytes: Buffer.from("a") };
      yield { name: "b/c.txt", bytes: Readable.from([Buffer.from("b"), Buffer.from("c")]) };
    }
    const parts: Buffer[] = [];
    for await (const part of archiveOf({ files: two(), mtime: new Date() })) parts.push(part as Buffer);
    const file = join(await newFolder(), "x.zip");
    await writeFile(file, Buffer.concat(parts));
    expect(execFileSync("unzip", ["-p", file]).toString()).to.equal("abc");
  });

  it("an archive whose file cannot be made breaks off", async () => {
    async function* files() {
      yield { name: "a.txt", bytes: Buffer.from("a") };
      throw new Error("lost");
    }
    const reading = async () => {
      for await (const _ of archiveOf({ files: files(), mtime: new Date() }));
    };
    await reading().then(
      () => expect.fail("the archive is whole"),
      (error) => expect(error.message).to.equal("lost"),
    );
  });
});
