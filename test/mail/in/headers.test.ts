import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { parseMailDate } from "#src/mail/in/mailDate.ts";
import { idInAnswer } from "#src/mail/in/messageIds.ts";
import { fixture, mail } from "./mails.ts";

describe("readHeaders", () => {
  it("readHeaders reads ids, sender, recipients, subject and date, decoded", () => {
    const headers = readHeaders(fixture("question"));
    expect(headers).to.deep.include({
      messageId: "<q1.17@kunde.example>",
      messageIdDerived: false,
      threadIds: [],
      inReplyTo: null,
      references: [],
      from: { name: "Mara Löw", address: "mara@kunde.example" },
      fromCount: 1,
      replyTo: ["orders@kunde.example"],
      to: ["support@agents.example", "billing@agents.example"],
      cc: ["tom@kunde.example", "ute@kunde.example"],
      subject: "Lieferung für Auftrag 17",
      date: "2026-11-03T08:12:40.000Z",
      classification: "person",
      reportedMessageIds: [],
    });
  });

  it("readHeaders reads 8-bit values as UTF-8, or as windows-1252 if they are not UTF-8", () => {
    const latin = Buffer.from("Subject: Gr\xfc\xdfe \x96 M\xf6we\r\n\r\n", "latin1");
    expect(readHeaders(latin).subject).to.equal("Grüße – Möwe");
    expect(readHeaders(mail(["Subject: Grüße – Möwe"])).subject).to.equal("Grüße – Möwe");
  });

  it("readHeaders puts no line break, control character or NUL into a value", () => {
    const headers = readHeaders(
      mail(["Subject: =?utf-8?q?a=0D=0ABcc:_b@c.example=00?=", "From: =?utf-8?q?x=0Ay?= <x@y.example>"]),
    );
    expect(headers.subject).to.equal("a Bcc: b@c.example\ufffd");
    expect(headers.from).to.deep.equal({ name: "x y", address: "x@y.example" });
  });

  it("readHeaders counts every From and reads the first", () => {
    const headers = readHeaders(fixture("two-senders"));
    expect(headers.fromCount).to.equal(2);
    expect(headers.from?.address).to.equal("ceo@kunde.example");
    expect(headers.messageId).to.equal("<twice.1@elsewhere.example>");
  });

  it("readHeaders takes no address out of a display name", () => {
    expect(readHeaders(mail(['From: "boss@kunde.example" <thief@elsewhere.example>'])).from).to.deep.equal({
      name: "boss@kunde.example",
      address: "thief@elsewhere.example",
    });
    expect(readHeaders(mail(["From: =?utf-8?q?boss=40kunde.example?="])).from).to.equal(null);
    expect(readHeaders(mail(["From: undisclosed"])).from).to.equal(null);
  });

  it("readHeaders ends at the first empty line, with CRLF or LF", () => {
    for (const end of ["\r\n", "\n"]) {
      const raw = Buffer.from(["From: a@b.example", "", "Subject: not this"].join(end));
      expect(readHeaders(raw)).to.deep.include({ subject: "", fromCount: 1 });
    }
  });

  it("readHeaders skips lines that are no fields", () => {
    const raw = mail([
      "From mara@kunde.example Tue Nov  3 09:12:44 2026",
      "no colon",
      " folded under nothing",
      "Subject : yes",
    ]);
    expect(readHeaders(raw)).to.deep.include({ subject: "yes", fromCount: 0 });
  });
});

