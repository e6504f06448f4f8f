import { expect } from "chai";
import { ownWords, partsOf } from "#src/mail/in/quotes/parts.ts";
import { writersIn } from "#src/mail/in/quotes/writers.ts";
import { seeded } from "../../../../scripts/support/random.ts";
import { corpus, hasCorpus } from "../mails.ts";

const own = "Yes, please cancel it.";
const old = "shall we cancel your order?";

/** The line above a quotation, as mail programs write it, by language. */
const attributions: Record<string, string> = {
  Arabic: "في الاثنين، ٢٣ نوفمبر ٢٠٢٦ في ١٠:١٢ ص كتب Support <s@x.example>:",
  Chinese: "Support <s@x.example> 于2026年11月23日周一 10:12写道：",
  Czech: "po 23. 11. 2026 v 10:12 odesílatel Support <s@x.example> napsal:",
  Danish: "Den man. 23. nov. 2026 kl. 10.12 skrev Support <s@x.example>:",
  Dutch: "Op ma 23 nov 2026 om 10:12 schreef Support <s@x.example>:",
  English: "On Mon, Nov 23, 2026 at 10:12 AM Support <s@x.example> wrote:",
  Finnish: "ma 23. marrask. 2026 klo 10.12 Support (s@x.example) kirjoitti:",
  French: "Le lun. 23 nov. 2026 à 10:12, Support <s@x.example> a écrit :",
  German: "Am Mo., 23. Nov. 2026 um 10:12 Uhr schrieb Support <s@x.example>:",
  Greek: "Στις Δευ 23 Νοε 2026 στις 10:12 π.μ., ο χρήστης Support <s@x.example> έγραψε:",
  Hebrew: "‫בתאריך יום ב׳, 23 בנוב׳ 2026 ב-10:12 מאת ‪Support‬‏ <‪s@x.example‬‏>:‬",
  Hungarian: "Support <s@x.example> ezt írta (időpont: 2026. nov. 23., H, 10:12):",
  Italian: "Il giorno lun 23 nov 2026 alle ore 10:12 Support <s@x.example> ha scritto:",
  Japanese: "2026年11月23日(月) 10:12 Support <s@x.example>:",
  Korean: "2026년 11월 23일 (월) 오전 10:12, Support <s@x.example>님이 작성:",
  Polish: "pon., 23 lis 2026 o 10:12 Support <s@x.example> napisał(a):",
  Portuguese: "Em seg., 23 de nov. de 2026 às 10:12, Support <s@x.example> escreveu:",
  Russian: "пн, 23 нояб. 2026 г. в 10:12, Support <s@x.example>:",
  Spanish: "El lun, 23 nov 2026 a las 10:12, Support (<s@x.example>) escribió:",
  Swedish: "Den mån 23 nov. 2026 kl 10:12 skrev Support <s@x.example>:",
  Turkish: "Support <s@x.example>, 23 Kas 2026 Pzt, 10:12 tarihinde şunu yazdı:",
  "English without an address": "On 23/11/2026 10:12, Support wrote:",
  "English in two lines": "On Mon, Nov 23, 2026 at 10:12 AM The Department of Support <\ns@x.example> wrote:",
};

