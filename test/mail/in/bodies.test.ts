import { expect } from "chai";
import { parseMail } from "#src/mail/in/parseMail.ts";
import { unflowed } from "#src/mail/in/text/flowed.ts";
import { mail } from "./mails.ts";

const limits = { maxHtmlBytes: 1024 * 1024, maxTextBytes: 1024 * 1024, maxAttachments: 100 };
/** Parses a mail of this type and trims the body's last line end. */
async function read(type: string, body: string) {
  const parsed = await parseMail(mail([`Content-Type: ${type}`], body), limits);
  return { ...parsed, bodyText: parsed.bodyText?.trim() ?? null };
}
const part = (type: string, body: string): string => `--b\r\nContent-Type: ${type}\r\n\r\n${body}\r\n`;
const multipart = (kind: string, ...parts: string[]) =>
  read(`multipart/${kind}; boundary=b`, `${parts.join("")}--b--\r\n`);
const utf8 = "; charset=utf-8";
const plain = (text: string) => part(`text/plain${utf8}`, text);
const html = (text: string) => part(`text/html${utf8}`, text);

describe("the text that is shown of a mail", () => {
  for (const blank of ["", " \r\n\t", "\u00a0", "\u200b\u200d", "\ufeff\r\n"]) {
    it(`the text of the HTML is shown if the plain text is ${JSON.stringify(blank)}`, async () => {
      const { bodyText, extractedText } = await multipart(
        "alternative",
        plain(blank),
        html("<p>Please cancel order 5.</p>"),
      );
      expect([bodyText, extractedText]).to.deep.equal(["Please cancel order 5.", "Please cancel order 5."]);
    });
  }

  it("the plain text alone is shown if the HTML has the same words, whatever the line breaks", async () => {
    const both = await multipart(
      "alternative",
      plain("Please cancel\r\norder 5."),
      html("<p>Please cancel order 5.</p>"),
    );
    expect([both.bodyText, both.notes]).to.deep.equal(["Please cancel\norder 5.", []]);
    const japanese = await multipart(
      "alternative",
      plain("注文をキャン\r\nセルして"),
      html("<p>注文をキャンセルして</p>"),
    );
    expect(japanese.notes).to.deep.equal([]);
  });

  it("both texts are shown with a note if plain text and HTML differ", async () => {
    const { bodyText, notes } = await multipart(
      "alternative",
      plain("See the HTML."),
      html("<p>Please cancel order 5.</p>"),
    );
    expect(bodyText).to.equal("See the HTML.\n\nPlease cancel order 5.");
    expect(notes.join()).to.include("The plain text and the HTML of the mail differ");
  });

  it("all text parts of a mail are shown, each in its own form", async () => {
    const { bodyText, bodyHtml } = await multipart("mixed", html("<p>Hello</p>"), plain("-- the footer of a list"));
    expect(bodyText).to.equal("Hello\n-- the footer of a list");
    expect(bodyHtml).to.include("<p>Hello</p>").and.include("the footer of a list");
  });

  it("a text part that is an attachment without a name is shown if it is the only text", async () => {
    const unnamed = part("text/plain\r\nContent-Disposition: attachment", "Please cancel.");
    expect((await multipart("mixed", unnamed)).bodyText).to.equal("Please cancel.");
    const named = part('text/plain\r\nContent-Disposition: attachment; filename="a.txt"', "Please cancel.");
    const { bodyText, attachments } = await multipart("mixed", named);
    expect([bodyText, attachments.map(({ filename }) => filename)]).to.deep.equal([null, ["a.txt"]]);
  });

  it("a text part that is an attachment without a name is shown with a list's footer below it", async () => {
    const unnamed = part("text/plain\r\nContent-Disposition: attachment", "Please cancel.");
    expect((await multipart("mixed", unnamed, plain("A footer"))).bodyText).to.equal("Please cancel.\n\nA footer");
  });

  for (const type of [
    "text",
    "text; charset=utf-8",
    "plain",
    "text/enriched",
    'text/plain; name="message.txt"\r\nContent-Disposition: attachment; filename="message.txt"',
  ]) {
    it(`the only part of a mail is shown although its type is ${JSON.stringify(type)}`, async () => {
      expect((await read(type, "Please cancel.")).bodyText).to.equal("Please cancel.");
    });
  }

  it("the plain text is shown with the lines that only the HTML has, and with a note", async () => {
    const greeting = "Hello dear support team, I hope that this finds you well and that the sun shines in your city.";
    const { bodyText, extractedText, notes } = await multipart(
      "alternative",
      plain(greeting),
      html(
        `<p>${greeting}</p><img alt="A picture of the sun"><p>Cancel order 4711.</p><a href="https://x.example/a">city</a>`,
      ),
    );
    expect([bodyText, extractedText]).to.deep.equal([
      `${greeting}\n\nCancel order 4711.`,
      `${greeting}\n\nCancel order 4711.`,
    ]);
    expect(notes.join()).to.include("The HTML of the mail has more text than the plain text");
  });

  it("a multipart mail whose parts are not found is shown as it is, with a note", async () => {
    const { bodyText, notes } = await read("multipart/mixed; boundary=b", "Please cancel.");
    expect(bodyText).to.equal("Please cancel.");
    expect(notes.join()).to.include("parts, but they were not found");
  });

  const event = (...lines: string[]) =>
    part(
      "text/calendar; method=REQUEST",
      ["BEGIN:VCALENDAR", "BEGIN:VEVENT", ...lines, "END:VEVENT", "END:VCALENDAR"].join("\r\n"),
    );

  it("an invitation is shown with its title, time, time zone and place", async () => {
    const { bodyText, attachments } = await multipart(
      "alternative",
      plain("Will you come?"),
      event("SUMMARY:Lamps\\, new\r\n  ones", "DTSTART;TZID=Europe/Berlin:20261201T140000", "LOCATION:Room 5"),
    );
    expect(bodyText).to.equal(
      "Will you come?\n\nInvitation: Lamps, new ones\nWhen: 2026-12-01 14:00 (Europe/Berlin)\nWhere: Room 5",
    );
    expect(attachments.map(({ filename }) => filename)).to.deep.equal(["invite.ics"]);
    const allDay = await multipart(
      "mixed",
      event("SUMMARY:Fair", "DTSTART;VALUE=DATE:20261201", "DTEND;VALUE=DATE:20261203"),
    );
    expect(allDay.bodyText).to.equal("Invitation: Fair\nWhen: 2026-12-01 to 2026-12-03");
  });

  for (const [name, type, body] of [
    [
      "of OpenPGP in parts",
      'multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b',
      part("application/pgp-encrypted", "Version: 1"),
    ],
    [
      "of OpenPGP in parts that a gateway took for files",
      "multipart/mixed; boundary=b",
      part("text/plain", "") + part("application/pgp-encrypted", "Version: 1"),
    ],
    ["of OpenPGP in its text", "text/plain", "-----BEGIN PGP MESSAGE-----\r\n\r\nabc\r\n-----END PGP MESSAGE-----"],
    [
      "of S/MIME",
      "application/pkcs7-mime\r\nContent-Transfer-Encoding: base64",
      Buffer.from("300f06092a864886f70d010703a0023000", "hex").toString("base64"),
    ],
    [
      "of S/MIME under a type that says nothing",
      'application/octet-stream; name="smime.p7m"\r\nContent-Transfer-Encoding: base64',
      Buffer.from("300f06092a864886f70d010703a0023000", "hex").toString("base64"),
    ],
    ["by a service", "application/x-microsoft-rpmsg-message", "v"],
  ] as const) {
    it(`a mail encrypted ${name} gets a note that says so`, async () => {
      expect((await read(type, body)).notes.join()).to.match(
        /^The mail is encrypted \((?:OpenPGP|S\/MIME|Microsoft Purview)\)/,
      );
    });
  }

  for (const footer of ["Confidential\r\nThis is private.", "Unsubscribe\r\nhttps://list.example", "Disclaimer"]) {
    for (const body of [
      "Please cancel order 5, thank you.",
      "Please cancel order 5.",
      "Bitte stornieren, schönen Dank. ".repeat(4),
    ]) {
      it(`text in base64 above ${JSON.stringify(footer)} is decoded: ${body.slice(0, 30)}`, async () => {
        const encoded = Buffer.from(body).toString("base64").replace(/.{76}/g, "$&\r\n");
        const type = "text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64";
        const { bodyText } = await read(type, `${encoded}\r\n${footer}\r\n`);
        expect(bodyText).to.equal(`${body}\n${footer}`.replaceAll("\r", ""));
      });
    }
  }

  it("text in base64 that begins inside a character or breaks off keeps its last line", async () => {
    const type = "text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64";
    const encoded = Buffer.from(`a${"ü".repeat(40)}`)
      .toString("base64")
      .replace(/.{76}/g, "$&\r\n");
    expect((await read(type, `!\r\n${encoded}\r\n`)).bodyText).to.equal(`a${"ü".repeat(40)}`);
    expect((await read(type, encoded.slice(0, -3))).bodyText).to.match(/^aü{38,39}\ufffd?$/);
  });

  it("the text inside an S/MIME signature is shown, also in pieces of unknown length", async () => {
    const inner = Buffer.from(`Content-Type: text/plain${utf8}\r\n\r\nPlease cancel.`);
    const pieces = [inner.subarray(0, 20), inner.subarray(20)].map((piece) =>
      Buffer.concat([Buffer.from([4, piece.length]), piece]),
    );
    const open = (tag: number, ...values: Buffer[]) =>
      Buffer.concat([Buffer.from([tag, 0x80]), ...values, Buffer.alloc(2)]);
    const id = (last: number) => Buffer.from(`06092a864886f70d0107${last.toString(16).padStart(2, "0")}`, "hex");
    const data = open(0x30, id(1), open(0xa0, open(0x24, ...pieces)));
    const signed = open(0x30, id(2), open(0xa0, open(0x30, Buffer.from("0201013100", "hex"), data)));
    const type = "application/pkcs7-mime; smime-type=signed-data\r\nContent-Transfer-Encoding: base64";
    expect((await read(type, signed.toString("base64"))).bodyText).to.equal("Please cancel.");
    for (let length = 0; length < signed.length; length += 7) {
      const cut = await read(type, signed.subarray(0, length).toString("base64"));
      expect(cut.unreadable).to.equal(null);
    }
  });
});

describe("unflowed", () => {
  for (const [name, flowed, right] of [
    ["joins lines that end in a blank", "a long \nline\nanother", "a long line\nanother"],
    ["joins lines of one depth of quotation alone", "> a \n> b \nno\n>> c \n> d", "> a b \nno\n>> c \n> d"],
    ["knows marks with blanks between them", "> > a \n> > b", "> > a b"],
    ["keeps the line above a signature", "Bye \n-- \nAda", "Bye \n-- \nAda"],
    ["takes away the blank that protects a line", " From here\n  two", "From here\n two"],
    ["keeps lines without words", "a \n\nb", "a \n\nb"],
  ] as const) {
    it(`unflowed ${name}`, () => expect(unflowed(flowed, { delSp: false })).to.equal(right));
  }
  it("unflowed removes the blank before a break with DelSp", () => {
    expect(unflowed("途中 \nで折り\n次", { delSp: true })).to.equal("途中で折り\n次");
  });
});