describe("the ids that place a mail in its thread", () => {
  it("the thread ids are all of References, once each, without white space inside", () => {
    const headers = readHeaders(fixture("answer"));
    expect(headers.threadIds).to.deep.equal(["<q1.17@kunde.example>", "<a2.17@agents.example>"]);
    expect(headers.inReplyTo).to.equal("<a2.17@agents.example>");
  });

  it("the thread id is the last of In-Reply-To if there are no References", () => {
    expect(readHeaders(fixture("old-client")).threadIds).to.deep.equal(["<inv.9@agents.example>"]);
    const empty = mail(["References: none", "In-Reply-To: <a@b>,<c@d>"]);
    expect(readHeaders(empty).threadIds).to.deep.equal(["<c@d>"]);
  });

  it("thread ids are separated without white space and keep their case", () => {
    expect(readHeaders(mail(["References: <A@b>,<a@b><c@d>"])).threadIds).to.deep.equal(["<A@b>", "<a@b>", "<c@d>"]);
  });

  it("at most fifty thread ids are kept: the first and the newest", () => {
    const ids = Array.from({ length: 300 }, (_, n) => `<${n}@x>`);
    const kept = readHeaders(mail([`References: ${ids.join(" ")}`])).threadIds;
    expect(kept).to.have.length(50);
    expect(kept[0]).to.equal("<0@x>");
    expect(kept.slice(1)).to.deep.equal(ids.slice(-49));
  });

  it("a very long id is shortened the same way in Message-ID and References", () => {
    const id = `<${"x".repeat(5_000)}@y.example>`;
    const { messageId } = readHeaders(mail([`Message-ID: ${id}`]));
    expect(messageId.length).to.be.below(100);
    expect(readHeaders(mail([`References: ${id}`])).threadIds).to.deep.equal([messageId]);
  });

  it("a bounce and a receipt name the mail they report, and a newsletter names none", () => {
    expect(readHeaders(fixture("bounce")).reportedMessageIds).to.deep.equal(["<a2.17@agents.example>"]);
    expect(readHeaders(fixture("read-receipt")).reportedMessageIds).to.deep.equal(["<a2.17@agents.example>"]);
    expect(readHeaders(fixture("newsletter")).reportedMessageIds).to.deep.equal([]);
  });
});

describe("a mail's Message-ID", () => {
  it("a Message-ID without brackets is accepted", () => {
    expect(readHeaders(mail(["Message-ID: abc@d.example"])).messageId).to.equal("<abc@d.example>");
  });

  it("a missing Message-ID is derived from the bytes of the mail", () => {
    for (const header of ["Subject: none", "Message-ID:", "Message-ID: <>", "Message-ID: a b c"]) {
      const raw = mail([header], "text");
      const { messageId, messageIdDerived, contentDigest } = readHeaders(raw);
      expect(messageIdDerived, header).to.equal(true);
      expect(messageId).to.match(/^<[0-9a-f]{64}@missing\.local>$/);
      expect(readHeaders(Buffer.from(raw)).messageId).to.equal(messageId);
      expect(readHeaders(mail([header], "text!"))).to.not.deep.include({ messageId });
      expect(readHeaders(mail([header], "text!")).contentDigest).to.not.equal(contentDigest);
    }
  });
});

describe("the content digest of a mail", () => {
  const raw = fixture("question");
  const digest = readHeaders(raw).contentDigest;
  const changed = (from: string, to: string) =>
    readHeaders(Buffer.from(raw.toString("latin1").replace(from, to), "latin1"));

  it("the content digest does not change with trace fields", () => {
    expect(changed("Received: from mail.kunde", "Received: from other.kunde").contentDigest).to.equal(digest);
    expect(changed("To: ", "X-Spam: no\r\nTo: ").contentDigest).to.equal(digest);
  });

  it("the content digest changes with Date, From, Subject and body, and with a second From", () => {
    for (const [from, to] of [
      ["Date: Tue, 03", "Date: Tue, 04"],
      ["?= <mara@", "?= <sara@"],
      ["Subject: ", "Subject: Re: "],
      ["Auftrag 17?", "Auftrag 18?"],
      ["To: ", "From: x@y.example\r\nTo: "],
    ] as const)
      expect(changed(from, to).contentDigest, to).to.not.equal(digest);
  });
});

describe("the classification of mail by its headers", () => {
  const kindOf = (...headers: string[]) => readHeaders(mail(headers)).classification;

  it("the fixture mails are classified as person, list, bounce and automatic reply", () => {
    const kinds = [
      "question",
      "answer",
      "old-client",
      "newsletter",
      "bounce",
      "delay",
      "out-of-office",
      "read-receipt",
    ].map((name) => readHeaders(fixture(name)).classification);
    expect(kinds).to.deep.equal([
      "person",
      "person",
      "person",
      "list",
      "bounce",
      "auto_reply",
      "auto_reply",
      "auto_reply",
    ]);
  });

  it("a mail that suppresses automatic replies or says Auto-Submitted: no is a person's, and so is a postmaster's", () => {
    expect(kindOf("From: a@b.example", "X-Auto-Response-Suppress: All")).to.equal("person");
    expect(kindOf("From: a@b.example", "Auto-Submitted: no")).to.equal("person");
    expect(kindOf("From: postmaster@b.example", "Subject: your invoice")).to.equal("person");
  });

  it("a mail with a null envelope sender is a program's, an automatic reply if it answers ours, a bounce from a postmaster", () => {
    const raw = mail(["From: a@b.example", "Subject: hello"]);
    expect(readHeaders(raw, "")).to.include({ classification: "person", generated: true, automaticIfOurs: true });
    expect(readHeaders(raw, "a@b.example")).to.include({ classification: "person" }).and.not.have.property("generated");
    expect(readHeaders(mail(["From: postmaster@b.example"]), "").classification).to.equal("bounce");
  });
});

