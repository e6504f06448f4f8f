import { mail } from "./mails.ts";

/** A mail made to keep one of the mail parsers busy. */
export type SlowMail = { name: string; raw: Buffer };

const upTo = (bytes: number, pattern: string): string =>
  pattern.repeat(Math.ceil(bytes / pattern.length)).slice(0, bytes);
const plain = (body: string, type = "text/plain; charset=utf-8"): Buffer =>
  mail(["Message-ID: <slow@x.example>", "From: a@x.example", `Content-Type: ${type}`], body);
const html = (body: string): Buffer => plain(body, "text/html; charset=utf-8");
const multipart = (body: string): Buffer => plain(body, "multipart/mixed; boundary=b");

/** Makes four address fields, 262 KB together, each of which is slow to read. */
export const headerMail = (pattern = ":"): Buffer =>
  mail(
    [
      "Message-ID: <slow@x.example>",
      "Subject: x",
      ...["From", "Reply-To", "To", "Cc"].map((name) => `${name}: ${upTo(65_000, pattern)}`),
    ],
    "x",
  );

/** 1 MB of empty lines. */
export const emptyLines = (): Buffer => plain("\r\n".repeat(512 * 1024));

const headers = (): SlowMail[] => [
  ...[":", "x.y,:a", ':"a@b<"', ":)=?utf-8?q?>", "=?utf-8?b?8J+YgA==?= <a@b.example>, ", '"', "(", "a@b.example,"].map(
    (pattern) => ({ name: `addresses of ${pattern}`, raw: headerMail(pattern) }),
  ),
  { name: "a subject of encoded words", raw: mail([`Subject: ${upTo(250_000, "=?utf-8?b?8J+YgA==?= ")}`]) },
  { name: "a Message-ID of at signs", raw: mail([`Message-ID: ${upTo(65_000, "@")} x`]) },
  { name: "lines without end", raw: mail([`Subject: x${"\r\n b".repeat(60_000)}`]) },
];

const structure = (): SlowMail[] => [
  { name: "empty lines", raw: emptyLines() },
  { name: "lines of one letter", raw: plain("x\n".repeat(500_000)) },
  { name: "empty parts", raw: multipart("--b\r\n\r\n".repeat(150_000)) },
  { name: "parts with headers", raw: multipart("--b\r\nContent-Type: a/b\r\n\r\nx\r\n".repeat(40_000)) },
  {
    name: "parts in parts",
    raw: multipart(
      Array.from({ length: 3_000 }, (_, n) => `--b\r\nContent-Type: multipart/mixed; boundary=b${n}\r\n\r\n`).join(""),
    ),
  },
  { name: "lines that might be boundaries", raw: multipart("--c\r\n".repeat(200_000)) },
  {
    name: "a file name of encoded words",
    raw: multipart(`--b\r\nContent-Disposition: attachment; filename="${upTo(240_000, "=?x?q?a?= ")}"\r\n\r\nx`),
  },
  {
    name: "a file name in 20,000 pieces",
    raw: multipart(
      `--b\r\nContent-Disposition: attachment${Array.from({ length: 20_000 }, (_, n) => `; a*${n}*=x`).join("")}\r\n\r\nx`,
    ),
  },
  { name: "comments in a content type", raw: plain("x", `text/plain ${upTo(200_000, "((()")}`) },
  { name: "soft line breaks", raw: mail(["Content-Transfer-Encoding: quoted-printable"], "=\r\n".repeat(300_000)) },
];

const htmls = (): SlowMail[] => [
  { name: "divs in divs", raw: html("<div>".repeat(200_000)) },
  { name: "tables in tables", raw: html("<table><tr><td>".repeat(60_000)) },
  { name: "tables side by side", raw: html("<table><tr><td>x</td></tr></table>".repeat(30_000)) },
  { name: "open brackets", raw: html("<".repeat(1_000_000)) },
  { name: "open tags", raw: html("<a ".repeat(300_000)) },
  { name: "attributes", raw: html(`<p ${"a=b ".repeat(200_000)}>`) },
  { name: "entities", raw: html("&amp;&#1;&".repeat(90_000)) },
  { name: "comments", raw: html("<!--".repeat(200_000)) },
  { name: "lists", raw: html("<ol><li>x".repeat(400).concat("<li>x".repeat(100_000))) },
  { name: "elements closed by others", raw: html("<b><i></b></i>".repeat(60_000)) },
];

const quotes = (): SlowMail[] =>
  [
    "On a b ",
    "abc. a skrev b\n",
    `${">".repeat(500)}\n`,
    "On x wrote:\n",
    "-- \n",
    "-----Original Message-----\nFrom: a\n",
    "From: a\nSent: b\nTo: c\n",
    "Le a écrit \n",
  ].map((pattern) => ({
    name: `quotes of ${JSON.stringify(pattern.slice(0, 20))}`,
    raw: plain(upTo(125_000, pattern)),
  }));

const signature = "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=x.example; s=s; h=from; bh=AAAA; b=AAAA";
const signed = (fields: string[], body = "x"): Buffer => mail([...fields, "From: a@x.example"], body);
const lines = upTo(3_000_000, `${"y ".repeat(35)}\r\n`);
const signatures = (): SlowMail[] => [
  {
    name: "a signature of each length",
    raw: signed(
      Array.from({ length: 20 }, (_, n) => `${signature}; l=${n + 1}`),
      lines,
    ),
  },
  { name: "thousands of signatures", raw: signed(Array.from({ length: 2_000 }, () => signature)) },
  {
    name: "a signature that names 20,000 fields",
    raw: signed([`${signature.replace("from", upTo(120_000, "from:"))}`]),
  },
  {
    name: "seals",
    raw: signed(
      Array.from({ length: 50 }, (_, n) => `ARC-Seal: i=${n + 1}; a=rsa-sha256; cv=pass; d=x.example; s=s; b=AAAA`),
    ),
  },
  { name: "white space to relax", raw: signed([signature], " \t".repeat(1_000_000)) },
  { name: "empty lines to count", raw: signed([signature], "\r\n".repeat(400_000)) },
];

const charsets = (): SlowMail[] =>
  ["iso-2022-jp", "gb18030", "utf-16le", "utf-7", "x-nowhere", "shift_jis"].map((charset) => ({
    name: `text in ${charset}`,
    raw: plain(upTo(900_000, "\x1b$B$3\xff\xfe\x81\x30~{\n"), `text/plain; charset=${charset}`),
  }));

/** The 50 slow mails, by the parser that each is made for. */
export const slowMails = { headers, structure, htmls, quotes, signatures, charsets } as const;
