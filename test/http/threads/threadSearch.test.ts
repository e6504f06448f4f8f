import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import pg from "pg";
import { contactId } from "#projections/derivedId.ts";
import { projections } from "#projections/index.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("search of threads", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let found: (query: string) => Promise<string[]>;
  before(async () => {
    ({ service, tenant } = await startStory());
    for (const [from, subject, text] of [
      ["Jürgen Müller <j.mueller@werk.example>", "Schlussrechnung Nr. 4711", "Die Straße ist gesperrt."],
      ["Zoë O'Hara <zoe@cafe.example>", "Café opening", "We open on 50% discount_day, see INV-2024/0815."],
      ["Ann <ann@customer.example>", "Late again", "not delivered, write to bob.builder@site.example please"],
      ["Ann <ann@customer.example>", "Delivered", "it was late but not broken, 東京タワー"],
    ] as const)
      await tenant.mail({ from, subject, text });
    found = async (query) => {
      const { status, json } = await tenant.ask(`GET /v1/threads?${query}`);
      expect(status, `${query} ${JSON.stringify(json)}`).to.equal(200);
      expect(json.total, query).to.equal(json.data.length);
      return json.data.map((thread: any) => thread.subject[0]).sort();
    };
  });
  after(() => service.stop());

  const q = (text: string) => found(`q=${encodeURIComponent(text)}`);
  const contact = (text: string) => found(`contact=${encodeURIComponent(text)}`);

  it("q finds threads by words with accents, parts of words, addresses, phrases and exclusions [4 GET /v1/threads]", async () => {
    for (const [text, subjects] of [
      ["cafe", "C"],
      ["CAFÉ", "C"],
      ["cafe\u0301 open", "C"],
      ["strasse", "S"],
      ["rechnung", "S"],
      ["Schlussrech", "S"],
      ["4711", "S"],
      ["0815", "C"],
      ["INV-2024/0815", "C"],
      ["inv-2024", "C"],
      ["bob.builder@site.example", "L"],
      ["builder@site", "L"],
      ["site.example", "L"],
      ["late delivered", "DL"],
      ["delivered late", "DL"],
      ['"not delivered"', "L"],
      ['"delivered not"', ""],
      ["late -broken", "L"],
      ['late -"but not broken"', "L"],
      ["-delivered", "CS"],
      ["東京", "D"],
      ["京東", ""],
      ["late nowhere", ""],
      ["la", ""],
      ["it", "D"],
    ] as const)
      expect((await q(text)).join(""), text).to.equal(subjects);
  });

  it("contact finds threads by a part of the sender's address or name, in any case and accent [4 GET /v1/threads]", async () => {
    for (const [text, subjects] of [
      ["muller", "S"],
      ["jurgen MÜL", "S"],
      ["mueller@werk", "S"],
      ["zoë", "C"],
      ["o'hara", "C"],
      ["zoe@cafe.example", "C"],
      ["customer.example", "DL"],
      ["Ann <ann@customer.example>", "DL"],
      ["builder", ""],
      ["%", ""],
      ["a_n", ""],
    ] as const)
      expect((await contact(text)).join(""), text).to.equal(subjects);
    expect(await found("contact=ann&q=broken")).to.deep.equal(["D"]);
  });

  it("contact finds threads by a name that their contact was given, until it is taken back [4 GET /v1/threads]", async () => {
    const id = contactId(tenant.id, "ann@customer.example");
    const rename = async (name: string | null) => {
      expect((await tenant.ask(`PATCH /v1/contacts/${id}`, { json: { name } })).status).to.equal(200);
      await service.caughtUp();
    };
    await rename("Annabel Łódź-Smith");
    for (const [text, subjects] of [
      ["annabel", "DL"],
      ["nabe", "DL"],
      ["lodz-smith", "DL"],
      ["smith ANNABEL", "DL"],
      ["annabel customer.example", "DL"],
      ["annabel werk.example", ""],
      ["smith-lodz", ""],
      ["ann", "DL"],
      ["example", "CDLS"],
    ] as const)
      expect((await contact(text)).join(""), text).to.equal(subjects);
    expect(await found("contact=annabel&q=broken")).to.deep.equal(["D"]);
    expect(await found("contact=annabel&q=-broken")).to.deep.equal(["L"]);
    await rename(null);
    expect(await contact("annabel")).to.deep.equal([]);
    await rename("Annabel");
    expect(await contact("annabel")).to.deep.equal(["D", "L"]);
    expect((await tenant.ask(`DELETE /v1/contacts/${id}`)).status).to.equal(200);
    await service.caughtUp();
    expect(await contact("annabel")).to.deep.equal([]);
  });

  it("punctuation, operators and long texts in a search are never an error, and match literally", async () => {
    for (const text of [
      "%",
      "_",
      "50%",
      "a%a",
      "'",
      "''",
      "\\",
      ":*",
      "a:*",
      "!",
      "& |",
      "<->",
      "(((",
      '"',
      '-"',
      "- -",
      "*",
      "\u202e",
      "😀",
      "%00".slice(1),
      "x".repeat(1000),
      "a ".repeat(500),
      '"a" '.repeat(250),
      "-a ".repeat(300),
    ]) {
      await q(text);
      await contact(text);
    }
    expect(await q("discount%day")).to.deep.equal(["C"]);
    expect(await q("dis%nt")).to.deep.equal([]);
  });

  it("a search returns pages and the total number of threads found", async () => {
    const { json } = await tenant.ask(`GET /v1/threads?q=late&limit=1&offset=1`);
    expect([json.total, json.data.length]).to.deep.equal([2, 1]);
    const beyond = await tenant.ask(`GET /v1/threads?q=late&offset=9`);
    expect([beyond.json.total, beyond.json.data]).to.deep.equal([2, []]);
  });

  it("a search finds parts of words also if the database has no trigram extension", async () => {
    await service.database.owner.query("drop extension pg_trgm cascade");
    expect(await q("rechnung")).to.deep.equal(["S"]);
    expect(await contact("urgen")).to.deep.equal(["S"]);
  });

  it("from_date and to_date accept whole days, both included, and moments [4 GET /v1/threads] [d5 to_date]", async () => {
    const { json } = await tenant.ask(`GET /v1/threads?limit=1`);
    const last = json.data[0].last_message_at as string;
    const day = last.slice(0, 10);
    const before = new Date(Date.parse(last) - 1).toISOString();
    const has = async (query: string) => (await found(query)).includes(json.data[0].subject[0]);
    expect(await has(`to_date=${day}`)).to.equal(true);
    expect(await has(`from_date=${day}`)).to.equal(true);
    expect(await has(`from_date=${last}&to_date=${last}`)).to.equal(true);
    expect(await has(`to_date=${before}`)).to.equal(false);
  });

  it("threads are sorted by urgency, and each combination of filters has the right total [4 GET /v1/threads] [d5 sort]", async () => {
    const listed = async (query: string) =>
      (await tenant.ask(`GET /v1/threads?${query}`)).json as { data: any[]; total: number };
    const ids = (await listed("")).data.map((thread) => thread.id);
    const changes = [{ priority: "low" }, { priority: "urgent" }, { priority: "high", needs_review: true }, {}];
    for (const [index, json] of changes.entries()) await tenant.ask(`PATCH /v1/threads/${ids[index]}`, { json });
    const byUrgency = await listed("sort=priority");
    expect(byUrgency.data.map((thread) => thread.priority)).to.deep.equal(["urgent", "high", "normal", "low"]);
    expect((await listed("sort=priority&limit=2&offset=1")).data.map((thread) => thread.priority)).to.deep.equal([
      "high",
      "normal",
    ]);
    for (const [query, total] of [
      ["", 4],
      ["priority=urgent", 1],
      ["priority=high&needs_review=true", 1],
      ["priority=high&needs_review=false", 0],
      ["needs_review=false", 3],
      ["status=open", 4],
      ["status=closed", 0],
      ["priority=urgent&q=zebra", 0],
    ] as const) {
      const list = await listed(query);
      expect([list.total, list.data.length], query).to.deep.equal([total, total]);
    }
    const all = (await tenant.ask("GET /v1/threads?limit=100")).json;
    expect(all.total).to.equal(all.data.length);
  });
  it("threads, search and drafts are the same after a replay [d5 read models]", async () => {
    const { database, deps } = service;
    const replay = { store: deps.store, database, tablesSql: tablesFile, signal: new AbortController().signal };
    for (const projection of projections.filter(({ name }) => ["threads", "search", "drafts"].includes(name))) {
      const { differences, rows } = await verify(replay, projection);
      expect(differences, projection.name).to.deep.equal([]);
      if (projection.name !== "drafts") expect(rows).to.be.above(3);
    }
  });

  it("a search waits for mail that is not searchable yet, at most a second, and then answers without it", async () => {
    const holder = new pg.Client(service.urls.ownerUrl);
    await holder.connect();
    let delivered: Promise<unknown> | undefined;
    try {
      await holder.query("begin; select from work.checkpoints where name = 'search' for update");
      const before = (await tenant.ask("GET /v1/threads")).json.total;
      // Ends once the mail can be searched too.
      delivered = tenant.mail({ from: "Ann <ann@customer.example>", subject: "Quagga", text: "It came just now." });
      await until(async () => (await tenant.ask("GET /v1/threads")).json.total > before);
      const { status, json } = await tenant.ask("GET /v1/threads?q=quagga");
      expect([status, json.total]).to.deep.equal([200, 0]);
      // A search of drafts waits as well.
      const drafts = tenant.ask("GET /v1/drafts?q=quagga");
      const first = await Promise.race([drafts.then(() => "answered"), sleep(300).then(() => "waiting")]);
      expect([first, (await drafts).status]).to.deep.equal(["waiting", 200]);
    } finally {
      await holder.end();
      await delivered;
    }
    expect(await q("quagga")).to.deep.equal(["Q"]);
  });

  it("a sent mail too large for its event is found by its subject and the beginning of its body", async () => {
    const first = await tenant.mail({ from: "Ann <ann@customer.example>", subject: "Parcel", text: "Where is it?" });
    const body_text = `Okapi first. ${"Lorem ipsum dolor. ".repeat(1_000)} Gnu last.`;
    const draft = await tenant.draft(first, { subject_override: "Zorilla", body_text });
    expect(await q("okapi")).to.deep.equal([]);
    await draft.send();
    await service.caughtUp();
    for (const [text, subjects] of [
      ["okapi", "P"],
      ['"okapi first"', "P"],
      ["zorilla ipsum", "P"],
      ["gnu", ""],
    ] as const)
      expect((await q(text)).join(""), text).to.equal(subjects);
  });
});
