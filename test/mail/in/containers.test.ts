import { randomBytes } from "node:crypto";
import { deflateSync, gzipSync } from "node:zlib";
import { expect } from "chai";
import { runsInMail } from "#src/mail/in/links/mailRuns.ts";
import { encryptedMail, signedMail } from "#test/support/signedMail.ts";
import { type Packed, zip } from "#test/support/zip.ts";

const token = "Kq3-T_x9aBcDeFgHiJkLmNoPqRsTuVwXyZ012345_-6";
const link = `https://mail.example.com/a/${token}?d=approve`;

type File = { filename: string | null; contentType: string; bytes: Buffer };

const file = (filename: string | null, bytes: Buffer | string, contentType = "application/octet-stream"): File => ({
  filename,
  contentType,
  bytes: Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, "latin1"),
});

async function runsOf(...files: File[]) {
  const attachments = files.map((each) => ({ ...each, contentId: null, inline: false }));
  const bodies = { bodyText: "x", bodyHtml: null, extractedText: "x" };
  return runsInMail(bodies, { raw: Buffer.alloc(0), attachments, isCut: false }).links;
}

const wide = (text: string): Buffer => Buffer.from(text, "utf16le");
const bigEndian = (text: string): Buffer => wide(text).swap16();
const concat = (...parts: (Buffer | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(part, "latin1"))));

const tnef = "\x78\x9f\x3e\x22\x01\0\x01\x06\x90\x08\0";
const compound = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const words: Packed = { name: "read me.txt", content: Buffer.from(link) };

