import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import { inFull } from "#test/support/full.ts";
import { seeded } from "../../../scripts/support/random.ts";
import { corpus, fixture, fixtureNames, hasCorpus, mail } from "./mails.ts";
import { obedientThread, order, startParser, type TestParser } from "./parser.ts";

const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

const source = (file: string): string => new URL(`../../../src/mail/in/${file}`, import.meta.url).href;

const plain = (body: string) => mail(["Subject: x", "Content-Type: text/plain; charset=utf-8"], body);
const html = (body: string) => mail(["Subject: x", "Content-Type: text/html; charset=utf-8"], body);

describe("the mail parser", () => {
  let parser: TestParser;
  before(() => {
    parser = startParser({ threads: 1 });
  });
  after(() => parser.close());

  it("the mail parser reads plain text", async () => {
    const read = await parser.parse(fixture("question"));
    expect(read.bodyText).to.contain("Er war für Montag zugesagt.");
    expect(read).to.deep.include({ bodyHtml: null, attachments: [], unreadable: null });
  });

  it("the mail parser extracts a reply without quotation and signature and keeps the whole text", async () => {
    const read = await parser.parse(fixture("answer"));
    expect(read.extractedText).to.equal("That works, thank you. Please use the side entrance.");
    expect(read.bodyText).to.contain("> Shall we ring the bell?");
  });

  it("the mail parser makes text of HTML and finds pictures, attachments and enclosed mails", async () => {
    const read = await parser.parse(fixture("newsletter"));
    expect(read.bodyHtml).to.contain("<h1>Café opens</h1>");
    expect(read.bodyText).to.match(/café opens[\s\S]*map \[https:\/\/shop\.example\/map\]/i);
    expect(read.bodyText).to.not.contain("color");
    const [logo, menu, enclosed] = read.attachments;
    expect(logo).to.deep.include({
      filename: "logo.png",
      contentType: "image/png",
      contentId: "logo@shop.example",
      inline: true,
    });
    expect(menu).to.deep.equal({
      filename: "menü.pdf",
      contentType: "application/pdf",
      contentId: null,
      inline: false,
      bytes: Buffer.from("%PDF-1.4\n"),
    });
    expect(enclosed).to.deep.include({ contentType: "message/rfc822", inline: false });
    expect(enclosed?.bytes.toString()).to.contain("An enclosed letter.");
    expect(read.attachments).to.have.length(3);
  });

  it("the mail parser decodes old and unknown charsets", async () => {
    const bytes = (charset: string, body: Buffer) =>
      Buffer.concat([Buffer.from(`Content-Type: text/plain; charset=${charset}\r\n\r\n`), body]);
    const texts = [
      bytes("windows-1252", Buffer.from("gr\xfcn \x96 \x93so\x94", "latin1")),
      bytes("x-nowhere", Buffer.from("gr\xfcn \x96 \x93so\x94", "latin1")),
      bytes("iso-2022-jp", Buffer.from("\x1b$B$3$s\x1b(B", "latin1")),
    ];
    const read = await Promise.all(texts.map((raw) => parser.parse(raw)));
    expect(read.map(({ bodyText }) => bodyText?.trim())).to.deep.equal(["grün – “so”", "grün – “so”", "こん"]);
  });

  it("the mail parser returns no NUL, surrogate or line break that cannot be stored", async () => {
    const read = await parser.parse(
      mail(
        ["Content-Type: multipart/mixed; boundary=b"],
        [
          "--b\r\nContent-Type: text/plain; charset=utf-16le\r\nContent-Transfer-Encoding: base64\r\n\r\nAABhAADYYgA=",
          "--b\r\nContent-Type: text/html\r\n\r\n<p>a\0b&#0;c&#xD800;d</p>",
          "--b\r\nContent-Type: x/\r\n y/z\r\nContent-Disposition: attachment; filename*=utf-8''a%0D%0Ab%00\r\n\r\nz",
          "--b--",
        ].join("\r\n"),
      ),
    );
    const shown = JSON.stringify({ ...read, attachments: read.attachments.map(({ bytes: _, ...told }) => told) });
    expect(shown).to.not.match(/\\u0000|\\ud[89a-f]/i);
    expect(read.bodyText).to.contain("a");
    expect(read.attachments[0]).to.deep.include({ contentType: "application/octet-stream", filename: "a b\ufffd" });
  });

  it("the mail parser returns bodies above the limits as attachments", async () => {
    const small = startParser({ threads: 1, maxHtmlBytes: 1_000, maxTextBytes: 100 });
    const [letter, page] = await Promise.all([
      small.parse(plain("ü".repeat(500))),
      small.parse(html(`<p>${"x".repeat(2_000)}</p>`)),
    ]).finally(() => small.close());
    expect(letter.bodyText).to.equal("ü".repeat(50));
    expect(letter.attachments.map(({ filename, bytes }) => [filename, bytes.length])).to.deep.equal([
      ["body.txt", 1_001],
    ]);
    expect(page.bodyHtml).to.equal(null);
    expect(page.bodyText).to.equal("x".repeat(100));
    expect(page.attachments.map(({ filename }) => filename)).to.deep.equal(["body.html", "body.txt"]);
  });

  it("the mail parser reads mails with random broken bytes", async () => {
    const random = seeded(23);
    const sources = fixtureNames().map(fixture);
    const broken = Array.from({ length: inFull ? 2_000 : 200 }, (_, n) => {
      const raw = Buffer.from(sources[n % sources.length]!);
      for (let change = 0; change < 12; change++) raw[Math.floor(random() * raw.length)] = Math.floor(random() * 256);
      return raw;
    });
    const read = await Promise.all(broken.map((raw) => parser.parse(raw)));
    expect(read.filter(({ unreadable }) => unreadable !== null)).to.deep.equal([]);
    expect(JSON.stringify(read.map(({ bodyText, bodyHtml }) => [bodyText, bodyHtml]))).to.not.match(
      /\\u0000|\\ud[89a-f]/i,
    );
  });

  const deep = (depth: number) => {
    const open = Array.from(
      { length: depth },
      (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
    );
    return Buffer.from(`Subject: deep\r\n${open.join("")}\r\nend`);
  };

  /** Lines of an attachment, 57 bytes each. */
  const lines = inFull ? 374_000 : 85_000;
  const parts = inFull ? 100_000 : 5_000;
  const refused: Record<string, Buffer> = {
    "multiparts 2,000 deep": deep(2_000),
    "200,000 long headers": Buffer.from(`${"X-Header: something or other\r\n".repeat(200_000)}\r\nx`),
    [`${parts.toLocaleString("en")} parts`]: mail(
      ["Content-Type: multipart/mixed; boundary=b"],
      "--b\r\nContent-Type: a/b\r\n\r\nx\r\n".repeat(parts),
    ),
  };
  for (const [name, raw] of Object.entries(refused)) {
    it(`the mail parser refuses ${name} with a reason and reads the next mail`, async () => {
      const read = await parser.parse(raw);
      expect(read.unreadable).to.be.a("string");
      expect(read).to.deep.include({ bodyText: null, bodyHtml: null, attachments: [] });
      expect((await parser.parse(plain("fine"))).bodyText?.trim()).to.equal("fine");
    });
  }

  const readable: Record<string, Buffer> = {
    "200,000 nested divs": html("<div>".repeat(200_000)),
    "100,000 elements closed by others": html("<b>x</i>".repeat(100_000)),
    "tables in tables": html("<table><tr><td>".repeat(100_000)),
    "a million open brackets": html("<".repeat(1_000_000)),
    "an endless line": plain("x".repeat(29_000_000)),
    "text made to confuse a search for quotes": plain("On a b ".repeat(18_000)),
    "text that makes such a search cubic": plain("abc. a skrev b\n".repeat(8_000)),
    "many quotes": plain(`${">".repeat(2_000)}\n`.repeat(60)),
    [`an attachment of ${lines / 17_000} MB`]: mail(
      ["Content-Type: application/octet-stream", "Content-Transfer-Encoding: base64"],
      `${"QUJD".repeat(19)}\r\n`.repeat(lines),
    ),
  };
  for (const [name, raw] of Object.entries(readable)) {
    it(`the mail parser reads ${name} within the size limits`, async () => {
      const read = await parser.parse(raw);
      expect(read.unreadable).to.equal(null);
      expect(read.bodyHtml ?? "").to.have.length.below(1024 * 1024 + 1);
      expect(read.bodyText ?? "").to.have.length.below(1024 * 1024 + 1);
    });
  }

  it("the mail parser drops HTML nested deeper than 512 elements and keeps its text", async () => {
    const nested = (depth: number) => html(`${"<div>".repeat(depth)}words${"</div>".repeat(depth)}`);
    const flat = html(
      "<p>one<p>two<br><img><ul><li>a<li>three</ul><table><tr><td>a<td>b<tr><td>c</table>".repeat(2_000),
    );
    const [fits, tooDeep, wide] = await Promise.all([nested(512), nested(513), flat].map((raw) => parser.parse(raw)));
    expect(fits?.bodyHtml).to.contain("words");
    expect(tooDeep).to.deep.include({ bodyHtml: null, bodyText: "words" });
    expect(wide?.bodyHtml).to.contain("three");
  });

  if (hasCorpus("list-mail"))
    it("the mail parser reads all archived real mail", async () => {
      const all = ["list-mail", "mime", "automatic", "replies"]
        .flatMap(corpus)
        .filter(({ name }) => !name.endsWith(".tsv"));
      expect(all.length).to.be.above(3_300);
      // Every twenty-fifth mail; in a full run all.
      const files = inFull ? all : all.filter((_, n) => n % 25 === 0);
      const read = await Promise.all(files.map(async ({ name, raw }) => ({ name, mail: await parser.parse(raw) })));
      expect(read.filter(({ mail }) => mail.unreadable !== null)).to.deep.equal([]);
      expect(read.filter(({ mail }) => mail.bodyText?.trim() && mail.extractedText).length).to.be.above(
        0.85 * files.length,
      );
    });
});

describe("the limits of the mail parser", () => {
  it("a mail that takes too long to read is unreadable, and the next one is read", async () => {
    const parser = startParser({ threads: 1, firstTryMs: 500, slowMs: 1_000, entry: obedientThread });
    const [first, second] = await Promise.all([parser.parse(order({ sleepMs: 60_000 })), parser.parse(order({}))]);
    expect(first.unreadable).to.equal("reading took more than 1000 ms");
    expect(second).to.deep.include({ bodyText: "done", unreadable: null });
    await parser.close();
  });

  it("a mail that takes too much memory is unreadable, and the next one is read", async () => {
    const parser = startParser({ threads: 1, maxHeapMb: 16, entry: obedientThread });
    const [first, second] = await Promise.all([parser.parse(order({ allocate: true })), parser.parse(order({}))]);
    expect(first.unreadable).to.equal("reading took too much memory");
    expect(second).to.deep.include({ bodyText: "done", unreadable: null });
    await parser.close();
  });

  // The last test but one closes it.
  const both = startParser();
  after(() => both.close());

  it("200 concurrent callers of the mail parser each get their own mail", async () => {
    const read = await Promise.all(Array.from({ length: 200 }, (_, n) => both.parse(plain(`mail ${n}`))));
    expect(read.map(({ bodyText }) => bodyText?.trim())).to.deep.equal(
      Array.from({ length: 200 }, (_, n) => `mail ${n}`),
    );
  });

  it("the mail parser leaves the caller's bytes unchanged", async () => {
    const raw = fixture("question");
    await both.parse(raw);
    expect(raw).to.deep.equal(fixture("question"));
  });

  it("a closed mail parser rejects and does not report the mail as unreadable", async () => {
    const pending = [1, 2, 3].map((n) =>
      both.parse(plain(`x\n`.repeat(n * 100_000))).then(
        () => "read",
        (error) => error.message,
      ),
    );
    await both.close();
    expect(await Promise.all(pending)).to.deep.equal(Array(3).fill("the threads are closed"));
    expect(await both.parse(plain("x")).catch((error) => error.message)).to.equal("the threads are closed");
  });

  it("the mail parser works in a separate Node.js process started in another folder", async () => {
    const script = `
      import { createMailParser } from ${JSON.stringify(source("parse.ts"))};
      import { createThreadPool } from ${JSON.stringify(source("../../platform/threadPool/threadPool.ts"))};
      const pool = createThreadPool({ threads: 1 });
      const raw = Buffer.from("Subject: x\\r\\n\\r\\nhello");
      console.log((await createMailParser(pool).parse(raw, { turn: "a", sha256: "b" })).bodyText.trim());
      await pool.close();`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", tsx, "--input-type=module", "-e", script],
      { cwd: tmpdir(), env: { PATH: process.env.PATH } },
    );
    expect(stdout.trim()).to.equal("hello");
  });
});
