import { expect } from "chai";
import { maxEventBytes } from "#src/eventStore/eventStore.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import { inFull } from "#test/support/full.ts";
import { processorMs } from "#test/support/processorTime.ts";
import { seeded } from "../../../scripts/support/random.ts";
import { fixture, fixtureNames, mail } from "./mails.ts";

/** Expects that the values are storable as JSON in PostgreSQL and small enough for an event. */
function expectStorable(raw: Buffer): void {
  const headers = readHeaders(raw);
  const json = JSON.stringify(headers);
  expect(json).to.not.match(/\\u0000|\\ud[89a-f]/i);
  expect(Buffer.byteLength(json)).to.be.below(maxEventBytes / 2);
  expect(headers.messageId).to.match(/^<[^<>\s]+>$/);
}

const big = (line: string, times: number): Buffer =>
  Buffer.from(`From: a@b.example\r\n${line.repeat(times)}Subject: late\r\n\r\nx`);

describe("readHeaders with hostile bytes", () => {
  const mails = inFull ? 20_000 : 2_000;
  it(`readHeaders returns storable values for ${mails.toLocaleString("en")} mails with random broken bytes`, () => {
    const random = seeded(17);
    const sources = fixtureNames().map(fixture);
    for (let n = 0; n < mails; n++) {
      const raw = Buffer.from(sources[n % sources.length]!);
      const changes = 1 + Math.floor(random() * 20);
      for (let change = 0; change < changes; change++)
        raw[Math.floor(random() * raw.length)] = Math.floor(random() * 256);
      expectStorable(raw.subarray(Math.floor(random() * 40), raw.length - Math.floor(random() * 300)));
    }
  });

  it("readHeaders returns storable values for bytes that are no mail", () => {
    const random = seeded(4);
    for (let n = 0; n < 2_000; n++) {
      expectStorable(Buffer.from(Array.from({ length: n % 400 }, () => Math.floor(random() * 256))));
    }
    for (const raw of ["", "\n", "\r\n\r\n", ":", ": x", " ", "\0", "From", "From:", "Message-ID: <\0>\n\n"])
      expectStorable(Buffer.from(raw));
  });

  const shapes: Record<string, Buffer> = {
    "200,000 headers": big("X-A: b\r\n", 200_000),
    "200,000 senders": big("From: c@d.example\r\n", 200_000),
    "a million empty folds": big(" \r\n", 1_000_000),
    "one header of 30 MB": Buffer.concat([Buffer.from("Subject: "), Buffer.alloc(30_000_000, "x")]),
    "30 MB of line feeds after a CR": Buffer.alloc(30_000_000, "\r\n "),
    "30 MB of body": Buffer.concat([fixture("question"), Buffer.alloc(30_000_000, "y\n")]),
    "a report of 30 MB": Buffer.concat([fixture("bounce"), Buffer.alloc(30_000_000, "\nMessage-ID: ")]),
    "a report of line feeds": Buffer.concat([fixture("bounce"), Buffer.alloc(1_000_000, "\n")]),
    "open brackets": mail([`References: ${"<a".repeat(1_000_000)}`, `In-Reply-To: ${"<".repeat(1_000_000)}`]),
    "addresses without end": mail([`From: ${"a@b.example, ".repeat(100_000)}`, `To: ${"a:".repeat(200_000)}`]),
    "different addresses": mail([
      `To: ${Array.from({ length: 9_000 }, (_, n) => `${n}@${"d".repeat(200)}.example`).join(",")}`,
    ]),
    "quotes and comments": mail([
      `From: ${'"('.repeat(100_000)}`,
      `To: ${"(".repeat(200_000)}`,
      `Cc: ${"<@".repeat(200_000)}`,
    ]),
    "at signs": mail([`From: ${"@".repeat(500_000)}`, `To: ${"a@".repeat(250_000)}`, `Cc: ${" ".repeat(500_000)}@`]),
    "encoded words": mail([`Subject: ${"=?utf-8?b?8J+YgA==?= ".repeat(50_000)}`, `From: ${"=?x?q?=".repeat(100_000)}`]),
    "unfinished encoded words": mail([`Subject: ${"=?utf-8?q?".repeat(100_000)}`]),
    "half a surrogate pair": mail(["Subject: =?utf-16le?b?ANg=?=", `From: ${"😀".repeat(400)} <a@b.example>`]),
    "an unknown charset": mail(["Subject: =?x-nowhere?q?=E4=00?=", "From: =?utf-7?q?+AGE-?= <a@b.example>"]),
  };

  for (const [name, raw] of Object.entries(shapes)) {
    it(`readHeaders returns storable values of bounded size for ${name}`, () => {
      expectStorable(raw);
    });
  }

  /** Fills a field to its greatest length, for which a pattern that starts again at each character takes seconds. */
  const filled = (piece: string): string => `${piece.repeat(Math.floor(65_000 / piece.length))} x`;
  const pieces = [
    "@",
    "a@",
    "<",
    "<a",
    "<a@b>",
    " \t",
    "(",
    '"',
    "\\",
    ":",
    ";",
    ",",
    "=",
    "=?",
    "=?x?q?",
    "a=b; ",
    "1",
    "1 Jan ",
  ];
  const read = [
    ...["Message-ID", "References", "In-Reply-To", "From", "Reply-To", "Cc", "Subject", "Date"],
    ...["Auto-Submitted", "Precedence", "List-Id", "Content-Type", "Return-Path"],
    ...["Delivered-To", "X-Failed-Recipients", "X-Loop"],
  ];
  for (const field of read) {
    it(`readHeaders takes less than 500 ms for a long ${field} of any repeated piece`, () => {
      for (const piece of pieces) {
        const raw = mail([`${field}: ${filled(piece)}`]);
        expect(
          processorMs(() => readHeaders(raw)),
          piece,
        ).to.be.lessThan(500);
      }
    });
  }

  it("a Message-ID without brackets is accepted if it is one word with an @ inside", () => {
    const idOf = (value: string) => readHeaders(mail([`Message-ID: ${value}`])).messageId;
    expect(["a@b", " a@b ", "@a@b", "a@@", "a@b@c"].map(idOf)).to.deep.equal([
      "<a@b>",
      "<a@b>",
      "<@a@b>",
      "<a@@>",
      "<a@b@c>",
    ]);
    for (const none of ["a", "@", "@a", "a@", "a b@c", "a@b c", "a>@b", "@@"])
      expect(idOf(none), none).to.match(/@missing\.local>$/);
  });

  it("readHeaders counts all senders and finds the subject behind 200,000 header fields", () => {
    expect(readHeaders(shapes["200,000 headers"]!)).to.deep.include({ fromCount: 1, subject: "late" });
    expect(readHeaders(big("From: c@d.example\r\n", 50_000)).fromCount).to.equal(50_001);
  });
});
