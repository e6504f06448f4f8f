import { isAscii, isUtf8 } from "node:buffer";
import iconv from "iconv-lite";
import { unshifted } from "./shiftedText.ts";

export type DecodedText = {
  text: string;
  /** Sentence about a doubtful decoding, whose subject is a text; null if there is no doubt. */
  doubt: string | null;
};

/**
 * Decodes bytes to text; never throws. `label`: the declared charset, used unless the bytes are invalid in it. `isHtml`: the bytes may
 * declare their own charset in a `<meta>` element. Independent of the version of Node: the tables are the library's.
 */
export function decodeText(
  bytes: Buffer,
  { label, isHtml = false }: { label?: string | undefined; isHtml?: boolean },
): DecodedText {
  const declared = [label, ...(isHtml ? [ownCharset(bytes)] : [])].filter((name) => name !== undefined);
  const known = declared.map(charsetOf).filter((each) => each !== undefined);
  const charset = charsetOfMark(bytes) ?? known[0];
  if (isProvenUtf8(bytes, charset)) {
    const encoding = hasJapaneseEscapes(bytes) ? "iso-2022-jp" : "utf8";
    return { text: decodeBy(encoding, bytes), doubt: null };
  }
  if (charset !== undefined && charset !== "ascii") return decodedAs(bytes, charset, known);
  const own = known.find((each) => each !== "ascii");
  if (own !== undefined) return decodedAs(bytes, own, known);
  const text = iconv.decode(bytes, "windows-1252");
  if (charset === "ascii" || declared.length === 0) return { text, doubt: damageIn(text) };
  return {
    text,
    doubt: `A text is in an unknown charset (${declared[0]!.slice(0, 40)}): it was read as windows-1252.`,
  };
}

/** True for ASCII with the escapes of Japanese mail, which no other encoding uses. */
const hasJapaneseEscapes = (bytes: Buffer): boolean => bytes.includes("\x1b$B") && bytes.includes("\x1b(");

/** True for valid UTF-8 if no charset is declared, or one that contradicts the bytes: 7-bit for others, wide without zeros. */
function isProvenUtf8(bytes: Buffer, charset: string | undefined): boolean {
  if (charset === undefined || charset === "ascii" || charset === "utf8") return isUtf8(bytes);
  if (isWide(charset)) return !bytes.includes(0) && isUtf8(bytes);
  return isSevenBit(charset) && !isAscii(bytes) && isUtf8(bytes);
}

/**
 * Decodes in the declared charset, or in a likelier one if that gives more replacement characters than letters. `all`: every declared
 * charset.
 */
function decodedAs(bytes: Buffer, charset: string, all: readonly string[]): DecodedText {
  const text = decodeBy(charset, bytes);
  if (!text.includes(hole)) return { text, doubt: null };
  const whole = ["utf8", ...all.filter((each) => each !== "ascii")]
    .map((each) => decodeBy(each, bytes))
    .find((reading) => !reading.includes(hole));
  if (whole !== undefined) return { text: whole, doubt: null };
  const windows = iconv.decode(bytes, "windows-1252");
  const isBroken = holesIn(text) > lettersIn(text) && holesIn(windows) < holesIn(text);
  const likelier = isBroken ? windows : text;
  return {
    text: likelier,
    doubt: isBroken
      ? `A text is not in its declared charset (${charset}): it was read as windows-1252.`
      : damageIn(likelier),
  };
}

const hole = "\ufffd";
const holesIn = (text: string): number => text.split(hole).length - 1;
/** Counts letters outside ASCII. */
const lettersIn = (text: string): number => text.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0;

const damageIn = (text: string): string | null =>
  text.includes(hole) ? "Some characters of a text could not be decoded: they are shown as \ufffd." : null;

const decodeBy = (charset: string, bytes: Buffer): string => {
  const { encoding, plain } = unshifted(charset, bytes) ?? { encoding: charset, plain: bytes };
  return iconv.decode(plain, encoding);
};

/** Encodings that the library offers but that are not charsets. */
const notCharsets = ["binary", "base64", "hex"];

