import { createHash } from "node:crypto";
import { expect } from "chai";
import { createHeaderReader } from "#src/mail/in/headerReader.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import type { MailHeaders } from "#streams/inbox/events.ts";
import { inFull } from "#test/support/full.ts";
import { corpus, fixture, fixtureNames, hasCorpus, mail } from "./mails.ts";

const envelopeFrom = "a@b.example";
const hash = (raw: Buffer) => createHash("sha256").update(raw).digest("hex");
const reader = createHeaderReader(() => false);
const read = (raw: Buffer) => reader.read(raw, { rawSha256: hash(raw), envelopeFrom });

/** Returns the values that decide about thread, identity and sender of a mail. */
const deciding = ({ to: _to, cc: _cc, replyTo: _replyTo, cut: _cut, ...rest }: MailHeaders) => {
  if (!rest.messageIdDerived) return rest;
  // Without a Message-ID, a mail with other bytes is another mail.
  const { messageId: _messageId, contentDigest: _digest, ...others } = rest;
  return others;
};

const addresses = (count: number): string =>
  Array.from({ length: count }, (_, n) => `somebody.number.${n}@a-long-name-of-a-domain.customer.example`).join(
    ",\r\n ",
  );

/** Fields to put before all others; none of them decides anything. */
const paddings: Record<string, string> = {
  "1,700 recipients": `To: ${addresses(1_700)}\r\n`,
  "1,700 recipients of copies": `Cc: ${addresses(1_700)}\r\n`,
  "200,000 short fields": "X-A: b\r\n".repeat(200_000),
  "lines that are no fields": "no colon\r\n".repeat(20_000),
  "a field of 1.8 MB": `X-A: ${"b".repeat(1_800_000)}\r\n`,
  "a field of folds": `X-A: b${"\r\n c".repeat(100_000)}\r\n`,
  traces:
    `Received: from a.example (b.example [192.0.2.1]) by c.example;\r\n\tMon, 2 Nov 2026 10:00:00 +0000\r\n`.repeat(
      1_000,
    ),
  "names in encoded words": `To: ${"=?utf-8?q?=41?= <a@b.example>,".repeat(4_000)}\r\n`,
  "letters of no charset": `To: ${"\xff".repeat(100_000)}\r\n`,
  groups: `Reply-To: ${":".repeat(60_000)}\r\n`,
};

describe("the header reader of received mail", () => {
  it("the bounded header reader reads the same as the full one, for fixtures and real mail", async () => {
    const step = inFull ? 1 : 20;
    const real = ["automatic", "list-mail", "mime"].filter(hasCorpus).flatMap((name) => corpus(name));
    const raws = [...fixtureNames().map(fixture), ...real.filter((_, n) => n % step === 0).map(({ raw }) => raw)];
    for (const raw of raws) expect(await read(raw)).to.deep.equal(readHeaders(raw, envelopeFrom));
  });

  for (const [name, padding] of Object.entries(paddings)) {
    it(`the bounded header reader still finds the fields that decide behind ${name}`, async () => {
      for (const fixtureName of fixtureNames()) {
        const raw = fixture(fixtureName);
        const padded = Buffer.concat([Buffer.from(padding, "latin1"), raw]);
        expect(deciding(await read(padded)), fixtureName).to.deep.equal(deciding(await read(raw)));
      }
    });
  }

  it("the thread of a mail is found behind 100 KB of recipients, and the cut field is named", async () => {
    const ids = ["Message-ID: <a@x.example>", "References: <q@agents.example>", "Subject: Re: late"];
    const answer = await read(mail([`To: ${addresses(1_700)}`, "From: a@b.example", ...ids]));
    expect(answer).to.deep.include({ messageId: "<a@x.example>", threadIds: ["<q@agents.example>"], cut: ["to"] });
    expect(answer).to.deep.include({ subject: "Re: late", from: { name: "", address: "a@b.example" } });
    expect(answer.to).to.have.length(200);
  });

  it("a cut address field has no partial addresses and none from inside a quoted name", async () => {
    const filler = "x, ".repeat(245);
    const { to, cut } = await read(mail([`To: ${filler}"one@a.example, two" <b@b.example>, ${"y, ".repeat(20_000)}`]));
    expect([to, cut]).to.deep.equal([["b@b.example"], ["to"]]);
    const { to: none } = await read(mail([`To: ${filler}${"x, ".repeat(10)}"one@a.example, ${"z".repeat(40_000)}`]));
    expect(none).to.deep.equal([]);
  });

  it("a large body changes the content digest of a received mail at its last byte", async () => {
    const raw = mail(["From: a@b.example", "Message-ID: <1@b.example>"], "x".repeat(1_500_000));
    const first = await read(raw);
    expect(first.contentDigest).to.equal(readHeaders(raw).contentDigest);
    raw[raw.length - 1] = 0;
    expect((await read(raw)).contentDigest).to.not.equal(first.contentDigest);
  });
});
