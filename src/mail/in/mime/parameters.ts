import { decodeText } from "./charsets.ts";

/** A header value like `text/plain; charset=utf-8`: its first word in lower case, and its parameters by their lower-case names. */
export type Parameterised = { value: string; parameters: ReadonlyMap<string, string> };

/** Matches a quoted string, a comment, a semicolon, or other text. */
const tokens = /"(?:[^"\\]|\\.)*(?:"|\\?$)|(?<=^|[\s;])\([^()]*\)|;|[^";(]+|\(/gs;
/** Maximum number of parameters that are read from one value. */
const maxParameters = 1_000;

/** Reads any value. If a parameter occurs twice, the first counts; pieces of one parameter (RFC 2231) are joined. */
export function readParameters(header: string): Parameterised {
  const [value = "", ...rest] = splitAtSemicolons(header);
  const given = new Map<string, string>();
  for (const parameter of rest.slice(0, maxParameters)) {
    const equals = parameter.indexOf("=");
    const name = (equals < 0 ? parameter : parameter.slice(0, equals)).trim().toLowerCase();
    if (name !== "" && !given.has(name))
      given.set(name, equals < 0 ? "" : unquoted(parameter.slice(equals + 1).trim()));
  }
  const [word = ""] = unquoted(value.trim()).toLowerCase().split(/\s/, 1);
  return { value: word, parameters: joined(given) };
}

function splitAtSemicolons(header: string): string[] {
  const parts: string[][] = [[]];
  for (const [token] of header.matchAll(tokens)) {
    if (token === ";") parts.push([]);
    else if (!(token.startsWith("(") && token.endsWith(")"))) parts.at(-1)!.push(token);
  }
  return parts.map((part) => part.join(""));
}

/** Returns the content of a quoted string, ignoring what follows it; any other value unchanged. */
function unquoted(value: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)/s.exec(value)?.[1];
  return quoted === undefined ? value : quoted.replace(/\\(.)/gs, "$1");
}

type ParameterPiece = { number: number; value: string; isEncoded: boolean };

/** Joins `name*0*=utf-8''a%20; name*1="b"` to one parameter; it overrides a plain one of that name. */
function joined(given: ReadonlyMap<string, string>): Map<string, string> {
  const parameters = new Map<string, string>();
  const pieces = new Map<string, ParameterPiece[]>();
  for (const [key, value] of given) {
    const [, name = "", number = "0", star = ""] = /^(.*?)\*(\d{1,5})?(\*)?$/.exec(key) ?? [];
    if (name === "") parameters.set(key, value);
    else {
      const isEncoded = star !== "" || !/\d$/.test(key);
      pieces.set(name, [...(pieces.get(name) ?? []), { number: Number(number), value, isEncoded }]);
    }
  }
  for (const [name, all] of pieces) parameters.set(name, textOf(all.sort((a, b) => a.number - b.number)));
  return parameters;
}

/** Decodes the pieces. The first one names the charset of those that are encoded; a character may be split between two of them. */
function textOf(pieces: readonly ParameterPiece[]): string {
  const [, label = "", first] = (pieces[0]!.isEncoded && /^([^']*)'[^']*'(.*)$/s.exec(pieces[0]!.value)) || [];
  const written: string[] = [];
  let encoded: Buffer[] = [];
  const close = (): void => {
    if (encoded.length > 0) written.push(decodeText(Buffer.concat(encoded), { label: label || undefined }).text);
    encoded = [];
  };
  for (const [index, { value, isEncoded }] of pieces.entries()) {
    const text = index === 0 ? (first ?? value) : value;
    if (isEncoded) encoded.push(percentDecoded(text));
    else {
      close();
      written.push(text);
    }
  }
  close();
  return written.join("");
}

function percentDecoded(text: string): Buffer {
  const pieces = text.split(/%([0-9a-f]{2})/i);
  return Buffer.concat(pieces.map((piece, n) => Buffer.from(piece, n % 2 === 1 ? "hex" : "utf8")));
}