/** Charset names that the library does not know, without punctuation, prefixes and language. */
const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ usascii: "ascii", ascii: "ascii", ansix341968: "ascii", iso646us: "ascii", "646": "ascii", us: "ascii" },
    ...{ iso88591: "windows-1252", latin1: "windows-1252", l1: "windows-1252", cp819: "windows-1252" },
    ...{ iso2022jp: "iso-2022-jp", iso2022jpms: "iso-2022-jp", iso2022jp1: "iso-2022-jp", iso2022jp2: "iso-2022-jp" },
    ...{ iso2022jp3: "iso-2022-jp", iso2022jp2004: "iso-2022-jp", junet: "iso-2022-jp", jis: "iso-2022-jp" },
    ...{ cp50220: "iso-2022-jp", cp50221: "iso-2022-jp", cp50222: "iso-2022-jp", cp51932: "euc-jp", ujis: "euc-jp" },
    ...{ iso2022kr: "iso-2022-kr", cp50225: "iso-2022-kr", hz: "hz", hzgb2312: "hz", cp52936: "hz" },
    ...{ iso2022cn: "iso-2022-cn", iso2022cnext: "iso-2022-cn", cp50227: "iso-2022-cn" },
    ...{ iso88598i: "iso-8859-8", iso88598e: "iso-8859-8", iso88596i: "iso-8859-6", iso88596e: "iso-8859-6" },
    ...{
      cp65001: "utf8",
      unicode: "utf-16",
      cp1200: "utf-16le",
      cp1201: "utf-16be",
      koi8: "koi8-r",
      visual: "iso-8859-8",
    },
    ...{
      macroman: "macintosh",
      mac: "macintosh",
      cp10000: "macintosh",
      uhc: "cp949",
      cp1361: "cp949",
      cp20127: "ascii",
    },
    // The newest table contains all older ones.
    ...{ gb2312: "gb18030", gbk: "gb18030", cp936: "gb18030", xgbk: "gb18030", euccn: "gb18030", dbcs936: "gb18030" },
    ...{ "936": "gb18030", cp858: "cp858", xmacce: "maccenteuro", macce: "maccenteuro", shiftjisx0213: "shift_jis" },
    ...{ iso10646ucs2: "utf-16be", xuserdefined: "windows-1252" },
    ...{ unicode11utf8: "utf8", utf8mb4: "utf8", logical: "iso-8859-8", cp54936: "gb18030", cp28591: "windows-1252" },
  }),
);

const known = new Map<string, string | undefined>();
const maxKnown = 500;

/** Returns the encoding that a label means; undefined if it is unknown. */
function charsetOf(label: string): string | undefined {
  const name = label
    .slice(0, 60)
    .toLowerCase()
    // Drops the language, or the year of a standard.
    .replace(/[*:].*$/, "")
    .replace(/[^a-z0-9]/g, "");
  if (known.has(name)) return known.get(name);
  const charset = candidates(name)
    .map((each) => aliases.get(each) ?? (isEncoding(each) ? each : undefined))
    .find(Boolean);
  if (known.size < maxKnown) known.set(name, charset);
  return charset;
}

const isEncoding = (name: string): boolean => name !== "" && !notCharsets.includes(name) && iconv.encodingExists(name);

/** Yields the name, then without its prefixes, then as a code page number. */
function candidates(name: string): string[] {
  const bare = name.replace(/^(?:xms|x|cs)+/, "");
  const page = /^(?:windows|win|ibm|ms|oem|dos|codepage|ccsid|cp)?0{0,2}(\d{3,5})$/.exec(bare)?.[1];
  return [name, bare, ...(page === undefined ? [] : [`cp${page}`])];
}

const isWide = (charset: string): boolean => /^(?:utf-?(?:16|32)|ucs)/.test(charset);
const isSevenBit = (charset: string): boolean => /^(?:iso-2022|hz|utf-?7|iso646|unicode11utf7)/.test(charset);

function charsetOfMark(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return undefined;
}

/** Finds the charset that an HTML page declares in its first bytes. */
function ownCharset(page: Buffer): string | undefined {
  const start = page.toString("latin1", 0, 4096);
  const meta = /<meta\b[^>]{0,300}?\bcharset\s{0,5}=\s{0,5}["']?\s{0,5}([\w.:-]{1,60})/i.exec(start)?.[1];
  return meta ?? /^\s{0,20}<\?xml\b[^>]{0,100}\bencoding\s{0,5}=\s{0,5}["']([\w.:-]{1,60})/i.exec(start)?.[1];
}
