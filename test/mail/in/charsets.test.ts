import { expect } from "chai";
import fc from "fast-check";
import iconv from "iconv-lite";
import { decodeText } from "#src/mail/in/mime/charsets.ts";
import { processorMs } from "#test/support/processorTime.ts";

const read = (hex: string | Buffer, label?: string, isHtml = false) =>
  decodeText(typeof hex === "string" ? Buffer.from(hex.replaceAll(" ", ""), "hex") : hex, { label, isHtml });
const latin = (text: string): Buffer => Buffer.from(text, "latin1");

describe("decodeText", () => {
  const declared: Record<string, [label: string, bytes: Buffer, text: string]> = {
    "an old code page of DOS": ["cp850", latin("Gr\x94\xe1e"), "Größe"],
    "an older one": ["IBM437", latin("caf\x82"), "café"],
    "a code page by its bare number": ["437", latin("caf\x82"), "café"],
    "a code page of Windows by another name": ["win-1251", latin("\xc4\xe0"), "Да"],
    "Shift_JIS with signs of its maker": ["cp932", latin("\x87\x40\x94\xd4"), "①番"],
    "Shift_JIS by a name with a prefix": ["x-sjis", latin("\x94\xd4"), "番"],
    "simplified Chinese beyond its old table": ["gb2312", latin("\xd6\xec\xe9\x46"), "朱镕"],
    "simplified Chinese with letters of four bytes": ["gbk", latin("\x81\x39\xef\x30\xd6\xec"), "㐁朱"],
    "a code page with zeros before its number": ["IBM00858", latin("Gr\x94\xe1e \xd5"), "Größe €"],
    "a standard with its year": ["ISO_8859-5:1988", latin("\xb4\xd0"), "Да"],
    "Japanese by escapes that no label names": ["us-ascii", latin("\x1b$B$3$s\x1b(B ok"), "こん ok"],
    "traditional Chinese": ["big5", latin("\xa7\x41"), "你"],
    "Korean in a code page": ["ks_c_5601-1987", latin("\xb0\xa1\x81\x41"), "가갂"],
    "Japanese by escapes": ["iso-2022-jp", latin("\x1b$B$3$s\x1b(B ok"), "こん ok"],
    "Japanese by escapes, with signs of its maker": ["iso-2022-jp-ms", latin("\x1b$B-!CmJ8\x1b(B"), "①注文"],
    "Japanese with half-wide letters": ["CP50221", latin("\x1b(I1\x1b(B \x0e2\x0f."), "ｱ ｲ."],
    "Japanese of the supplementary table": ["iso-2022-jp-1", latin("\x1b$(D0!\x1b(B"), "丂"],
    "Japanese in EUC": ["x-euc-jp", latin("\xad\xa1"), "①"],
    "Korean by shifts": ["iso-2022-kr", latin("\x1b$)C\n\x0e>H3g\x0f!\n"), "\n안녕!\n"],
    "Chinese between tildes": ["hz-gb-2312", latin("~{VPND~} ~~ a~\nb"), "中文 ~ ab"],
    "Chinese by shifts": ["iso-2022-cn", latin("\x1b$)A\x0eVPND\x0f."), "中文."],
    "UTF-7": ["utf-7", latin("caf+AOk-!"), "café!"],
    "UTF-16 with a mark": ["utf-16", Buffer.from("\ufeffé", "utf16le"), "é"],
    "UTF-16 of the other order": ["utf-16be", latin("\x00\xe9\x00a"), "éa"],
    "Latin-1 that means Windows": ["iso-8859-1", latin("\x96 \x80"), "– €"],
    "Hebrew in logical order": ["iso-8859-8-i", latin("\xf9\xec\xe5\xed"), "שלום"],
    Thai: ["tis-620", latin("\xa1"), "ก"],
    "a name with a language": ["utf-8*fr", Buffer.from("é"), "é"],
    "a name in quotes and blanks": [' "UTF8" ', Buffer.from("é"), "é"],
  };
  for (const [what, [label, bytes, text]] of Object.entries(declared)) {
    it(`decodeText reads ${what}`, () => {
      expect(read(bytes, label)).to.deep.equal({ text, doubt: null });
    });
  }

  it("decodeText reads UTF-8 that the bytes prove, under an unknown, an ASCII or a 7-bit label", () => {
    for (const label of [
      undefined,
      "x-unknown",
      "unknown-8bit",
      "us-ascii",
      "iso-2022-jp",
      "utf-7",
      "hz-gb-2312",
      "utf-16",
      "hex",
      "",
    ])
      expect(read(Buffer.from("Où est ma commande – 注文"), label).text, label).to.equal("Où est ma commande – 注文");
  });

  it("decodeText reads UTF-8 if the declared charset cannot decode all bytes and UTF-8 can", () => {
    expect(read(Buffer.from("Größe – merci"), "shift_jis").text).to.equal("Größe – merci");
    expect(read(Buffer.from("Größe – merci"), "gb18030").text).to.equal("Größe – merci");
  });

  it("decodeText reads windows-1252 with a note if the charset is unknown or does not fit", () => {
    expect(read(latin("gr\xfcn \x96 \x93so\x94"), "x-nowhere")).to.deep.equal({
      text: "grün – “so”",
      doubt: "A text is in an unknown charset (x-nowhere): it was read as windows-1252.",
    });
    expect(read(latin("gr\xfcn"), "us-ascii")).to.deep.equal({ text: "grün", doubt: null });
    expect(read(latin("gr\xfcn \x96 so"), "utf-8")).to.deep.equal({
      text: "grün – so",
      doubt: "A text is not in its declared charset (utf8): it was read as windows-1252.",
    });
  });

  it("decodeText keeps the declared charset with a note if one character of many is broken", () => {
    const { text, doubt } = read(Buffer.from("ご連絡ありがとう").subarray(0, -1), "utf-8");
    expect(text).to.match(/^ご連絡ありがと\ufffd+$/);
    expect(doubt).to.equal("Some characters of a text could not be decoded: they are shown as \ufffd.");
  });

  it("decodeText reads the charset that an HTML page declares itself", () => {
    const page = (meta: string) => latin(`<html><head>${meta}</head><body>\xc4\xe0`);
    const metas = [
      '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
      "<META CHARSET=windows-1251>",
      "<meta charset = 'cp1251'/>",
    ];
    for (const meta of metas) expect(read(page(meta), undefined, true).text, meta).to.contain("<body>Да");
    expect(read(page(metas[0]!), "koi8-r", true).text).to.contain("<body>дЮ");
    expect(read(page(metas[0]!), "x-unknown", true).text).to.contain("<body>Да");
    for (const label of ["us-ascii", "utf-8"]) expect(read(page(metas[0]!), label, true).text).to.contain("<body>Да");
    const xml = latin('<?xml version="1.0" encoding="windows-1251"?><html><body>\xc4\xe0');
    expect(read(xml, undefined, true).text).to.contain("<body>Да");
    expect(read(page(metas[0]!), undefined).text).to.contain("<body>Äà");
  });

  const labels = [
    "utf-8",
    "us-ascii",
    "cp850",
    "shift_jis",
    "gb18030",
    "big5",
    "euc-kr",
    "iso-2022-jp",
    "iso-2022-kr",
    "iso-2022-cn",
    "hz",
    "utf-16",
    "utf-16be",
    "utf-7",
    "utf-32",
    "windows-1252",
    "koi8-r",
    "x",
    "hex",
    "constructor",
    "__proto__",
  ];

  it("decodeText never throws, for any bytes and label, and keeps ASCII", () => {
    const anyBytes = fc.uint8Array({ maxLength: 200 }).map(Buffer.from);
    const anyLabel = fc.oneof(fc.constantFrom(...labels), fc.string({ maxLength: 20 }));
    fc.assert(
      fc.property(anyBytes, anyLabel, fc.boolean(), (bytes, label, isHtml) => {
        expect(read(bytes, label, isHtml).text).to.be.a("string");
      }),
    );
    // Without characters that begin an escape in one of these charsets.
    const ascii = fc.string({ maxLength: 200 }).map((text) => text.replace(/[^\x20-\x7d\n]|\+/g, "."));
    fc.assert(
      fc.property(ascii, anyLabel, (text, label) => {
        expect(read(latin(text), label).text).to.equal(text);
      }),
    );
    const word = fc.stringMatching(/^[a-z]{3,10}$/);
    const eightBit = labels.filter((label) => !/^utf-?(16|32)/.test(label));
    fc.assert(
      fc.property(word, fc.constantFrom(...eightBit), anyBytes, (text, label, bytes) => {
        const noise = bytes.filter((byte) => byte >= 0xa1);
        expect(read(Buffer.concat([latin(`${text}\n`), noise, latin(`\n\n${text}`)]), label).text).to.contain(text);
      }),
    );
  });

  it("decodeText reads back what iconv-lite encodes", () => {
    for (const label of ["cp850", "koi8-r", "windows-1251", "shift_jis", "euc-kr", "gb18030", "big5"]) {
      const text =
        { cp850: "Größe", shift_jis: "番号", "euc-kr": "안녕", gb18030: "中文😀", big5: "中文" }[label] ?? "Заказ";
      expect(read(iconv.encode(text, label), label).text, label).to.equal(text);
    }
  });

  it("decodeText takes time proportional to the length", () => {
    for (const label of [...labels, undefined]) {
      for (const pattern of ["\x1b$B$3\xff\xfe\x81\x30~{\n", "\x0e~~", "<meta ", "\xe3\x81", "+AOk"]) {
        const bytes = latin(pattern.repeat(1_000_000 / pattern.length));
        expect(
          processorMs(() => read(bytes, label, true)),
          `${label} ${pattern}`,
        ).to.be.below(1_000);
      }
    }
  });
});
