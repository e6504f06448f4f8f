import { readFileSync } from "node:fs";
import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { processorMs } from "#test/support/processorTime.ts";
import { archives, classes, classificationFigures, isMachine, rates } from "./classificationFigures.ts";
import { hasCorpus, mail } from "./mails.ts";

describe("the classification of mail", () => {
  const kindOf = (headers: string[], body = "") => readHeaders(mail(headers, body)).classification;
  const from = "From: MAILER-DAEMON@mx.example";
  const report = 'Content-Type: multipart/report; report-type=delivery-status; boundary="b"';
  const recipient = (action: string) =>
    `Final-Recipient: rfc822; ann@x.example\r\nAction: ${action}\r\nStatus: 4.0.0\r\n`;

  it("a report of a delay is an automatic reply, and one of a failure is a bounce, in any form", () => {
    for (const header of [[from], [from, report], ["From: a@b.example", "X-Failed-Recipients: ann@x.example"]]) {
      expect(kindOf(header, recipient("delayed")), header.join()).to.equal("auto_reply");
      expect(kindOf(header, recipient("failed")), header.join()).to.equal("bounce");
      expect(kindOf(header, "It could not be delivered."), header.join()).to.equal("bounce");
    }
  });

  it("a report of several recipients is a bounce if one failed or has an unknown action", () => {
    const two = `${recipient("delayed")}\r\n${recipient("failed")}`;
    expect(kindOf([from, report], two)).to.equal("bounce");
    expect(kindOf([from, report], recipient("expired"))).to.equal("bounce");
  });

  it("fields inside the reported mail do not change the classification of a report", () => {
    const body = `${recipient("delayed")}\r\nFrom: a@ours.example\r\n\r\nAction: failed\r\nAction: please pay\r\n`;
    expect(kindOf([from, report], body)).to.equal("auto_reply");
  });

  it("Message-IDs in a report are found although quoted-printable broke them", () => {
    const body = "From: a@ours.example\r\nMessage-ID: <long=\r\n-id@ours.example>\r\nReferences: <earl=\r\nier@x>\r\n";
    const { reportedMessageIds, reportedReferences } = readHeaders(mail([from], body));
    expect([reportedMessageIds, reportedReferences]).to.deep.equal([["<long-id@ours.example>"], ["<earlier@x>"]]);
  });

  it("a field whose value says no does not make a mail an automatic reply", () => {
    const person = "From: a@b.example";
    for (const header of [
      "X-Autoreply: no",
      "X-Autorespond: False",
      "X-Auto-Reply:",
      "X-Autoresponder: 0",
      "Auto-Submitted: no",
      "Auto-Submitted: none",
      "Precedence: first-class",
      "X-Auto-Response-Suppress: DR, OOF, AutoReply",
    ])
      expect(kindOf([person, header]), header).to.equal("person");
    for (const header of [
      "X-Autoreply: yes",
      "X-Autorespond: vacation",
      "Auto-Submitted: auto-replied",
      "Precedence: auto_reply",
      "X-Autoreply: nobody is here",
    ])
      expect(kindOf([person, header]), header).to.equal("auto_reply");
  });

  it("an automatic reply of Exchange needs its subject, In-Reply-To and suppression together", () => {
    const [suppress, answers] = ["X-Auto-Response-Suppress: All", "In-Reply-To: <a@ours.example>"];
    for (const words of [
      "Automatic reply",
      "Automatische Antwort",
      "=?utf-8?B?UsOpcG9uc2UgYXV0b21hdGlxdWUgOg==?=",
      "自動応答",
      "Автоматический ответ",
      "Respuesta automática",
    ]) {
      const subject = words.startsWith("=?") ? `Subject: ${words} x` : `Subject: ${words}: Your order`;
      expect(kindOf([subject, suppress, answers]), words).to.equal("auto_reply");
      expect(kindOf([subject, suppress]), words).to.equal("person");
      expect(kindOf([subject, answers]), words).to.equal("person");
      expect(kindOf([subject, answers, "X-Auto-Response-Suppress: None"]), words).to.equal("person");
    }
    for (const subject of ["Re: Automatic reply: x", "Automatic reply to all my questions", "Your order"])
      expect(kindOf([`Subject: ${subject}`, suppress, answers]), subject).to.equal("person");
  });

  it("a calendar's reply is an automatic reply, and an invitation is a person's mail", () => {
    expect(kindOf(["Content-Type: text/calendar; charset=utf-8; method=REPLY"])).to.equal("auto_reply");
    const part = (method: string) =>
      `--b\r\nContent-Type: text/calendar; charset=utf-8;\r\n method="${method}"\r\n\r\nBEGIN:VCALENDAR\r\n--b--`;
    const type = "Content-Type: multipart/alternative; boundary=b";
    expect(kindOf([type], part("REPLY"))).to.equal("auto_reply");
    expect(kindOf([type], part("REQUEST"))).to.equal("person");
    expect(kindOf(["Content-Type: text/plain"], part("REPLY"))).to.equal("person");
  });

  it("a report in base64 is read, whole or in parts", () => {
    const base64 = (text: string) => Buffer.from(text).toString("base64").replace(/.{60}/g, "$&\r\n");
    const header = "From: a@ours.example\r\nMessage-ID: <our-id@ours.example>\r\nReferences: <earlier@x.example>\r\n";
    const body = `--b\r\nContent-Type: text/rfc822-headers\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64(header)}\r\n--b--`;
    const parts = readHeaders(mail([from, report], body));
    expect([parts.reportedMessageIds, parts.reportedReferences]).to.deep.equal([
      ["<our-id@ours.example>"],
      ["<earlier@x.example>"],
    ]);
    const delayed = `--b\r\nContent-Transfer-Encoding: BASE64\r\nContent-Type: message/delivery-status\r\n\r\n${base64(recipient("delayed"))}\r\n--b--`;
    expect(kindOf([from, report], delayed)).to.equal("auto_reply");
    const whole = readHeaders(mail([from, "Content-Transfer-Encoding: base64"], base64(`It failed.\r\n\r\n${header}`)));
    expect(whole.reportedMessageIds).to.deep.equal(["<our-id@ours.example>"]);
  });

  const inLines = (text: string, width: number) =>
    Buffer.from(text)
      .toString("base64")
      .replace(new RegExp(`.{${width}}`, "g"), "$&\r\n");
  const partForms: Record<string, [base64: (text: string) => string, field?: string]> = {
    "in one long line": [(text) => inLines(text, 100_000)],
    "in lines of over 998 characters": [(text) => inLines(text, 1_200)],
    "below a second blank line": [(text) => `\r\n${inLines(text, 76)}`],
    "with blanks at the ends of lines": [(text) => `${inLines(text, 76).replaceAll("\r\n", " \r\n")} `],
    "with blanks before lines": [(text) => ` ${inLines(text, 76).replaceAll("\r\n", "\r\n ")}`],
    "with blank lines between": [(text) => inLines(text, 76).replaceAll("\r\n", "\r\n\r\n")],
    "encoded line by line": [
      (text) => (text.match(/[\s\S]{1,50}/g) ?? []).map((piece) => inLines(piece, 76)).join("\r\n"),
    ],
    "named on a second line of the field": [(text) => inLines(text, 76), "Content-Transfer-Encoding:\r\n base64"],
    "named in quotes": [(text) => inLines(text, 76), 'Content-Transfer-Encoding: "base64"'],
    "named before other fields": [
      (text) => inLines(text, 76),
      "Content-Transfer-Encoding: BASE64\r\nContent-Description: Undelivered\r\n Message",
    ],
  };
  for (const [form, [encoded, field = "Content-Transfer-Encoding: base64"]] of Object.entries(partForms)) {
    it(`a report with parts in base64 is read: ${form}`, () => {
      const long = `X-Long: ${"x".repeat(900)}\r\n`;
      const header = `From: a@ours.example\r\n${long}Message-ID: <our-id@ours.example>\r\nReferences: <earlier@x.example>\r\n`;
      const part = (type: string, text: string) =>
        `--b\r\nContent-Type: ${type}\r\n${field}\r\n\r\n${encoded(text)}\r\n`;
      const body = (action: string) =>
        `${part("message/delivery-status", recipient(action))}${part("text/rfc822-headers", header)}--b--\r\n`;
      const read = readHeaders(mail([from, report], body("failed")));
      expect([read.classification, read.reportedMessageIds, read.reportedReferences]).to.deep.equal([
        ...["bounce", ["<our-id@ours.example>"], ["<earlier@x.example>"]],
      ]);
      expect(kindOf([from, report], body("delayed"))).to.equal("auto_reply");
    });
  }

  it("an X-Failed-Recipients that names nobody makes no bounce", () => {
    for (const value of ["", " ", "\r\n\t"]) {
      const field = `X-Failed-Recipients:${value}`;
      expect(kindOf(["From: a@b.example", field], "Where is my order?"), value).to.equal("person");
      expect(kindOf(["From: a@b.example", "List-Id: <l.b.example>", field]), value).to.equal("list");
      expect(kindOf([from, report, field], recipient("failed")), value).to.equal("bounce");
    }
    expect(kindOf(["From: a@b.example", "X-Failed-Recipients:\r\n ann@x.example"], recipient("failed"))).to.equal(
      "bounce",
    );
  });

  it("the reported Message-ID is found in a bounce of HTML alone, also from Exchange", () => {
    const html =
      "<html><body><p>Your message could not be delivered.</p><div>Message-ID: &lt;our-id@ours.example&gt;<br>Subject: x</div></body></html>";
    const exchange = [
      "From: Microsoft Outlook <x@company.example>",
      "X-MS-Exchange-Message-Is-Ndr:",
      "Content-Type: text/html",
      "Auto-Submitted: auto-replied",
    ];
    expect(readHeaders(mail(exchange, html))).to.deep.include({
      classification: "bounce",
      reportedMessageIds: ["<our-id@ours.example>"],
    });
    expect(readHeaders(mail([from, "Content-Type: text/html"], html)).reportedMessageIds).to.deep.equal([
      "<our-id@ours.example>",
    ]);
  });

  it("a complaint is recognised by its type, with the Message-ID of its mail", () => {
    const type = 'Content-Type: multipart/report; report-type="feedback-report"; boundary=b';
    const body =
      "--b\r\nContent-Type: message/rfc822\r\n\r\nFrom: a@ours.example\r\nMessage-ID: <our-id@ours.example>\r\n\r\nx\r\n--b--";
    expect(readHeaders(mail(["From: staff@mailbox.example", type], body))).to.deep.include({
      classification: "auto_reply",
      isComplaint: true,
      reportedMessageIds: ["<our-id@ours.example>"],
    });
    expect(readHeaders(mail([from, report], body))).to.not.have.property("isComplaint");
  });

  it("a hostile report is read in time proportional to its length", () => {
    for (const piece of [
      "Content-Transfer-Encoding: base64\n",
      "content-transfer-encoding: base64\n\nQUJD\n",
      "QUJD\n",
      "&lt;<a ",
      "Content-Type: text/calendar\n ",
      "<",
    ])
      for (const headers of [[from, report], ["Content-Type: multipart/mixed; boundary=calendar"]])
        expect(
          processorMs(() => kindOf(headers, piece.repeat(1_000_000 / piece.length))),
          piece,
        ).to.be.below(1_000);
  });

  if (archives.every(hasCorpus))
    it("the classification of archived mail is as good as src/mail/README.md says", async () => {
      const { mails, matching } = await classificationFigures();
      const bounce = rates(mails, "bounce");
      expect(bounce.precision).to.be.at.least(99.5);
      expect(bounce.recall).to.be.at.least(97);
      const automatic = rates(mails, "auto_reply");
      expect(automatic.precision).to.be.at.least(94);
      expect(automatic.recall).to.be.at.least(89);
      expect(rates(mails, "person").recall).to.be.at.least(98.5);
      expect(mails.filter(({ is, taken }) => !isMachine(is) && isMachine(taken))).to.have.length.at.most(1);
      expect(matching.found / matching.shown).to.be.at.least(0.98);
      const rows = classes.map((kind) => {
        const { of, precision, recall } = rates(mails, kind);
        return `| ${kind} | ${of} | ${precision} % | ${recall} % |`;
      });
      const mistaken = mails.filter(({ is, taken }) => is !== taken);
      const list = mistaken.map(({ name, is, taken }) => `${name}: ${is}, taken for ${taken}`);
      const matched = `- ${matching.found} of ${matching.shown} bounces`;
      expect(readFileSync("src/mail/README.md", "utf8"), list.join("\n"))
        .to.include(rows.join("\n"))
        .and.to.include(matched);
    });
});