describe("approval links in attached files", () => {
  const found: Record<string, File> = {
    "a file of TNEF in Latin-1": file("winmail.dat", concat(tnef, link, "\0")),
    "a file of TNEF in UTF-16": file("winmail.dat", concat(tnef, "\0", wide(link), "\0\0")),
    "a message of Outlook in UTF-16": file(
      "fwd.msg",
      concat(compound, Buffer.alloc(2_000), wide(link), Buffer.alloc(90)),
    ),
    "a binary file in UTF-16 of the other byte order": file(
      "x.bin",
      concat("\0\0\0", bigEndian(`See ${link}`), "\0\0"),
    ),
    "a token by itself in UTF-16, between others' words": file(
      "x.bin",
      concat("\0\0\0\0", wide("Name\0"), wide(`${token}\0`), wide("Value")),
    ),
    "the end of a long binary file": file("x.bin", concat(Buffer.alloc(3_000_001, "ab\0"), link)),
    "a signed mail": file("smime.p7m", signedMail(`Content-Type: text/plain\r\n\r\n${link}`), "application/pkcs7-mime"),
    "a signed mail whose text is encoded": file(
      "smime.p7m",
      signedMail(`Content-Transfer-Encoding: base64\r\n\r\n${Buffer.from(`See ${link}`).toString("base64")}`),
    ),
    "a ZIP archive": file("x.zip", zip([{ name: "empty", content: Buffer.alloc(0) }, words])),
    "a ZIP archive that is stored as it is": file("x.zip", zip([{ ...words, method: 0 }])),
    "an archive under another name": file(
      "x.docx",
      zip([{ name: "word/document.xml", content: Buffer.from(`<a>${link}</a>`) }]),
    ),
    "an archive inside an archive": file("x.zip", zip([{ name: "y.zip", content: zip([words]) }])),
    "a mail inside an archive": file(
      "x.zip",
      zip([
        {
          name: "y.eml",
          content: Buffer.from(
            `Content-Transfer-Encoding: base64\r\n\r\n${Buffer.from(`a ${link}`).toString("base64")}`,
          ),
        },
      ]),
    ),
    "a file of gzip": file("x.gz", gzipSync(link)),
    "a text of RTF": file("x.rtf", `{\\rtf1\\ansi {\\field{\\*\\fldinst HYPERLINK "${link}"}}}`),
    "a text of RTF that is split and written as codes": file(
      "x.rtf",
      `{\\rtf1 {\\b ${link.slice(0, 31)}}{\\i0\\lang1033 \\'${token.charCodeAt(4).toString(16)}${token.slice(5, 20)}\r\n\\u${token.charCodeAt(20)}?${token.slice(21)}} }`,
    ),
    "a vCard in quoted-printable": file(
      "x.vcf",
      `BEGIN:VCARD\r\nNOTE;ENCODING=QUOTED-PRINTABLE:${[...link].map((char) => `=${char.charCodeAt(0).toString(16).toUpperCase()}`).join("")}\r\n`,
    ),
    "a vCard in base64": file(
      null,
      `BEGIN:VCARD\r\nNOTE;ENCODING=b:${Buffer.from(`See ${link}`).toString("base64").replace(/.{40}/g, "$&\r\n ")}\r\nEND:VCARD\r\n`,
      "text/vcard; charset=utf-8",
    ),
    "a calendar in base64": file(
      "x.ics",
      `BEGIN:VEVENT\r\nATTACH;ENCODING=BASE64;VALUE=BINARY:${Buffer.from(`a ${link}`).toString("base64").replace(/.{70}/g, "$&\r\n ")}\r\n`,
      "text/calendar",
    ),
    "a page with its pictures": file(
      "x.mht",
      `Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<a href=3D"${link.slice(0, 40)}=\r\n${link.slice(40)}">`,
      "multipart/related",
    ),
    "an archive of mails": file(
      "x.mbox",
      `From a\nContent-Transfer-Encoding: base64\n\n${Buffer.from(`${"a ".repeat(40)}${link}`)
        .toString("base64")
        .replace(/.{76}/g, "$&\n")}\n`,
    ),
    "a page inside a page": file(
      "x.html",
      `<a href="data:text/html;base64,${Buffer.from(`a ${link}`).toString("base64")}">a</a>`,
      "text/html",
    ),
    "the bytes of a picture": file("x.png", concat("\x89PNG\0\0", link)),
    "the bytes of a PDF file": file("x.pdf", concat("%PDF-1.7\n\0\0", `/URI (${link})`)),
  };
  for (const [what, holding] of Object.entries(found)) {
    it(`an approval link is found in ${what}`, async () => {
      const links = await runsOf(holding);
      expect(links.found).to.include(token);
      expect([links.unchecked, links.hasClosed]).to.deep.equal([false, false]);
    });
  }

  const packed = zip([words, { name: "b.txt", content: Buffer.from("b".repeat(100)) }]);
  /** The same archive with one file missing in its directory. */
  const unnamed = (() => {
    const bytes = Buffer.from(packed);
    const [end, directory] = [bytes.length - 22, bytes.lastIndexOf("PK\x01\x02")];
    const first = bytes.indexOf("PK\x01\x02");
    const rest = concat(bytes.subarray(0, first), bytes.subarray(directory, end), bytes.subarray(end));
    const newEnd = rest.length - 22;
    rest.writeUInt16LE(1, newEnd + 10);
    rest.writeUInt32LE(newEnd - first, newEnd + 12);
    return rest;
  })();
  const overlapping = (() => {
    const bytes = Buffer.from(packed);
    bytes.writeUInt32LE(0, bytes.lastIndexOf("PK\x01\x02") + 42);
    return bytes;
  })();
  const deep = (depth: number): Buffer =>
    depth === 0 ? zip([words]) : zip([{ name: "x.zip", content: deep(depth - 1) }]);
  const closed: Record<string, File> = {
    "an encrypted mail of S/MIME": file("smime.p7m", encryptedMail(randomBytes(200)), "application/pkcs7-mime"),
    "a file of S/MIME that cannot be read": file(
      "smime.p7m",
      randomBytes(90),
      "application/x-pkcs7-mime; name=smime.p7m",
    ),
    "a file packed by zlib": file("x.dat", deflateSync("words")),
    "an encrypted mail of OpenPGP": file(
      "encrypted.asc",
      "-----BEGIN PGP MESSAGE-----\n\nhQEMA\n",
      "application/octet-stream",
    ),
    "an encrypted file of OpenPGP": file("x.pdf.gpg", randomBytes(90)),
    "an encrypted archive": file("x.zip", zip([{ ...words, flags: 1, method: 0 }])),
    "an archive packed in another way": file("x.zip", zip([{ ...words, method: 14 }])),
    "an archive whose directory leaves a file out": file("x.zip", unnamed),
    "an archive whose files overlap": file("x.zip", overlapping),
    "an archive that lies about a size": file("x.zip", zip([{ ...words, size: 3 }])),
    "an archive without its end": file("x.zip", packed.subarray(0, -30)),
    "an archive behind something else": file("x.exe", concat("MZ\0", packed)),
    "an archive of more files than are read": file(
      "x.zip",
      zip(Array.from({ length: 1_001 }, (_, index) => ({ name: String(index), content: Buffer.alloc(0) }))),
    ),
    "an archive of more bytes than are read": file(
      "x.zip",
      zip([{ name: "x", content: Buffer.alloc(33 * 1024 * 1024) }]),
    ),
    "archives nested too deep": file("x.zip", deep(6)),
    "a file of gzip of more bytes than are read": file("x.gz", gzipSync(Buffer.alloc(33 * 1024 * 1024))),
    "a damaged file of gzip": file("x.gz", gzipSync(link).subarray(0, 20)),
    "a 7z archive": file("x.7z", concat("7z\xbc\xaf\x27\x1c", randomBytes(50))),
    "a RAR archive": file("x.rar", concat("Rar!\x1a\x07\x01\0", randomBytes(50))),
    "compressed RTF in TNEF": file("winmail.dat", concat(tnef, "\x20\0\0\0LZFu", randomBytes(50))),
    "an encrypted document": file("x.docx", concat(compound, Buffer.alloc(500), wide("EncryptedPackage"))),
    "an archive in a message of Outlook": file(
      "x.msg",
      concat(compound, Buffer.alloc(504), packed, Buffer.alloc(70_000)),
    ),
    "an archive in a file of tar": file(
      "x.tar",
      concat(Buffer.alloc(257), "ustar\0", Buffer.alloc(249), packed, Buffer.alloc(70_000)),
    ),
    "much binary that might hold one": file("x.bin", concat("\0\0\0", Buffer.alloc(9 * 1024 * 1024, "x"))),
  };
  for (const [what, holding] of Object.entries(closed)) {
    it(`the mail is reported as unsearchable if it has ${what}`, async () => {
      const links = await runsOf(holding);
      expect([links.unchecked, links.hasClosed]).to.deep.equal([false, true]);
    });
  }

  it("pictures, PDF files, readable archives and signatures are not reported as unsearchable", async () => {
    const links = await runsOf(
      file("x.jpg", concat("\xff\xd8\xff\xe0", Buffer.alloc(9 * 1024 * 1024, "x"))),
      file("x.pdf", concat("%PDF-1.7\n", Buffer.alloc(9 * 1024 * 1024, "x"))),
      file("x.docx", packed),
      file("x.bin", randomBytes(1_000_000)),
      file("smime.p7s", randomBytes(900), "application/pkcs7-signature"),
    );
    expect(links).to.deep.include({ unchecked: false, hasClosed: false });
  });

  it("archives are searched up to a total size for each mail", async () => {
    const bomb = zip([{ name: "x", content: Buffer.alloc(20 * 1024 * 1024) }]);
    expect((await runsOf(file("1.zip", bomb))).hasClosed).to.equal(false);
    expect((await runsOf(file("1.zip", bomb), file("2.zip", bomb))).hasClosed).to.equal(true);
  });
});
