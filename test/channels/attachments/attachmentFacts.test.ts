import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { attachmentFacts, receivedFacts } from "#src/channels/attachments/attachmentFacts.ts";
import { memoryBlobs } from "#test/support/memoryBlobs.ts";
import { zip as packed } from "#test/support/zip.ts";

type File = { name: string; type?: string; bytes: Buffer | string };

async function factOf({ name, type = "application/octet-stream", bytes }: File) {
  const blobs = memoryBlobs();
  const sha256 = await blobs.put(Buffer.from(bytes));
  const [fact] = await attachmentFacts(blobs, [{ filename: name, content_type: type, sha256 }]);
  return fact!;
}

const pdf = "%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n";
const exe = Buffer.concat([Buffer.from("MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0", "latin1"), Buffer.alloc(200, 0xb8)]);
const jpeg = Buffer.from("ffd8ffe000104a46494600010100000100010000ffdb", "hex");
const cfb = Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(2000)]);
const lnk = Buffer.concat([Buffer.from("4c0000000114020000000000c000000000000046", "hex"), Buffer.alloc(100)]);

/** Makes a ZIP archive of these files. */
const zip = (files: Record<string, string | Buffer>): Buffer =>
  packed(Object.entries(files).map(([name, content]) => ({ name, content: Buffer.from(content) })));

const types = (main: string) =>
  `<?xml version="1.0"?><Types><Override PartName="/word/document.xml" ContentType="application/${main}.main+xml"/></Types>`;
const docx = {
  "[Content_Types].xml": types("vnd.openxmlformats-officedocument.wordprocessingml.document"),
  "word/document.xml": "<w:document/>",
};
const noise = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * at * 7919) >> 5));