/** The labels of sender, day, recipient and subject, as Outlook and others write them, by language. */
const labels: Record<string, [string, string, string, string, string]> = {
  Arabic: ["من:", "تم الإرسال:", "الاثنين، ٢٣ نوفمبر ٢٠٢٦ ١٠:١٢", "إلى:", "الموضوع:"],
  Chinese: ["发件人：", "发送时间：", "2026年11月23日 10:12", "收件人：", "主题："],
  Czech: ["Od:", "Odesláno:", "pondělí 23. listopadu 2026 10:12", "Komu:", "Předmět:"],
  Danish: ["Fra:", "Sendt:", "23. november 2026 10:12", "Til:", "Emne:"],
  Dutch: ["Van:", "Verzonden:", "maandag 23 november 2026 10:12", "Aan:", "Onderwerp:"],
  English: ["From:", "Sent:", "Monday, November 23, 2026 10:12 AM", "To:", "Subject:"],
  "English in bold": ["*From:*", "*Sent:*", "Monday, November 23, 2026 10:12", "*To:*", "*Subject:*"],
  Finnish: ["Lähettäjä:", "Lähetetty:", "maanantai 23. marraskuuta 2026 10.12", "Vastaanottaja:", "Aihe:"],
  French: ["De :", "Envoyé :", "lundi 23 novembre 2026 10:12", "À :", "Objet :"],
  German: ["Von:", "Gesendet:", "Montag, 23. November 2026 10:12", "An:", "Betreff:"],
  Greek: ["Από:", "Στάλθηκε:", "Δευτέρα, 23 Νοεμβρίου 2026 10:12", "Προς:", "Θέμα:"],
  Hungarian: ["Feladó:", "Elküldve:", "2026. november 23., hétfő 10:12", "Címzett:", "Tárgy:"],
  Italian: ["Da:", "Inviato:", "lunedì 23 novembre 2026 10:12", "A:", "Oggetto:"],
  Japanese: ["差出人:", "送信日時:", "2026年11月23日 10:12", "宛先:", "件名:"],
  Korean: ["보낸 사람:", "보낸 날짜:", "2026년 11월 23일 월요일 오전 10:12", "받는 사람:", "제목:"],
  Norwegian: ["Fra:", "Sendt:", "mandag 23. november 2026 10:12", "Til:", "Emne:"],
  Polish: ["Od:", "Wysłano:", "poniedziałek, 23 listopada 2026 10:12", "Do:", "Temat:"],
  Portuguese: ["De:", "Enviada em:", "segunda-feira, 23 de novembro de 2026 10:12", "Para:", "Assunto:"],
  Russian: ["От:", "Отправлено:", "понедельник, 23 ноября 2026 г. 10:12", "Кому:", "Тема:"],
  Spanish: ["De:", "Enviado el:", "lunes, 23 de noviembre de 2026 10:12", "Para:", "Asunto:"],
  Swedish: ["Från:", "Skickat:", "den 23 november 2026 10:12", "Till:", "Ämne:"],
  Turkish: ["Kimden:", "Gönderildi:", "23 Kasım 2026 Pazartesi 10:12", "Kime:", "Konu:"],
};