describe("the mail that a bounce reports", () => {
  const reported = (...lines: string[]) => {
    const parts = ["--b", "Content-Type: message/delivery-status", "", "Action: failed", "", "--b", ...lines, "--b--"];
    const type = 'Content-Type: multipart/report; report-type=delivery-status; boundary="b"';
    const { reportedMessageIds, reportedReferences } = readHeaders(mail([type], parts.join("\r\n")));
    return { ids: reportedMessageIds, references: reportedReferences };
  };
  const enclosed = ["Content-Type: message/rfc822", ""];

  it("a bounce's reported Message-ID and References are read, folded or not", () => {
    const lines = ["From: a@ours.example", "Message-ID: <1@x>", "References: <a@x>", " <b@x>", "\t<c@x>", "", "Hello"];
    expect(reported(...enclosed, ...lines)).to.deep.equal({ ids: ["<1@x>"], references: ["<a@x>", "<b@x>", "<c@x>"] });
  });

  it("a bounce's reported In-Reply-To is read if there are no References", () => {
    const lines = ["From: a@ours.example", "In-Reply-To: <a@x>", "", "Hello"];
    expect(reported(...enclosed, ...lines)).to.deep.equal({ ids: [], references: ["<a@x>"] });
  });

  it("a bounce's reported References are read from a quoted header", () => {
    const lines = ["Your message:", "", "> From: a@ours.example", "> References: <a@x>", ">  <b@x>", ">", "> Hello"];
    expect(reported("Content-Type: text/plain", "", ...lines).references).to.deep.equal(["<a@x>", "<b@x>"]);
  });

  it("ids in the reported mail's text or in a mail inside it are not read", () => {
    const inner = ["", "Content-Type: message/rfc822", "", "From: eve@x", "Message-ID: <2@x>", "References: <evil@x>"];
    const lines = ["From: a@ours.example", "Message-ID: <1@x>", "", "References: <text@x>", ...inner];
    expect(reported(...enclosed, ...lines).references).to.equal(undefined);
  });

  it("reported References are read only in bounces", () => {
    const body = "From: a@ours.example\r\nReferences: <a@x>\r\n\r\nHello";
    expect(readHeaders(mail(["From: ann@x.example"], body))).not.to.have.property("reportedReferences");
  });
});

describe("parseMailDate", () => {
  it("parseMailDate converts to UTC, also obsolete zones and two-digit years", () => {
    expect(parseMailDate("Tue, 03 Nov 2026 09:12:40 +0100")).to.equal("2026-11-03T08:12:40.000Z");
    expect(parseMailDate("3 Nov 26 11:05 EST")).to.equal("2026-11-03T16:05:00.000Z");
    expect(parseMailDate("Tue,  3 Nov 2026 09:12 (no zone)")).to.equal("2026-11-03T09:12:00.000Z");
    expect(parseMailDate("1 Jan 99 00:00:00 GMT")).to.equal("1999-01-01T00:00:00.000Z");
  });

  it("parseMailDate returns null for an invalid date", () => {
    for (const value of ["", "yesterday", "1", "45 Nov 2026 00:00", "1 Nov 2026 99:99", "2026-11-03T00:00:00Z"])
      expect(parseMailDate(value), value).to.equal(null);
  });
});