describe("facts about a draft's attachment", () => {
  const harmless: [string, File & { kind: string }][] = [
    ["a PDF", { name: "offer.pdf", type: "application/pdf", bytes: pdf, kind: "PDF document" }],
    ["a picture", { name: "photo.JPG", type: "image/jpeg", bytes: jpeg, kind: "JPEG picture" }],
    ["a type with a parameter", { name: "p.jpg", type: "image/jpeg; name=p.jpg", bytes: jpeg, kind: "JPEG picture" }],
    ["text", { name: "notes.txt", type: "text/plain", bytes: "BMW and MZ, ID3: words", kind: "text" }],
    ["text that begins like a picture", { name: "bmw.txt", type: "text/plain", bytes: "BMW 320d, red", kind: "text" }],
    ["a table", { name: "list.csv", type: "text/csv", bytes: "a;b\n1;2\n", kind: "text" }],
    ["an appointment", { name: "i.ics", type: "text/calendar", bytes: "BEGIN:VCALENDAR\r\n", kind: "text" }],
    [
      "text in UTF-16",
      { name: "u.txt", type: "text/plain", bytes: Buffer.from("\ufeffhello", "utf16le"), kind: "text" },
    ],
    ["a document", { name: "a.docx", bytes: zip(docx), kind: "Word document" }],
    [
      "a document whose list of types comes last, far from its beginning",
      {
        name: "a.docx",
        type: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        bytes: zip({ "word/media/a.bin": noise, ...docx }),
        kind: "Word document",
      },
    ],
    ["bytes without a known kind", { name: "data", bytes: Buffer.alloc(9), kind: "" }],
  ];
  for (const [what, { kind, ...file }] of harmless) {
    it(`an attachment gets its kind and no warning: ${what}`, async () => {
      const { warning, ...fact } = await factOf(file);
      expect(warning).to.equal(null);
      expect(fact).to.deep.equal({
        name: file.name,
        size: Buffer.from(file.bytes).length,
        declaredType: file.type ?? "application/octet-stream",
        kind: kind || null,
        download: null,
      });
    });
  }

  const warned: [string, File, RegExp][] = [
    ["a program", { name: "setup.exe", bytes: exe }, /^It is a program/],
    [
      "a program under another name",
      { name: "photo.jpg", type: "image/jpeg", bytes: exe },
      /^It is a program.*\(program\).*image\/jpeg.*\.jpg/,
    ],
    ["a harmless file with a program's name", { name: "a.scr", bytes: jpeg }, /^It is a program.*JPEG picture.*\.scr/],
    ["a script by its name", { name: "invoice.js", bytes: "var a" }, /^It is a script/],
    [
      "a script by its bytes",
      { name: "readme", type: "text/plain", bytes: "#!/bin/sh\nrm x" },
      /^It is a script.*text\/plain/,
    ],
    ["a batch file", { name: "a.txt", bytes: "@echo off\r\ndel x" }, /^It is a script.*\.txt/],
    [
      "a page by its bytes",
      { name: "a.txt", type: "text/plain", bytes: " <!-- x --> <HTML><b>hi" },
      /browser.*web page.*\.txt/,
    ],
    ["a page in UTF-16", { name: "a.txt", bytes: Buffer.from("\ufeff<script>", "utf16le") }, /browser.*\.txt/],
    ["a page by its declared type", { name: "a", type: "text/html", bytes: "hi" }, /browser/],
    [
      "a picture that is a page",
      { name: "l.svg", type: "image/svg+xml", bytes: "<?xml version='1.0'?><!DOCTYPE svg><svg onload='x'/>" },
      /browser/,
    ],
    [
      "XML that is a picture that is a page",
      { name: "a.xml", type: "text/xml", bytes: "<?xml version='1.0'?><x:svg xmlns:x='a'/>" },
      /browser.*SVG picture/,
    ],
    [
      "XML with a style sheet",
      { name: "a.xml", bytes: "<?xml version='1.0'?>\n<?xml-stylesheet href='x'?><a/>" },
      /browser/,
    ],
    ["a page that is a program", { name: "a.html", bytes: "<html><hta:application id=a>" }, /^It is a script/],
    ["a shortcut by its bytes", { name: "folder", bytes: lnk }, /^It is a shortcut/],
    ["a shortcut in words", { name: "a.txt", bytes: "[InternetShortcut]\r\nURL=file://x" }, /^It is a shortcut.*\.txt/],
    ["a document with macros by its name", { name: "a.docm", bytes: zip(docx) }, /^It can have macros/],
    [
      "a document with macros by its types",
      { name: "a.docx", bytes: zip({ ...docx, "[Content_Types].xml": types("vnd.ms-word.document.macroEnabled") }) },
      /^It can have macros.*\.docx/,
    ],
    [
      "a document with macros in it",
      { name: "a.docx", bytes: zip({ ...docx, "word/vbaProject.bin": "x" }) },
      /^It can have macros.*\.docx/,
    ],
    [
      "an older document",
      { name: "a.doc", type: "application/msword", bytes: cfb },
      /^It is an Office file of the older kind/,
    ],
    [
      "an archive",
      { name: "a.zip", type: "application/zip", bytes: zip({ "a.txt": "hi" }) },
      /^It is an archive, which can contain programs\.$/,
    ],
    ["an archive with a program", { name: "a.zip", bytes: zip({ "a.txt": "hi", "x/run.exe": exe }) }, /“x\/run\.exe”/],
    [
      "an archive that says it is a document",
      { name: "a.docx", bytes: zip({ "a.js": "hi" }) },
      /archive.*“a\.js”.*\.docx/,
    ],
    ["packed bytes", { name: "a.gz", bytes: gzipSync("x") }, /^It is an archive/],
    ["a disk image", { name: "a.iso", bytes: Buffer.alloc(10) }, /^It is a disk image/],
    [
      "a disk image under another name",
      { name: "a.pdf", bytes: Buffer.concat([Buffer.alloc(32_769), Buffer.from("CD001")]) },
      /^It is a disk image.*\.pdf/,
    ],
    [
      "a disk image known by its end",
      { name: "a.bin", bytes: Buffer.concat([Buffer.alloc(100_000), Buffer.from("koly"), Buffer.alloc(508)]) },
      /^It is a disk image/,
    ],
    ["two endings", { name: "invoice.pdf.exe", bytes: exe }, /two endings: only the last one, \.exe/],
    ["a name with a direction mark", { name: "invoice\u202efdp.exe", bytes: exe }, /change the order of letters/],
    ["an ending behind blanks", { name: "invoice.pdf        .exe", bytes: exe }, /program.*behind spaces/],
    ["an ending with a dot behind it", { name: "invoice.exe. ", bytes: exe }, /program.*behind spaces or dots/],
    ["an ending behind what looks like a dot", { name: "invoice\uff0eexe", bytes: "hi" }, /program.*look like a dot/],
    [
      "text named as a PDF",
      { name: "a.pdf", type: "application/pdf", bytes: "hello" },
      /another kind of file \(text\).*application\/pdf.*\.pdf/,
    ],
    ["unknown bytes named as a PDF", { name: "a.pdf", bytes: Buffer.alloc(50, 1) }, /do not look like it.*\.pdf/],
    ["unknown bytes named as text", { name: "a.txt", bytes: Buffer.alloc(50, 1) }, /do not look like it.*\.txt/],
    [
      "a picture of another kind",
      { name: "a.png", type: "image/png", bytes: jpeg },
      /JPEG picture.*image\/png, and its name ends in \.png/,
    ],
  ];
  for (const [what, file, sentence] of warned) {
    it(`an attachment gets a warning: ${what}`, async () => {
      expect((await factOf(file)).warning).to.match(sentence);
    });
  }

  it("no attachment warning has control characters, direction marks or more than 700 characters", async () => {
    const name = `a.pdf.\u202eexe\n\u2028x`;
    const { warning } = await factOf({
      name: `${name}.js`,
      type: `text/${name}`,
      bytes: zip({ [`${"b".repeat(200)}\n.exe`]: "x" }),
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
    expect(warning).not.to.match(/[\u0000-\u001f\u2028\u202a-\u202e]/);
    expect(warning!.length).to.be.below(700);
  });

  it("only the first and last 64 KB of an attachment are read", async () => {
    const blobs = memoryBlobs();
    const sha256 = await blobs.put(Buffer.concat([Buffer.from(pdf), Buffer.alloc(5_000_000)]));
    const read: number[] = [];
    const counted = {
      size: blobs.size,
      part: (hash: string, range: { from: number; count: number }) => {
        read.push(range.count);
        return blobs.part(hash, range);
      },
    };
    const [fact] = await attachmentFacts(counted, [{ filename: "a.pdf", content_type: "application/pdf", sha256 }]);
    expect(fact).to.include({ size: 5_000_000 + pdf.length, kind: "PDF document", warning: null });
    expect(read).to.deep.equal([65_536, 65_536]);
  });

  it("an attachment whose bytes are missing has no size, and its name is still judged", async () => {
    const file = { filename: "a.exe", content_type: "image/png", sha256: "00" };
    const [fact] = await attachmentFacts(memoryBlobs(), [file]);
    expect(fact)
      .to.include({ size: null, kind: null })
      .and.to.have.property("warning")
      .that.matches(/program/);
  });

  it("truncated and damaged archives get a warning and a plausible kind", async () => {
    const whole = zip({ ...docx, "x.exe": exe });
    for (let length = 7; length < whole.length; length += 7) {
      const { warning, kind } = await factOf({ name: "a.zip", bytes: whole.subarray(0, length) });
      expect(warning).to.be.a("string");
      expect(kind ?? "").to.match(/^(ZIP archive|Word document|)$/);
    }
    const endless = Buffer.from(whole);
    endless.writeUInt32LE(0xffffffff, endless.length - 10);
    expect((await factOf({ name: "a.zip", bytes: endless })).kind).to.equal("Word document");
  });
});

describe("facts about a received file", () => {
  const warningOf = (filename: string, contentType: string) =>
    receivedFacts([{ filename, contentType, sizeBytes: 5 }])[0]!.warning;

  it("a received file is described by its name, size and declared type", () => {
    expect(receivedFacts([{ filename: "a.pdf", contentType: "application/pdf", sizeBytes: 5 }])).to.deep.equal([
      { name: "a.pdf", size: 5, declaredType: "application/pdf", kind: null, warning: null, download: null },
    ]);
  });

  it("a received file gets a warning for its name, its type, and a contradiction between them", () => {
    expect(warningOf("a.pdf.exe", "application/octet-stream")).to.match(/program.*two endings/);
    expect(warningOf("a.pdf", "text/html")).to.match(/browser.*ends in \.pdf, but it is declared as text\/html/);
    expect(warningOf("a.docx", "application/zip")).to.equal("It is an archive, which can contain programs.");
    expect(warningOf("a.csv", "text/plain")).to.equal(null);
    expect(warningOf("photo", "image/png")).to.equal(null);
  });
});
