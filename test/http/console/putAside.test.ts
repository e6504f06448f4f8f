import { createHash } from "node:crypto";
import { expect } from "chai";
import { inbound } from "#projections/inbound/projector.ts";
import { inboundById } from "#projections/inbound/queries.ts";
import type { Projection } from "#projections/projection.ts";
import { fileByHand } from "#src/commands/inbound/fileByHand.ts";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import { faultsOf, markOf, payload } from "#test/attacks/words/hostile.ts";
import { operator } from "#test/support/cause.ts";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { openTenant, type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { eventsAbout, returning, sentBy } from "../whoseMail/returning.ts";
import { automaticReplies, letter, reactionTo, receiptOf, reportOf } from "./asideMails.ts";

const dayMs = 86_400_000;

describe("mail put aside, in the console's review", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let sales: Awaited<ReturnType<StoryTenant["newIdentity"]>>;
  let ben: Desk;
  let ann: Desk;
  let auditor: Desk;

  before(async () => {
    ({ service, tenant } = await startStory({ RETENTION_DAYS_QUARANTINED: "2" }));
    sales = await tenant.newIdentity({ displayName: "Sales desk" });
    ben = await deskOf(service, tenant.id, { role: "approver", name: "Ben" });
    ann = await deskOf(service, tenant.id, { role: "admin", name: "Ann" });
    auditor = await deskOf(service, tenant.id, { role: "auditor" });
  });
  after(() => service.stop());

  /** A customer's mail, our answer to it as it left, and that answer's Message-ID. */
  async function answered(of = tenant, mail?: StoryMail, content: object = {}) {
    const question = mail ?? (await of.mail({ subject: "My order" }));
    const draft = await of.draft(question, { body_text: "It comes tomorrow.\nYours", ...content });
    await draft.sendNow();
    const sent = await sentBy(service, draft.id);
    return { question, sent, id: /^Message-ID:\s*<([^>]+)>/im.exec(sent)![1] as string };
  }
  /** Delivers a mail; returns its entry in the ledger. */
  async function deliver(raw: string, from = "carla@customer.example", of = tenant): Promise<any> {
    await service.deliver(of.identity.address, raw, { from });
    return (await of.ask("GET /v1/inbound?limit=1")).json.data[0];
  }
  const entryOf = async ({ id }: { id: string }): Promise<any> => (await tenant.ask(`GET /v1/inbound/${id}`)).json;
  const list = (desk: Desk, query = "") => desk.get(`/review/aside${query}`);
  const wordsOf = (markup: string): string =>
    markup
      .replace(/<[^>]+>/g, " ")
      .replace(/\s+/g, " ")
      .replace(/ ([.,:])/g, "$1");
  /** The row of a mail on the first page; undefined if it is not listed there. */
  const rowOf = async ({ id }: { id: string }, desk = ben): Promise<{ text: string; words: string } | undefined> => {
    const text = new RegExp(`<li class="conversation" id="mail-${id}">.*?</li>`, "s").exec(
      (await list(desk)).text,
    )?.[0];
    return text === undefined ? undefined : { text, words: wordsOf(text) };
  };
  const press = ({ id }: { id: string }, desk = ben) => desk.post(`/review/aside/${id}/file`);
  const messagesOf = async (mail: StoryMail): Promise<any[]> => (await tenant.thread(mail)).messages;

  it("the list is empty at first, and says what will be in it", async () => {
    const other = await openTenant(service);
    const desk = await deskOf(service, other.id, { role: "auditor" });
    expect((await list(desk)).page).to.include("No mail was put aside");
    expect((await desk.get("/review")).text).to.include('href="/review/aside"');
  });

  it("copies of ours, reactions, automatic replies, reports and colleagues' mail are listed with sender, subject and reason, the newest first", async () => {
    const { sent, id, question } = await answered();
    const toSales = await answered(tenant, await tenant.mail({ to: sales, subject: "An offer" }));
    const mails: [raw: string, from: string, row: RegExp][] = [
      [
        sent,
        "bounces@corp.example",
        /^ Support My order Our own mail: it came back with our words unchanged, from bounces@corp\.example\. Support Download/,
      ],
      [
        returning(sent, { text: (text) => `${text}\r\n____\r\nA footer.` }),
        "",
        /^ Support My order Our own mail: it came back with our words unchanged\. /,
      ],
      [
        reactionTo(id, "👍"),
        "carla@customer.example",
        /^ carla@customer\.example My order A reaction, 👍, to a mail of ours: it is shown at that mail\./,
      ],
      ...Object.values(automaticReplies).map((each): [string, string, RegExp] => [
        letter(each),
        "carla@customer.example",
        /^ Carla (My order|Automatische Antwort: My order) An automatic reply: agents are not notified of these\./,
      ]),
      [
        reportOf(id, [{ address: "ann@customer.example", action: "failed", code: "5.1.1", words: "550 No such user" }]),
        "",
        /^ MAILER-DAEMON@mx\.example Undelivered Mail A bounce: a mail could not be delivered\./,
      ],
      [
        reportOf(id, [{ address: "ann@customer.example", action: "delayed", code: "4.4.1", words: "no route" }]),
        "",
        /Undelivered Mail A report about a mail, such as a delay or a receipt\./,
      ],
      [
        receiptOf(id),
        "carla@customer.example",
        /^ Carla Read: My order A report about a mail, such as a delay or a receipt\./,
      ],
      [
        toSales.sent,
        sales.address,
        new RegExp(`^ Sales desk An offer From a colleague: ${sales.address} of this workspace\\. Support`),
      ],
    ];
    const entries = [];
    for (const [raw, from] of mails) entries.push(await deliver(raw, from));
    const { text } = await list(ben);
    const rows = text.match(/<li class="conversation" id="mail-.*?<\/li>/gs)!.reverse();
    expect(rows).to.have.length(mails.length);
    for (const [n, { id: entry }] of entries.entries()) {
      expect(wordsOf(rows[n]!), `mail ${n}`).to.match(mails[n]![2]);
      expect(rows[n]).to.include(`id="mail-${entry}"`).and.include(`action="/review/aside/${entry}/file"`);
      expect(rows[n]).to.match(/href="\/threads\/[^"?]+\?open=([^"#]+)#message-\1"/);
    }
    for (const n of [0, 2, 6])
      expect((await ben.get(`/review/aside/${entries[n].id}/raw`)).text).to.equal(mails[n]![0]);
    expect(rows[2]).to.include(`/threads/${question.threadId}?`);
  });

  it("words of customers and of programs, and copies of ours with other words, are not listed", async () => {
    const { sent } = await answered();
    for (const raw of [
      letter({}),
      letter({ headers: ["Auto-Submitted: auto-generated"] }),
      letter({ headers: ["List-Id: <talk.lists.example>", "List-Post: <mailto:talk@lists.example>"] }),
      returning(sent, { text: (text) => `Please cancel it.\r\n\r\n${text}` }),
    ])
      expect(await rowOf(await deliver(raw))).to.equal(undefined);
  });

  it("a copy of ours that is filed is a message of its conversation, and the row and the thread say who filed it", async () => {
    const { sent, question } = await answered();
    const waiting = await tenant.draft(question, { body_text: "Anything else?" });
    const entry = await deliver(sent);
    const before = (await messagesOf(question)).length;
    await list(ben);
    const done = await press(entry);
    expect([done.status, done.location]).to.deep.equal([303, `/review/aside?done=filedAsMessage#mail-${entry.id}`]);
    expect((await ben.get(done.location!)).page).to.include("Filed: it is a message of its conversation now.");
    const row = await rowOf(entry);
    expect(row?.words).to.include("Filed as a message by “Ben”,");
    expect(row?.text).not.to.include("/file");
    const messages = await messagesOf(question);
    expect(messages).to.have.length(before + 1);
    const { disposition, message_id: messageId } = await entryOf(entry);
    expect([disposition, messages.at(-1).id, messages.at(-1).kind]).to.deep.equal([
      "threaded",
      messageId,
      "filed_by_hand",
    ]);
    expect(row?.text).to.include(`?open=${messageId}#`);
    await until(async () => (await eventsAbout(tenant, question)).length === 2);
    expect((await waiting.read()).newer_message_id).to.equal(messageId);
    const { page } = await ben.get(`/threads/${question.threadId}`);
    expect(page).to.match(
      /Filed by hand .*It was put aside as a copy of our own mail: “Ben” filed it as a message\. \d/,
    );
  });

  it("an automatic reply, a report, a reaction and a colleague's mail are filed; what was a message keeps its id", async () => {
    const { id } = await answered();
    const toSales = await answered(tenant, await tenant.mail({ to: sales }));
    const mails = [
      [letter(automaticReplies["RFC 3834"]!), "an automatic reply"],
      [receiptOf(id), "a report about a mail"],
      [reactionTo(id, "❤️"), "a reaction"],
      [toSales.sent, "a colleague's mail"],
    ] as const;
    for (const [raw, noun] of mails) {
      const entry = await deliver(raw);
      await list(ann);
      expect((await press(entry, ann)).status, noun).to.equal(303);
      const { message_id: messageId } = await entryOf(entry);
      if (noun !== "a reaction") expect(messageId).to.equal(entry.message_id);
      const row = await rowOf(entry);
      expect(row?.words).to.include("Filed as a message by “Ann”");
      const [, thread] = /href="(\/threads\/[^"#]+)/.exec(row!.text)!;
      expect((await ann.get(thread!)).page).to.include(`It was put aside as ${noun}: “Ann” filed it as a message.`);
    }
  });

  it("a second press says who pressed first, also if both press at the same moment", async () => {
    const { sent, question } = await answered();
    const copy = await deliver(sent);
    const reply = await deliver(letter({ headers: ["X-Autoreply: yes"] }));
    for (const entry of [copy, reply]) {
      await Promise.all([list(ben), list(ann)]);
      const both = await Promise.all([press(entry, ben), press(entry, ann), press(entry, ben)]);
      expect(both.map(({ status }) => status).sort()).to.deep.equal([303, 422, 422]);
      for (const refused of both.filter(({ status }) => status === 422))
        expect(refused.page).to.match(/Nothing was filed\. “(Ben|Ann)” has already filed this mail as a message, \d/);
      const late = await press(entry, ann);
      expect([late.status, late.text.match(/Nothing was filed/g)?.length]).to.deep.equal([422, 2]);
    }
    expect((await messagesOf(question)).filter(({ kind }) => kind === "filed_by_hand")).to.have.length(1);
  });

  it("a press on a mail that another press is just filing, or that is not readable yet, is never told that there is none", async () => {
    const unread = { ...service.deps, reads: { of: () => ({ query: async () => ({ rows: [] }) }) } } as never;
    const outcome = async (id: string): Promise<string> => {
      const entry = (await inboundById(service.deps.reads, tenant.id, id))!;
      const given = { workspaceId: tenant.id, entry };
      return fileByHand(unread, given, operator(tenant.id)).then(
        () => "filed",
        (error) => error.code ?? error.name,
      );
    };
    const copy = await deliver((await answered()).sent);
    await list(ben);
    expect((await press(copy)).status).to.equal(303);
    expect(await outcome(copy.id)).to.equal("invalid_status");
    const reply = await deliver(letter({ headers: ["X-Autoreply: yes"] }));
    expect(await outcome(reply.id)).to.equal("Unavailable");
  });

  it("a key that files a mail is named too", async () => {
    const entry = await deliver(letter({ headers: ["Precedence: auto_reply"] }));
    expect((await tenant.ask(`POST /v1/inbound/${entry.id}/file`)).status).to.equal(200);
    expect((await rowOf(entry))?.words).to.include("Filed as a message by “test key”");
    await list(ben);
    expect((await press(entry)).page).to.include("“test key” has already filed this mail as a message");
  });

  it("an auditor reads the list without a button, and a press changes nothing", async () => {
    const entry = await deliver(letter({ headers: ["X-Autoreply: yes"] }));
    expect((await rowOf(entry, auditor))?.text)
      .to.include("/raw")
      .and.not.include("/file");
    const refused = await press(entry, auditor);
    expect(refused.status).to.equal(403);
    expect((await rowOf(entry))?.words).not.to.include("Filed as a message");
  });

  it("another workspace's mail is neither shown nor filed, nor is an answer to an approval mail, a word, or nothing", async () => {
    const stranger = await openTenant(service);
    const theirs = await deliver(letter({ headers: ["X-Autoreply: yes"] }), "carla@customer.example", stranger);
    const word = await deliver(letter({}));
    await list(ben);
    const [foreign, missing] = [await press(theirs), await press({ id: "0193a0aa-0000-7000-8000-000000000001" })];
    expect([foreign.status, missing.status]).to.deep.equal([404, 404]);
    expect(foreign.page).to.equal(missing.page);
    expect((await ben.get(`/review/aside/${theirs.id}/raw`)).status).to.equal(404);
    expect(await rowOf(theirs)).to.equal(undefined);
    expect((await stranger.ask(`GET /v1/inbound/${theirs.id}`)).json).to.deep.equal(theirs);
    const pressed = await press(word);
    expect(pressed.status).to.equal(422);
    expect(pressed.page).to.include("Nothing was filed. This mail is already a message that counts as its sender's.");
    const answer = await answerToApproval();
    const refused = await press(answer);
    expect(refused.status).to.equal(422);
    expect(refused.page).to.include("A mail with the disposition approval_reply cannot be filed as a message");
    expect(await rowOf(answer)).to.equal(undefined);
  });

  /** An approver answers an approval mail instead of pressing its button; returns the ledger's entry. */
  async function answerToApproval(): Promise<any> {
    const approvals = await tenant.newIdentity({
      approvalChannel: { type: "email", config: { to: "boss@ours.example" } },
    });
    const draft = await tenant.draft(await tenant.mail({ to: approvals }));
    const { messageId } = await draft.approvalMail();
    const { resolve, accept } = createReception(service.deps);
    const address = service.deps.settings.approvalsFrom;
    await accept({
      recipients: [{ recipient: (await resolve(address))!, address }],
      from: "boss@ours.example",
      raw: Buffer.from(letter({ from: "boss@ours.example", headers: [`In-Reply-To: ${messageId}`] })),
      remote: { ip: "192.0.2.1", helo: "x" },
    });
    await service.caughtUp();
    return (await tenant.ask("GET /v1/inbound?disposition=approval_reply")).json.data[0];
  }

  it("a conversation that a colleague handed over is named in Review until it is reviewed or filed", async () => {
    const cold = await tenant.newIdentity({ canSendCold: true, displayName: "Cold" });
    const json = {
      identity_id: cold.id,
      to: [tenant.identity.address],
      subject: "For you",
      body_text: "Please answer Carla.",
    };
    const sending = await tenant.ask("POST /v1/emails/send", { json });
    expect(sending.status, sending.text).to.equal(202);
    await (await tenant.draftWithId(sending.json.draft_id)).becomes("sent");
    const entry = await deliver(await sentBy(service, sending.json.draft_id), cold.address);
    const words = `${cold.address} of this workspace handed this conversation over to ${tenant.identity.address}`;
    const shown = wordsOf((await ben.get("/review")).text);
    expect(shown).to.include("Handed over by colleagues").and.include(words);
    expect((await rowOf(entry))?.words).to.include(`Handed over by a colleague: ${cold.address} of this workspace.`);
    const [, threadId] = /\/threads\/([^?]+)/.exec((await rowOf(entry))!.text)!;
    const thread = wordsOf((await ben.get(`/threads/${threadId}`)).text);
    expect(thread).to.include("Not answered yet: A colleague handed this conversation over.");
    expect(thread).to.include(`From a colleague: ${cold.address} of this workspace. It was handed over`);
    await tenant.ask(`PATCH /v1/threads/${threadId}`, { json: { needs_review: false } });
    expect((await ben.get("/review")).page).not.to.include("Handed over by colleagues");
    await tenant.ask(`PATCH /v1/threads/${threadId}`, { json: { needs_review: true } });
    expect((await ben.get("/review")).page).to.include("Handed over by colleagues");
    await list(ben);
    expect((await press(entry)).status).to.equal(303);
    expect((await ben.get("/review")).page).not.to.include("Handed over by colleagues");
  });

  it("very long and hostile words of others are cut and harmless", async () => {
    const encoded = (text: string): string => `=?utf-8?B?${Buffer.from(text).toString("base64")}?=`;
    const words = [
      payload(markOf(1)),
      "W".repeat(5_000),
      "\u202egnp.exe\u05e9\u05dc\u05d5\u05dd",
      "👩‍👩‍👧‍👦".repeat(300),
    ];
    for (const word of words) {
      const entry = await deliver(
        letter({ from: `${encoded(word)} <eve@evil.example>`, subject: encoded(word), headers: ["X-Autoreply: yes"] }),
        "eve@evil.example",
      );
      const row = (await rowOf(entry))!;
      expect(faultsOf({ kind: "html", content: row.text })).to.deep.equal([]);
      expect(row.words.length).to.be.below(1_500);
      expect(row.words).not.to.match(/\ufffd/);
    }
    expect(faultsOf({ kind: "html", content: (await list(ben)).text })).to.deep.equal([]);
  });

  it("the list has pages of 20, and a press keeps the page", async () => {
    const idsOn = ({ text }: { text: string }) =>
      [...text.matchAll(/id="mail-([^"]+)"/g)].map(([, id]) => id as string);
    const missing = 21 - idsOn(await list(ben)).length;
    const reply = () => letter({ headers: ["X-Autoreply: yes"] });
    if (missing > 1)
      await Promise.all(Array.from({ length: missing }, () => service.deliver(tenant.identity.address, reply())));
    const first = await list(ben);
    const [, total] = /(\d+) mails/.exec(first.page)!;
    const [, older = ""] = /href="([^"]+)" rel="next"/.exec(first.text)!;
    const second = await ben.get(older.replaceAll("&amp;", "&"));
    expect(new Set([...idsOn(first), ...idsOn(second)]).size).to.equal(Number(total));
    expect(idsOn(first)).to.have.length(20);
    const [, action = ""] = /action="([^"]*\/file[^"]*)"/.exec(second.text)!;
    const done = await ben.post(action.replaceAll("&amp;", "&"));
    expect(done.location).to.include("&done=filedAsMessage#mail-");
    expect(idsOn(await ben.get(done.location!))).to.deep.equal(idsOn(second));
    expect((await list(ben, "?cursor=mine")).status).to.equal(422);
  });

  it("a mail whose bytes are lost is filed by its headers, and loses its download once its content is removed", async () => {
    const { sent, question } = await answered();
    const entry = await deliver(sent);
    const lost = createHash("sha256").update(sent).digest("hex");
    const { blobs } = service.deps;
    const { get } = blobs;
    blobs.get = async (sha256) => (sha256 === lost ? undefined : get(sha256));
    await list(ben);
    service.clock.advance(11 * 60_000);
    expect((await press(entry)).status).to.equal(303);
    expect((await rowOf(entry))?.words).to.match(/Filed as a message by “Ben”, [^.]*, but it could not be read\./);
    expect((await messagesOf(question)).at(-1).notes.join()).to.include("could not be read");
    blobs.get = get;
    service.clock.advance(2.9 * dayMs);
    const later = await deskOf(service, tenant.id, { role: "approver" });
    await until(async () => (await rowOf(entry, later))!.words.includes("Its content was removed."));
    expect((await rowOf(entry, later))?.text).not.to.match(/\/(raw|file)"/);
    const refused = await press(entry, later);
    expect([refused.status, (await later.get(`/review/aside/${entry.id}/raw`)).status]).to.deep.equal([422, 404]);
  });

  it("a mail leaves the list after 30 days", async () => {
    const entry = await deliver(letter({ headers: ["X-Autoreply: yes"] }));
    service.clock.advance(29 * dayMs);
    expect(await rowOf(entry, await deskOf(service, tenant.id, { role: "approver" }))).not.to.equal(undefined);
    service.clock.advance(2 * dayMs);
    const later = await deskOf(service, tenant.id, { role: "approver" });
    expect((await list(later)).page).to.include("No mail was put aside");
    expect((await tenant.ask(`GET /v1/inbound/${entry.id}`)).json).to.deep.equal(entry);
  });

  it("a replay of the log gives the same rows", async () => {
    const { database, store } = service;
    const replay = { database, store, tablesSql: tablesFile, signal: new AbortController().signal };
    const { differences, rows } = await verify(replay, inbound as Projection);
    expect(differences).to.deep.equal([]);
    expect(rows).to.be.above(10);
  });
});
