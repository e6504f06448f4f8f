import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { learnMessageId } from "#src/commands/sends/deliveryReports.ts";
import { operator } from "#test/support/cause.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { openTenant, type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { eventsAbout, filing, filings, idOf, multipart, part, rewritten, sentBy } from "./returning.ts";

const corp = "info@corp.example";
const banner = "CAUTION: this mail came from outside.";
const cancel = "Please cancel the order.";

const text = "It is on its way – today.\nAnswer with yes or no.\n\nyes\nno\nAcme Support";
const page = "<p>It is <b>on its way</b> – today.</p><p>Answer with yes or no.</p><p>yes<br>no<br>Acme Support</p>";
const plain = "text/plain; charset=utf-8";
const html = "text/html; charset=utf-8";

/** Mail of ours that an address brings back which forwards to the identity (case 01), and mail that only looks so. */
describe("mail of ours that comes back [d5 own_copy]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let asked: StoryMail;
  let answer: StoryDraft;
  let sent: string;

  before(async () => {
    ({ service, tenant } = await startStory());
    asked = await tenant.mail({ raw: forwardedMail(), envelope: { from: corp } });
    answer = await tenant.draft(asked, { body_text: text, body_html: page, cc: [corp] });
    await answer.sendNow();
    sent = await sentBy(service, answer.id);
  });
  after(() => service.stop());

  const forwarder = { from: "bounces@corp.example" };
  const back = (raw: string, from = forwarder.from) => filing({ service, tenant }, raw, { from });
  const both = (ofText: string, ofPage: string, ...more: string[]) =>
    multipart("alternative", part(plain, ofText, "Content-Transfer-Encoding: 8bit"), part(html, ofPage), ...more);
  const renamed = (id: string) => sent.replace(/^Message-ID:\s*<[^>]+>/im, () => `Message-ID: <${id}>`);
  const quoted = (given: string) =>
    [...Buffer.from(given)].map((byte) =>
      byte === 10 ? "\n" : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`,
    );

  const copies: Record<string, () => string> = {
    "by a sieve's redirect": () =>
      returningHeaders("Resent-From: info@corp.example", `Resent-To: ${tenant.identity.address}`),
    "as it was": () => sent,
    "in quoted-printable, without its signature": () =>
      rewritten(sent, {
        type: plain,
        encoding: "quoted-printable",
        body: quoted(text)
          .join("")
          .replace(/(.{72})(?==)/g, "$1=\n"),
        without: ["DKIM-Signature"],
      }),
    "in base64 with HTML that a gateway wrote anew": () =>
      rewritten(
        sent,
        multipart(
          "alternative",
          part(plain, Buffer.from(text).toString("base64"), "Content-Transfer-Encoding: base64"),
          part(html, `<div class="x">${page.replaceAll("<p>", '<P style="margin:0">')}</div>`),
        ),
      ),
    "as format=flowed, its text alone": () =>
      rewritten(sent, { type: `${plain}; format=flowed`, body: text.replace("way – ", "way – \n") }),
    "as HTML alone with a footer below a line": () =>
      rewritten(sent, { type: html, body: `${page}<hr><p>For corp only.</p>` }),
    "by a mailing list, with its sender, its tag and its footer": () =>
      rewritten(sent, {
        ...multipart("mixed", part(plain, text), part(plain, "_______\nTalk mailing list\nhttps://lists.example/talk")),
        headers: [
          "From: Support via Talk <talk@lists.example>",
          "Subject: [Talk] Re: Order 77",
          "List-Id: <talk.lists.example>",
          "List-Post: <mailto:talk@lists.example>",
          "Precedence: list",
        ],
        without: ["From", "Subject"],
      }),
    "with a subject of another language": () =>
      rewritten(sent, { ...both(text, page), headers: ["Subject: ***SPAM*** AW:  Order 77"], without: ["Subject"] }),
    "with the line of a virus scanner": () =>
      rewritten(sent, both(`${text}\n-- \nChecked by Scan.`, `${page}<p>-- <br>Checked by Scan.</p>`)),
    "with a banner known from another sender's mail": () =>
      rewritten(sent, both(`${banner}\n\n${text}`, `<div>${banner}</div>${page}`)),
    "with that banner and a footer below a rule": () =>
      rewritten(
        sent,
        both(`${banner}\n${text}\n----\nFor corp only.`, `<div>${banner}</div>${page}<hr>For corp only.`),
      ),
    "with the mark of an automatic reply": () => returningHeaders("Auto-Submitted: auto-replied", "Precedence: bulk"),
    "under an id that its relay gave and did not tell": () => renamed("a1@relay.example"),
    "under an id that its relay told": () =>
      renamed("b2@relay.example").replace(/^References:.*(?:\r\n[ \t].*)*\r\n/im, ""),
    "under an id of which its relay told no host": () =>
      renamed("0102019a-c3d4@eu-west-1.amazonses.com").replace(/^References:.*(?:\r\n[ \t].*)*\r\n/im, ""),
  };
  const returningHeaders = (...headers: string[]) => [...headers, sent].join("\r\n");

  it("a copy of ours is kept in the ledger alone, in every form in which it may return", async () => {
    const waiting = await tenant.draft(asked, { body_text: "Anything else?" });
    const { attemptId } = (await service.deps.drafts.load(answer.id)).state;
    for (const rfcMessageId of ["<b2@relay.example>", "<0102019a-c3d4>"])
      await learnMessageId(service.deps, { attemptId: attemptId as string, rfcMessageId }, operator(tenant.id));
    await service.caughtUp();
    const { messages_total: total, status, messages } = await tenant.thread(asked);
    const ours = messages.find(({ direction }: any) => direction === "outbound");
    // The same bytes below other fields of servers are the same mail.
    const isKnown = (how: string) => ["as it was", "with the mark of an automatic reply"].includes(how);
    const returned = Object.entries(copies).map(([how, copy]) => ({ how, raw: copy() }));
    const mails = returned.map(({ how, raw }) => ({ raw, from: how.includes("sieve") ? "" : "bounces@corp.example" }));
    for (const [index, { entry }] of (await filings({ service, tenant }, mails)).entries()) {
      const { how } = returned[index]!;
      expect(entry.disposition, how).to.equal(isKnown(how) ? "duplicate" : "own_copy");
      expect(entry.message_id, how).to.equal(ours.id);
      if (index === 0) expect((await tenant.ask(`GET /v1/inbound/${entry.id}/raw`)).text).to.equal(mails[0]!.raw);
    }
    expect(await tenant.thread(asked)).to.include({ messages_total: total, status, needs_review: false });
    expect(await eventsAbout(tenant, asked)).to.deep.equal(["email.received"]);
    expect((await waiting.read()).newer_message_id).to.equal(null);
    expect((await waiting.ask("POST send")).status).to.equal(202);
  });

  const words: Record<string, () => string> = {
    "above ours": () => rewritten(sent, both(`${cancel}\n\n${text}`, `<p>${cancel}</p>${page}`)),
    "below ours": () => rewritten(sent, both(`${text}\n\n${cancel}`, `${page}<p>${cancel}</p>`)),
    "between ours": () => rewritten(sent, { type: plain, body: text.replace("\n\n", `\n\n${cancel}\n\n`) }),
    "in the HTML alone, as one word": () => rewritten(sent, both(text, `<p>ok</p>${page}`)),
    "in the text alone, as one word": () => rewritten(sent, both(`ok\n${text}`, page)),
    "that one of our lines has too": () => rewritten(sent, { type: plain, body: `no\n\n${text}` }),
    "below a banner known from another mail": () => rewritten(sent, { type: plain, body: `${banner}\nok\n${text}` }),
    "that somebody typed in the middle of another mail": () =>
      rewritten(sent, { type: plain, body: `Where is my order?\n\n${text}` }),
    "in a banner that no other mail had": () =>
      rewritten(sent, { type: plain, body: `[EXTERNAL] Mind the links.\n\n${text}` }),
    "above ours, which are marked as quoted": () =>
      rewritten(sent, { type: plain, body: `${cancel}\n\n> ${text.replaceAll("\n", "\n> ")}` }),
    "in a file": () =>
      rewritten(
        sent,
        multipart(
          "mixed",
          part(plain, text),
          part(`${plain}; name=a.txt`, cancel, "Content-Disposition: attachment; filename=a.txt"),
        ),
      ),
    "in an enclosed mail": () =>
      rewritten(
        sent,
        multipart("mixed", part(plain, text), part("message/rfc822", `Subject: ${cancel}\r\n\r\n${cancel}`)),
      ),
    "of a link that a gateway rewrote": () =>
      rewritten(sent, {
        type: html,
        body: page.replace("on its way", '<a href="https://guard.example/?u=1">on its way</a>'),
      }),
    "in the subject": () =>
      rewritten(sent, { ...both(text, page), headers: [`Subject: ${cancel}`], without: ["Subject"] }),
    "in the subject, beside ours": () =>
      rewritten(sent, { ...both(text, page), headers: [`Subject: Re: Order 77: ${cancel}`], without: ["Subject"] }),
    "instead of ours, without a reference": () =>
      rewritten(sent, {
        type: plain,
        body: cancel,
        headers: ["From: Eve <eve@elsewhere.example>"],
        without: ["From", "References", "In-Reply-To"],
      }),
  };

  it("a mail under our id with any other word is its sender's: it fires, makes drafts stale and asks for a review", async () => {
    const waiting = await tenant.draft(asked);
    const before = (await eventsAbout(tenant, asked)).length;
    const filed = await filings(
      { service, tenant },
      Object.values(words).map((raw) => raw()),
      forwarder,
    );
    for (const [index, how] of Object.keys(words).entries()) {
      const { entry, message } = filed[index]!;
      expect(message, `${how}: ${entry.disposition}`).to.include({ kind: "altered_copy", origin: "external" });
      expect(message.notes.join(), how).to.include("came back with other words");
      expect(message.thread_id, how).to.equal(asked.threadId);
    }
    expect((await waiting.read()).newer_message_id).to.equal(filed.at(-1)!.message.id);
    expect(await tenant.thread(asked)).to.include({ needs_review: true });
    expect(await eventsAbout(tenant, asked)).to.have.length(before + Object.keys(words).length);
  });

  it("lines are the forwarder's only if another sender's mail that is not ours came the same way", async () => {
    const under = (line: string, from = "Carla <carla@customer.example>") =>
      rewritten(sent, { type: plain, body: `${line}\n${text}`, headers: [`From: ${from}`], without: ["From"] });
    const forwarded = (line: string, from: string, envelope: string) =>
      tenant.mail({ from, text: `${line}\nWhere is it?`, envelope: { from: envelope } });
    await forwarded("Good morning,", "Carla <carla@customer.example>", "bounces@corp.example");
    expect((await back(under("Good morning,"))).message?.kind, "the same sender").to.equal("altered_copy");
    await forwarded("Good day,", "Bob <bob@customer.example>", "bob@customer.example");
    expect((await back(under("Good day,"))).message?.kind, "another way").to.equal("altered_copy");
    expect((await back(under("Please send it today.", "Dan <dan@customer.example>"))).message?.kind).to.equal(
      "altered_copy",
    );
    expect((await back(under("Please send it today."))).message?.kind, "under our id").to.equal("altered_copy");
    const own = async (line: string, more: { headers?: string[]; from?: string } = {}) =>
      (await back([...(more.headers ?? []), under(line)].join("\r\n"), more.from)).entry.disposition;
    await forwarded("[EXTERNAL]", "Bob <bob@customer.example>", "srs0=ab=customer.example=bob@corp.example");
    expect(await own("[EXTERNAL]"), "the same domain").to.equal("own_copy");
    await forwarded("[GATEWAY]", "Dan <dan@corp.example>", "bounces@corp.example");
    expect(await own("[GATEWAY]"), "the same envelope").to.equal("own_copy");
    const raw = [
      "Delivered-To: info@elsewhere.example",
      "Message-ID: <f6@customer.example>",
      "From: bob@customer.example",
      "",
      "[TRACE]\r\nWhere?",
    ];
    await tenant.mail({ raw: raw.join("\r\n"), envelope: { from: "bob@customer.example" } });
    const trace = { headers: raw.slice(0, 1), from: tenant.identity.address };
    expect(await own("[TRACE]", trace), "the same address").to.equal("own_copy");
  });

  it("a reply that names nothing but the id that a relay gave a copy of ours is on its thread", async () => {
    const waiting = await tenant.draft(asked);
    const reply = await tenant.mail({ inReplyTo: ["a1@relay.example"] });
    expect(reply.threadId).to.equal(asked.threadId);
    expect((await waiting.ask("POST send")).outcome).to.equal("409 stale_draft");
  });

  it("what came back with other words is answered to whom it was sent", async () => {
    const other = { ...both(text, page), headers: ["Subject: Not this one"], without: ["Subject"] };
    const { message } = await back(rewritten(sent, other));
    const basis = { ...asked.basis, based_on_message_id: message.id };
    const { json, outcome } = await tenant.submit({ basis });
    expect([outcome, json.to]).to.deep.equal(["201", ["carla@customer.example"]]);
  });

  it("a mail under an id that only looks like ours is a customer's", async () => {
    const other = await openTenant(service);
    const foreign = await other.draft(await other.mail(), { body_text: text });
    await foreign.sendNow();
    const ofOther = await sentBy(service, foreign.id);
    const [local, domain] = idOf(sent).split("@") as [string, string];
    const broken = `${local.slice(0, -1)}${local.endsWith("A") ? "B" : "A"}@${domain}`;
    const alone = { type: plain, body: text, without: ["References", "In-Reply-To", "Message-ID"] };
    const mails = [
      ofOther,
      rewritten(sent, { ...alone, headers: [`Message-ID: <${broken}>`] }),
      rewritten(sent, { ...alone, headers: [`Message-ID: <x${local}@${domain}>`] }),
      rewritten(sent, { ...alone, headers: [`Message-ID: <eve@elsewhere.example> <${local}@${domain}>`] }),
      // Without our id at the end of its references only the sender's address is ours, which anybody can write.
      rewritten(sent, { ...alone, headers: ["Message-ID: <c3@relay.example>"] }),
      // A stranger cannot have our words taken for ours in the name of somebody else.
      rewritten(renamed("d4@relay.example"), {
        type: plain,
        body: text,
        headers: ["From: Eve <eve@elsewhere.example>"],
        without: ["From"],
      }),
      rewritten(renamed("e5@relay.example"), { type: plain, body: `${cancel}\n\n${text}` }),
    ];
    for (const [index, { entry, message }] of (await filings({ service, tenant }, mails, forwarder)).entries())
      expect(message?.kind, `mail ${index}: ${entry.disposition}`).to.equal("customer");
  });

  it("a copy of ours whose text was lost is its sender's mail, and later mail is filed", async () => {
    const mail = await tenant.mail();
    const draft = await tenant.draft(mail, { body_text: `Long. ${"x ".repeat(10_000)}` });
    await draft.sendNow();
    const raw = await sentBy(service, draft.id);
    const { contentBlob } = (await service.deps.drafts.load(draft.id)).state.stored;
    expect(contentBlob).to.be.a("string");
    const { blobs } = service.deps;
    const { get } = blobs;
    blobs.get = async (sha256) => (sha256 === contentBlob ? undefined : get(sha256));
    await service.deliver(tenant.identity.address, raw).finally(() => Object.assign(blobs, { get }));
    expect((await tenant.thread(mail)).messages.at(-1)).to.include({ kind: "altered_copy" });
    expect((await tenant.mail()).threadId).not.to.equal(mail.threadId);
  });

  const forwardedMail = (): string =>
    [
      `Delivered-To: ${corp}`,
      "Received: by mx.corp.example",
      `Message-ID: <${randomUUID()}@customer.example>`,
      "From: Carla <carla@customer.example>",
      `To: ${corp}`,
      "Subject: Order 77",
      "MIME-Version: 1.0",
      `Content-Type: ${plain}`,
      "",
      banner,
      "",
      "Where is my order?",
      "Carla",
      "",
    ].join("\r\n");
});