describe("ownWords", () => {
  for (const [language, line] of Object.entries(attributions)) {
    it(`ownWords separates the writer's words at an attribution: ${language}`, () => {
      expect(ownWords(`${own}\n\n${line}\n\n> ${old}\n`)).to.equal(own);
      expect(ownWords(`${line}\n> ${old}\n\n${own}\n`)).to.equal(own);
      expect(ownWords(`${line}\n> ${old}\n${own}\n\n> Why?\nBroken.`)).to.equal(`${own}\n\nBroken.`);
    });
  }
  for (const [language, [from, sent, day, to, subject]] of Object.entries(labels)) {
    const block = `${from} Support <s@x.example>\n${sent} ${day}\n${to} Ada Lund\n${subject} Order 5`;
    it(`ownWords separates the writer's words at a block of header fields: ${language}`, () => {
      expect(ownWords(`${own}\n\n${block}\n\n${old}\n`)).to.equal(own);
      expect(ownWords(`${own}\n\n________________________________\n${block}\n\n${old}\n`)).to.equal(own);
      expect(ownWords(`${own}\n\n${block}\n\n> ${old}\n\nAs soon as you can.`)).to.equal(
        `${own}\n\nAs soon as you can.`,
      );
    });
  }

  it("ownWords separates the writer's words at a block of header fields with broken lines", () => {
    const sent = "Sent: Monday, November 23, 2026 10:12 AM";
    for (const block of [
      `From: support-admin@x.example [mailto:support-admin@x.example]On Behalf Of Ada\nLund\n${sent}\nTo: Ben`,
      `From: The Department of Support\n<a-long-address-of-the-department-of-support@x.example>\n${sent}\nTo: Ben`,
      `From: s@x.example\n${sent}\nSubject: our order of lamps, all of which came broken, and what becomes of\nit now`,
    ]) {
      expect(ownWords(`${own}\n\n-----Original Message-----\n${block}\n\n${old}\n`), block).to.equal(own);
    }
  });

  const day = "Sun, 29 Nov 2026 10:00:00 +0100";
  const ada = "Ada Lund <ada@x.example>";
  const fields = `From: ${ada}\nTo: ben@x.example\nSubject: My order`;
  const received =
    "Received: from mx.x.example (mx.x.example [192.0.2.1])\n\tby in.x.example with ESMTP id 4711;\n\tSun, 29 Nov 2026 10:00:05 +0100";
  const rawHeader = `Return-Path: <ada@x.example>\n${received}\nDKIM-Signature: v=1; a=rsa-sha256; d=x.example;\n\tb=abc=\nDate: ${day}\n${fields}\nX-MS-Exchange-CrossTenant-OriginalArrivalTime: 1\nCc:`;

  /** What mail programs put above a forwarded mail, as they are set up at first, and below it if they do. */
  const forwards: Record<string, [above: string, below?: string]> = {
    "mutt and neomutt": [
      `----- Forwarded message from ${ada} -----\n\nDate: ${day}\n${fields}\nUser-Agent: Mutt/2.2.12`,
      "----- End forwarded message -----",
    ],
    nmh: [`------- Forwarded Message\n\n${rawHeader}`, "\n------- End of Forwarded Message"],
    "s-nail, below words": [`-------- Original Message --------\n${rawHeader}\nStatus: R`],
    Thunderbird: [
      `-------- Forwarded Message --------\nSubject: \tMy order\nDate: \t${day}\nFrom: \t${ada}\nTo: \tben@x.example\n`,
    ],
    "Thunderbird in German": [
      `-------- Weitergeleitete Nachricht --------\nBetreff: \tAuftrag\nDatum: \t${day}\nVon: \t${ada}\nAn: \tben@x.example\n`,
    ],
    "Claws Mail": [`Begin forwarded message:\n\nDate: ${day}\n${fields}\n`],
    "Claws Mail in French": [
      `Début du message transféré :\n\nDate: ${day}\nDe: ${ada}\nÀ: ben@x.example\nSujet: Commande\n`,
    ],
    Alpine: [`---------- Forwarded message ----------\nDate: ${day}\n${fields}`],
    "Emacs, with the day first": [
      `-------------------- Start of forwarded message --------------------\nDate: ${day}\n${fields}`,
      "-------------------- End of forwarded message --------------------",
    ],
    Roundcube: [
      "-------- Original Message --------\nSubject: My order\nDate: 2026-11-29 10:00\nFrom: ada@x.example\nTo: ben@x.example",
    ],
    SquirrelMail: [
      `---------------------------- Original Message ----------------------------\nSubject: My order\nFrom:    "Ada Lund" <ada@x.example>\nDate:    Sun, November 29, 2026 10:00\nTo:      ben@x.example\n${"-".repeat(74)}`,
    ],
    "Horde in German": [
      `----- Weitergeleitete Nachricht von ${ada} -----\n   Datum: ${day}\n     Von: ${ada}\n Betreff: Auftrag\n      An: ben@x.example`,
      "----- Ende der weitergeleiteten Nachricht -----",
    ],
    KMail: [
      `----------  Forwarded Message  ----------\n\nSubject: My order\nDate: Sunday, 29 November 2026, 10:00:00\n${fields}`,
    ],
    "Pegasus Mail": [
      `------- Forwarded message follows -------\nDate sent:      \t${day}\nFrom:           \t${ada}\nSubject:        \tMy order`,
      "------- End of forwarded message -------",
    ],
    "Lotus Notes": [
      `----- Forwarded by Ben/Acme on 29.11.2026 10:10 -----\n\nDate:\t29.11.2026 10:00\nFrom:\t${ada}\nCc:\t\nSubject:\tMy order`,
    ],
    "The Bat!": [
      `${fields}\nDate: Sunday, November 29, 2026, 10:00:00\n\n===8<==============Original message text===============`,
      "===8<===========End of original message text===========",
    ],
    "Apple's Mail, which marks the mail": [
      `Begin forwarded message:\n\n> From: ${ada}\n> Date: 29 November 2026 at 10:00\n> To: ben@x.example\n> `,
    ],
  };
  for (const [program, [above, below]] of Object.entries(forwards)) {
    it(`ownWords separates the writer's words at a forwarded mail of ${program}`, () => {
      const body = above.endsWith("> ")
        ? "> Where is my order?"
        : "Where is my order?\n\n-----\n\nIt was due on Friday.";
      const mail = `${above}\n\n${body}\n`;
      expect(ownWords(`${own}\n\n${mail}`)).to.equal(own);
      if (below === undefined) return;
      expect(ownWords(`${own}\n\n${mail}\n${below}\n`)).to.equal(own);
      expect(ownWords(`${own}\n\n${mail}\n${below}\n\nAs soon as you can.\n`)).to.equal(
        `${own}\n\nAs soon as you can.`,
      );
      if (startsWithRule.test(above)) expect(ownWords(`${mail}\n${below}\n\n${own}\n`)).to.equal(own);
    });
  }
  const startsWithRule = /^-/;

  it("ownWords keeps what was typed below a forwarded mail whose end nothing marks, and which is at the top", () => {
    const text = `-------- Original Message --------\n${rawHeader}\n\nWhere is my order?\n${own}`;
    expect(ownWords(text)).to.equal(text);
  });

  it("ownWords takes the last end of a forwarded mail, of the program that forwarded it", () => {
    const inner = `----- Forwarded message from ${ada} -----\n\nDate: ${day}\n${fields}\n\nWhy?\n\n----- End forwarded message -----`;
    const outer = `${own}\n\n----- Forwarded message from Ben <ben@x.example> -----\n\nDate: ${day}\n${fields}\n\n${inner}\n\nBen\n\n----- End forwarded message -----`;
    expect(ownWords(`${outer}\n\nThanks.`)).to.equal(`${own}\n\nThanks.`);
    expect(
      ownWords(`${own}\n\n---------- Forwarded message ---------\nDate: ${day}\n${fields}\n\n${inner}\n\nBen`),
    ).to.equal(own);
  });

  const spaced = "On Monday, November 23, 2026 at 10:12:00 AM GMT+1, Support <s@x.example> wrote:";
  const yahoos: Record<string, string> = {
    "Yahoo on the web": `${own}\n    ${spaced}  \n \n Shall we cancel your order?\n Support   `,
    "Yahoo on the web, without the blanks at the ends of lines": `${own}\n\n    ${spaced}\n\n Shall we cancel your order?\n Support`,
    "Yahoo on Android": `${own}\n \n  On Mon, Nov 23, 2026 at 10:12 AM, Support<s@x.example> wrote:   Hello Ada,\n\nshall we cancel your order?\n  `,
    "Yahoo on Android, in German": `${own}\n \n  Am Mo., Nov. 23, 2026 um 10:12 schrieb Support<s@x.example>:   \nHallo Ada,\n\n> sollen wir?\nSupport`,
  };
  for (const [program, text] of Object.entries(yahoos))
    it(`ownWords separates the writer's words from an earlier mail of ${program}`, () => {
      expect(ownWords(text)).to.equal(own);
    });

  const named: [line: string, name: string][] = [
    ["Acme Support writes:", "Acme Support"],
    ["Acme  Support wrote:", "acme support"],
    ['"Acme Support" writes:', "Acme Support"],
    ["Acme Support a écrit :", "Acme Support"],
    ["schrieb Acme Support:", "Acme Support"],
    ["Приёмная пишет:", "Приёмная"],
    ["サポートさんは書きました:", "サポート"],
    ["Acme Ⓢupport wrote:", "Acme Support"],
  ];
  for (const [line, name] of named) {
    it(`ownWords separates the writer's words at “${line}” if the mail answers one by ${name}`, () => {
      expect(writersIn(`${own}\n\n${line}\n> ${old}`)).to.have.length(1);
      expect(ownWords(`${own}\n\n${line}\n> ${old}\n`, name)).to.equal(own);
      expect(ownWords(`${line}\n\n> ${old}\n\n${own}\n`, name)).to.equal(own);
      expect(ownWords(`${own}\n\n${line}\n> ${old}\n`, "Somebody Else")).to.equal(`${own}\n\n${line}`);
      expect(ownWords(`${own}\n\n${line}\n> ${old}\n`)).to.equal(`${own}\n\n${line}`);
      // Not above a quotation, it is the writer's own sentence.
      expect(ownWords(`${line}\n\n${own}\n\n> ${old}`, name)).to.equal(`${line}\n\n${own}`);
    });
  }

  it("ownWords keeps the writer's own sentences above a quotation, also if they name whom the mail answers", () => {
    for (const sentence of [
      "My colleague wrote:",
      "Acme Support promised me:",
      "This is what Acme Support wrote:",
      '"" writes:',
      "Acme Support:",
    ]) {
      expect(ownWords(`${sentence}\n> ${old}\n\nRefund me.`, "Acme Support"), sentence).to.equal(
        `${sentence}\n\nRefund me.`,
      );
    }
  });

  it("the names of writers are found above quotations only, at most three of them", () => {
    expect(writersIn(`Ada wrote:\nit is broken.\n\nBen wrote:\r\n\r\n> why?\nBEN wrote:\n> so`)).to.deep.equal(["Ben"]);
    for (const more of ["On Mon, Nov 23, 2026 Ada", "Ada <ada@x.example>", "> Ada"])
      expect(writersIn(`${more} wrote:\n> why?`), more).to.deep.equal([]);
    const many = Array.from({ length: 9 }, (_, n) => `Writer ${n} wrote:\n> a\n`).join("\n");
    expect(writersIn(many)).to.deep.equal(["Writer 0", "Writer 1", "Writer 2"]);
  });

  const wholes: Record<string, string> = {
    "a form below a rule, with an address twice":
      "My form:\n\n-----------------\nName: Ada Lund\nEmail: ada@x.example\nConfirm email: ada@x.example\nDay: 23 November 2026 10:12\nWish: cancel\n\nThanks",
    "a form below a line with words":
      "My form:\n\n---- Order form ----\nDate: 23 November 2026 10:12\nEmail: ada@x.example\nWish: cancel\n\nThanks",
    "a form below a sentence about a forwarded mail":
      "Here is the forwarded message:\n\nDate: 23 November 2026 10:12\nEmail: ada@x.example\nWish: cancel\n\nThanks",
    "fields without a time below a line about a forwarded mail":
      "See:\n\n---- forwarded message ----\nName: Ada\nEmail: ada@x.example\nWish: cancel\n\nThanks",
    "an indented list of what was said":
      "My calls:\n\n  On 23 Nov 2026 at 10:12 s@x.example said: yes\n  On 24 Nov 2026 at 10:12 s@x.example said:\nno\n\nRefund me.",

    "a line below a field that had room for it":
      "Please book:\n\nFrom: ada@x.example\nas ever\nDate: 5 May 2026 10:12\nTo: Paris\n\nThanks",
    "a form without a time that goes on in further lines":
      "My form:\n\nEmail: ada@x.example\nWish: that you cancel the order of lamps that I have made in May and\nrefund me\nName: Ada\n\nThanks",
    "something that somebody wrote, told in own words":
      "On 23 Nov 2026 at 10:12 Ada wrote:\nit is broken.\n\nRefund me.",
    "a trip": "Please book:\n\nFrom: Berlin\nTo: Paris\nDate: 5 May 2026 10:12\n\nAnd back.",
    "the form of a website, with an address and a time":
      "Email: ada@x.example\nDate: 23 November 2026 10:12\nName: Ada\nWish: cancel order 5\n\nThanks",
    "a form below a greeting":
      "Hello, my request:\n\nEmail: ada@x.example\nDay: 23 November 2026 10:12\nName: Ada\nWish: cancel\n\nRefund me.",
    "words in capitals below a separator": "Hello.\n\n--\nPLEASE CANCEL IT\n+44 20 7946 0958",
    "the number of an order below a separator": "Hello.\n\n--\nCancel Order 4711\nada@x.example",
    "a list with a link below a separator": "Please send me:\n--\nLamp\nChair\nhttps://lamps.example/lamp",
    "an address list":
      "Our people:\n\nSales: ada@x.example\nSupport: ben@x.example\nOffice: c@x.example\n\nWrite to them.",
    "lists with hyphens, stars and rules": "Two:\n\n- a\n* b\n---\n-- c\n____\n\nThanks",
    "words below a separator": "See below.\n\n-- \nPlease cancel order 5.",
    "words below an address": "See below.\n\n-- \nAda Lund\nada@x.example\nPS: cancel order 5 as well",
    "a number of a customer below a separator": "See below.\n\n-- \nCustomer: 47110815\nada@x.example",
    "nothing but a signature": "-- \nAda Lund\nada@x.example",
    "a line that a store of mail has escaped": "See:\n>From my window I see it.\nThanks",
    "sent from a phone": "Cancel it.\n\nSent from my phone",
  };
  for (const [name, text] of Object.entries(wholes)) {
    it(`ownWords keeps the whole text: ${name}`, () => expect(ownWords(text)).to.equal(text.trim()));
  }

  it("ownWords keeps a sentence that continues above a quotation", () => {
    const text = "Please refund the account\nnamed on 23 Nov 2026 10:12, as s@x.example asked:\n> ok\n\nThanks";
    expect(ownWords(text)).to.equal(text.replace("\n> ok", ""));
  });

  it("ownWords separates the writer's words at an attribution below a line of hyphens", () => {
    expect(ownWords(`${own}\n\n------- Original Message -------\n${attributions.English}\n\n> ${old}`)).to.equal(own);
  });

  it("ownWords keeps the words directly above an attribution", () => {
    expect(ownWords(`I agree.\n${attributions.English}\n> ${old}`)).to.equal("I agree.");
    const long = "I have read all that you have written about my order and its price, and I say";
    expect(ownWords(`${long}\nyes.\n${attributions.English}\n> ${old}`)).to.equal(`${long}\nyes.`);
  });

  it("ownWords removes a signature of names and contact details", () => {
    const signature = "-- \nAda Lund\nLund Lamps\n5 High Street\n+44 20 7946 0958\nhttps://lamps.example";
    expect(ownWords(`${own}\n\n${signature}`)).to.equal(own);
    expect(ownWords(`${own}\n\n${signature}\n\n${attributions.English}\n> ${old}`)).to.equal(own);
  });

  it("ownWords keeps the whole text if it is only a quotation", () => {
    expect(ownWords(`${attributions.English}\n> ${old}`)).to.equal(`${attributions.English}\n> ${old}`);
  });

  it("a long text of any repeated piece is split in bounded time and loses no line", () => {
    const pieces = [
      ">",
      "> ",
      "> a\n",
      "a:\n> b\n",
      "\n",
      " \n",
      "-- \n",
      "From: a@b.example\n",
      "On 1 May 2026:\n>\n",
      "a@b.c 1:22 ",
      "---\n",
      "---\nFrom: a@b.example\n",
      "----- Forwarded message -----\nFrom: a@b.example\n",
      "----- End forwarded message -----\n",
      "Begin forwarded message:\n\n",
      "  On 1 May 2026 10:12 a@b.c:\n",
      "  On 1 May 2026 10:12 a@b.c:\n a\n",
      "Ada wrote:\n> a\n",
      "Ada wrote ",
      "- ",
    ];
    for (const piece of pieces) {
      const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
      const began = process.cpuUsage();
      writersIn(text);
      expect(
        partsOf(`a\n\n${text}`)
          .flatMap(({ lines }) => lines)
          .join("\n"),
      ).to.equal(`a\n\n${text}`);
      expect(process.cpuUsage(began).user / 1_000, JSON.stringify(piece)).to.be.below(3_000);
    }
  });

  /** Returns what marks a line as quoted, found independently of the code under test, or undefined. */
  function markOf(lines: readonly string[], at: number): string | undefined {
    const isFieldWithAddress = (line: string) => /^[\s*]*[^\s:：][^:：]{0,60}[:：].*@/.test(line);
    if (/^\s*>/.test(lines[at]!)) return "a mark";
    if (
      lines.slice(at + 1, at + 6).some((line) => /^\s*>/.test(line)) &&
      lines.slice(at, at + 3).some((line) => /[:：]\s*$/.test(line))
    )
      return "an attribution";
    if (lines.slice(0, at + 12).some(isFieldWithAddress)) return "a header block";
    if (/^Begin forwarded/.test(lines[at]!)) return "a forwarded mail";
    if (lines.slice(0, at + 1).some((line) => /^--\s?$/.test(line))) return "a signature";
    return undefined;
  }

  for (const name of ["replies", "list-mail"] as const) {
    if (!hasCorpus(name)) continue;
    it(`no line of real mail is folded without a mark: ${name}`, () => {
      const texts = corpus(name)
        .filter((file) => !file.name.endsWith(".tsv"))
        .filter((_, n) => name === "replies" || n % 10 === 0)
        .map(({ raw }) => raw.toString().replaceAll("\r\n", "\n"))
        .map((text) => (name === "replies" ? text : text.slice(text.indexOf("\n\n") + 2)));
      const unmarked: string[] = [];
      for (const text of texts) {
        const lines = text.split("\n");
        const kinds = partsOf(text).flatMap((part) => part.lines.map(() => part.kind));
        for (const [at, line] of lines.entries()) {
          if (line.trim() !== "" && kinds[at] !== "own" && markOf(lines, at) === undefined) unmarked.push(line);
        }
      }
      expect(unmarked).to.deep.equal([]);
    });
  }

  it("partsOf loses no line of any text", () => {
    const random = seeded(5);
    const pieces = [
      "> ",
      "a",
      "\n",
      "\r\n",
      "From: a@b.example",
      "On 1 May 2026 10:12:",
      "-- ",
      " ",
      "Sent: 1 May 2026 10:12",
      "\n\n",
    ];
    for (let run = 0; run < 500; run++) {
      const text = Array.from({ length: 30 }, () => pieces[Math.floor(random() * pieces.length)]).join("");
      expect(partsOf(text).flatMap(({ lines }) => lines)).to.deep.equal(text.split(/\r?\n/));
    }
  });
});
