import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { processorMs } from "#test/support/processorTime.ts";
import { mail } from "./mails.ts";

describe("the addresses that forwarded a mail [d5 reply to all]", () => {
  const author = [
    "From: Carla <carla@customer.example>",
    "To: info@corp.example",
    "Subject: Order",
    "Date: Mon, 16 Nov 2026 10:00:00 +0000",
  ];
  const received = "Received: from mx.corp.example by mail.corp.example with ESMTP; Mon, 16 Nov 2026 10:00:01 +0000";
  const forwardersIn = (...headers: string[]): string[] | undefined =>
    readHeaders(mail(headers, "Where is it?")).forwardedFrom;

  const forms: Record<string, string[]> = {
    "Postfix and Dovecot": ["Return-Path: <carla@customer.example>", "Delivered-To: info@corp.example", received],
    "qmail, below its Received": [received, "Delivered-To: info@corp.example"],
    Gmail: [
      "X-Forwarded-To: agent@ours.example",
      "X-Forwarded-For: info@corp.example agent@ours.example",
      "Delivered-To: info@corp.example",
    ],
    "an MTA that keeps the first recipient": ["X-Original-To: info@corp.example", received],
    Exim: [received, "Envelope-to: info@corp.example"],
    "a redirect of sieve": [received, "Resent-From: info@corp.example", "Resent-To: <info@corp.example>"],
    "a name in mixed case, folded": [received, 'Delivered-To:\r\n "Info" <INFO@Corp.Example>'],
  };
  for (const [program, trace] of Object.entries(forms))
    it(`${program} names the address`, () => {
      expect(forwardersIn(...trace, ...author)).to.include("info@corp.example");
    });

  it("fields below or among those that the author wrote do not count", () => {
    for (const field of ["Delivered-To", "X-Forwarded-To", "Resent-To", "X-Original-To", "Envelope-To"]) {
      expect(forwardersIn(received, ...author, `${field}: boss@partner.example`), field).to.equal(undefined);
      expect(forwardersIn(author[0]!, `${field}: boss@partner.example`, ...author.slice(1)), field).to.equal(undefined);
    }
  });

  it("fields full of blanks are read in time proportional to their length", () => {
    const fields = ["Delivered-To", "X-Forwarded-To", "X-Forwarded-For", "Resent-To", "X-Original-To", "Envelope-To"];
    const filled = fields.flatMap((name) => Array<string>(10).fill(`${name}: a${" ".repeat(1_990)}b`));
    expect(processorMs(() => forwardersIn(...filled, ...author))).to.be.lessThan(200);
    expect(forwardersIn("Delivered-To: info@corp.example  boss@corp.example", ...author)).to.deep.equal([
      "info@corp.example",
      "boss@corp.example",
    ]);
  });

  it("many, long and broken addresses are bounded", () => {
    const many = Array.from({ length: 40 }, (_, n) => `Delivered-To: a${n}@corp.example`);
    expect(forwardersIn(...many, ...author)).to.have.length(10);
    expect(forwardersIn(`Delivered-To: ${"x".repeat(400)}@corp.example`, ...author)).to.equal(undefined);
    for (const broken of [
      "Delivered-To:",
      "Delivered-To: nobody",
      "Delivered-To: Autoresponder",
      "X-Forwarded-To: @@@@",
    ])
      expect(forwardersIn(broken, ...author), broken).to.equal(undefined);
  });
});
