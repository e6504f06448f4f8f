import { type FileKind, plainText, script, shortcut, svgPicture, webPage } from "./kinds.ts";

/** Detects the kind of a text file; undefined if it is not text. */
export function textKind(beginning: Buffer): FileKind | undefined {
  const text = decoded(beginning);
  if (hasControls.test(text)) return undefined;
  const first = withoutPrologue(text);
  if (/<hta:application/i.test(text)) return script;
  if (/^<(?:[a-z]+:)?svg[\s>/]/i.test(first)) return svgPicture;
  if (htmlStart.test(first) || /^\s*<\?xml-stylesheet/im.test(text.slice(0, 2000))) return webPage;
  if (scriptStart.test(first)) return script;
  return shortcutStart.test(first) ? shortcut : plainText;
}

/**
 * Decodes UTF-16 if a byte order mark is present; otherwise maps each byte to one character, which suffices to detect markup and binary
 * bytes.
 */
function decoded(bytes: Buffer): string {
  const [first, second] = bytes;
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2));
  if (first === 0xff && second === 0xfe) return even.toString("utf16le", 2);
  if (first === 0xfe && second === 0xff) return Buffer.from(even).swap16().toString("utf16le", 2);
  return bytes.toString("latin1").replace(/^\u00ef\u00bb\u00bf/, "");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what text does not have
const hasControls = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f]/;

/** Skips what may precede the first element: blanks, comments, declarations. Each is skipped once. */
function withoutPrologue(text: string): string {
  let at = 0;
  for (;;) {
    while (/\s/.test(text.charAt(at))) at += 1;
    const close = closings.find(([open]) => text.startsWith(open, at))?.[1];
    const end = close === undefined ? -1 : text.indexOf(close, at);
    if (close === undefined || end < 0 || /^<!doctype\s+html/i.test(text.slice(at, at + 40))) {
      return text.slice(at, at + 200);
    }
    at = end + close.length;
  }
}

const closings = [
  ["<!--", "-->"],
  ["<?xml", "?>"],
  ["<!", ">"],
] as const;

/** Matches HTML as browsers sniff it without a declared type. */
const htmlStart =
  /^<(?:!doctype\s+html|(?:html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p|form|meta|img|object|embed|base|link|span|center)[\s>/])/i;
const scriptStart = /^(?:#!|@echo\s|<\?php|windows registry editor|regedit4)/i;
const shortcutStart = /^\[(?:internetshortcut|desktop entry|\{000214a0-)/i;