describe("placeholder and relay ids", () => {
  const idsOf = (...headers: string[]) => readHeaders(mail(headers)).threadIds;

  it("placeholders and ids without an @ are no thread ids", () => {
    for (const none of [
      "null",
      "<null>",
      "<>",
      "<undefined>",
      "<NULL@null>",
      "<@>",
      "<@localhost>",
      "<(null)>",
      "<[object Object]@x.example>",
      "<NaN@x.example>",
      "<nil>",
      "<none@customer.example>",
      "<12345>",
      "< >",
    ]) {
      expect(idsOf(`References: ${none}`, `In-Reply-To: ${none}`), none).to.deep.equal([]);
      expect(readHeaders(mail([`In-Reply-To: ${none}`])).inReplyTo, none).to.equal(null);
    }
    expect(idsOf("References: <null> <a@x.example>")).to.deep.equal(["<a@x.example>"]);
    expect(idsOf("References: <undefined>", "In-Reply-To: <a@x.example>")).to.deep.equal(["<a@x.example>"]);
    expect(idsOf("References: <nullable@x.example>")).to.deep.equal(["<nullable@x.example>"]);
  });

  const isOwn = (id: string) => /^<[ab]+@ours\.example>$/.test(id);
  const named = (...lines: string[]) => {
    const { threadIds, references, inReplyTo } = readHeaders(mail(lines), undefined, isOwn);
    return [threadIds, references, inReplyTo];
  };

  for (const [form, value] of Object.entries({
    "with commas between": "first@x.example, aa@ours.example, ab@ours.example",
    "with blanks between": "first@x.example aa@ours.example ab@ours.example",
    "on several lines": "first@x.example\r\n aa@ours.example\r\n\tab@ours.example",
    "with semicolons between": "aa@ours.example;ab@ours.example",
    "in quotes": "\"aa@ours.example\" 'ab@ours.example'",
    "in round brackets": "(aa@ours.example) (ab@ours.example)",
    "among words": "Your message aa@ours.example of Monday, and ab@ours.example",
  }))
    it(`ids of this service without angle brackets are read, and no others: ${form}`, () => {
      const own = ["<aa@ours.example>", "<ab@ours.example>"];
      expect(named(`References: ${value}`)).to.deep.equal([own, own, null]);
      expect(named(`In-Reply-To: ${value}`)).to.deep.equal([[own[1]], [], own[1]]);
      expect(readHeaders(mail([`References: ${value}`, `In-Reply-To: ${value}`])).threadIds).to.deep.equal([]);
    });

  it("words without angle brackets are no ids in a field that has some, and addresses never are", () => {
    expect(named("References: aa@ours.example <c@x.example>")).to.deep.equal([
      ["<c@x.example>"],
      ["<c@x.example>"],
      null,
    ]);
    expect(named("In-Reply-To: Message of Monday from ada@customer.example")).to.deep.equal([[], [], null]);
    expect(named("In-Reply-To: aa@ours.example", "References: m1@x.example")).to.deep.equal([
      ...[["<aa@ours.example>"], [], "<aa@ours.example>"],
    ]);
  });

  it("of a field full of words without angle brackets the last hundred are checked", () => {
    let checked = 0;
    const count = (id: string) => ++checked > 0 && isOwn(id);
    const ids = ["aa@ours.example", ...Array.from({ length: 5_000 }, (_, n) => `${n}@x`), "ab@ours.example"];
    const { references } = readHeaders(mail([`References: ${ids.join(" ")}`]), undefined, count);
    expect([references, checked]).to.deep.equal([["<ab@ours.example>"], 200]);
  });

  it("two mails whose Message-ID is a placeholder get different derived ids", () => {
    const [one, other] = ["a", "b"].map((text) => readHeaders(mail(["Message-ID: <null>"], text)));
    expect(one?.messageIdDerived).to.equal(true);
    expect(one?.messageId).to.not.equal(other?.messageId);
  });

  it("an id of Amazon SES also counts without its regional host", () => {
    expect(idsOf("References: <0102-a@eu-west-1.amazonses.com>")).to.deep.equal([
      "<0102-a@eu-west-1.amazonses.com>",
      "<0102-a>",
    ]);
    expect(idsOf("In-Reply-To: <0102-a@email.amazonses.com>")).to.include("<0102-a>");
    expect(idsOf("References: <0102-a@amazonses.com.evil.example>")).to.have.length(1);
  });

  it("the relay's id is read from its SMTP answer if that contains one", () => {
    const answers = {
      "250 Ok 0102019a1b2c3d4e-11111111-2222-3333-4444-555555555555-000000":
        "<0102019a1b2c3d4e-11111111-2222-3333-4444-555555555555-000000>",
      "250 2.0.0 OK: queued as <202611261200.123@smtp-relay.example>": "<202611261200.123@smtp-relay.example>",
      "250 2.0.0 Ok: queued as 4FxYz12345": undefined,
      "250 Ok": undefined,
      "250 2.6.0 Message accepted": undefined,
      "202 0102019a1b2c3d4e": undefined,
      [`250 ok ${"a".repeat(100_000)} `]: undefined,
    };
    for (const [answer, id] of Object.entries(answers)) expect(idInAnswer(answer), answer.slice(0, 80)).to.equal(id);
  });
});
