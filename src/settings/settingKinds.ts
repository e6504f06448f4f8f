import { createPublicKey } from "node:crypto";
import { isIP } from "node:net";
import Type, { type Static, type TSchema } from "typebox";
import { type AnswerLimit, longestSpan, mostAnswers } from "#streams/answeredAddress/looping.ts";
import { readCosignerKey } from "../audit/cosignature.ts";
import { namedWitness } from "../platform/audit/witnesses.ts";

/** The declaration of a setting, besides its kind. */
export type SettingMeaning<Default> = {
  /** Meaning of the setting, in one sentence. */
  description?: string;
  /** Unit of a number. */
  unit?: "seconds" | "hours" | "days" | "megabytes" | "requests a minute";
  /** Default value of the setting. */
  default?: Default;
  /** The default in words, if it is derived from something else. */
  otherwise?: string;
};

/** The kinds of settings: schemas whose `expected` says in words what a setting has to be. */

const Checked = (expected: string, isSound: (text: string) => boolean, meaning: SettingMeaning<string> = {}) =>
  Type.Refine(Type.String({ expected, ...meaning }), isSound);

export const Directory = (meaning: SettingMeaning<string> = {}) => Type.String({ expected: "a directory", ...meaning });

export const PemFile = (meaning: SettingMeaning<string> = {}) =>
  Type.String({ expected: "the path of a PEM file", ...meaning });

export const Whole = (from: number, to: number, meaning: SettingMeaning<number> = {}) =>
  Type.Integer({ minimum: from, maximum: to, expected: `a whole number from ${from} to ${to}`, ...meaning });

export const OneOf = <const Choice extends string>(choices: readonly Choice[], meaning: SettingMeaning<Choice> = {}) =>
  Type.Enum([...choices], { expected: choices.join(", ").replace(/, (?=[^,]*$)/, " or "), ...meaning });

/** A comma-separated list with at least one item. */
export const ListOf = <Item extends TSchema>(item: Item, meaning: SettingMeaning<Static<Item>[]> = {}) =>
  Type.Array(item, { minItems: 1, expected: `a comma-separated list, each ${expectedOf(item)}`, ...meaning });

export const ThreeOf = <Item extends TSchema>(item: Item, meaning: SettingMeaning<Static<Item>[]> = {}) =>
  Type.Tuple([item, item, item], { expected: `three comma-separated values, each ${expectedOf(item)}`, ...meaning });

export const TwoOf = <Item extends TSchema>(item: Item, meaning: SettingMeaning<Static<Item>[]> = {}) =>
  Type.Tuple([item, item], { expected: `two comma-separated values, each ${expectedOf(item)}`, ...meaning });

/** Requests a minute; "off" is no limit. */
export const Rate = (meaning: SettingMeaning<number | "off"> = {}) =>
  Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Literal("off")], {
    expected: "a number of requests per minute, or off",
    unit: "requests a minute",
    ...meaning,
  });

/** Four whole numbers; "off" is no limit. */
export const FourRates = (meaning: SettingMeaning<number[] | "off"> = {}) => {
  const number = Type.Integer({ minimum: 1, maximum: 1_000_000 });
  return Type.Union([Type.Tuple([number, number, number, number]), Type.Literal("off")], {
    expected: "four comma-separated numbers of mails an hour, or off",
    ...meaning,
  });
};

/** One to four limits, each a number of answers and the seconds in which they may be sent; "off" is no limit. answerLimits reads them. */
export const AnswerLimits = (meaning: SettingMeaning<string> = {}) =>
  Checked(
    `ANSWERS/SECONDS, such as 10/3600,30/86400 (one to four limits; at most ${mostAnswers - 1} answers and ${longestSpan} seconds); or off`,
    (text) => {
      const limits = answerLimits(text);
      return (
        limits.length <= 4 &&
        limits.every(({ count, seconds }) => count > 0 && count < mostAnswers && seconds > 0 && seconds <= longestSpan)
      );
    },
    meaning,
  );

/** Reads AnswerLimits. */
export const answerLimits = (text: string): AnswerLimit[] =>
  text === "off"
    ? []
    : listed(text).map((limit) => {
        const [, count, seconds] = /^(\d{1,6})\/(\d{1,6})$/.exec(limit) ?? [];
        return { count: Number(count ?? 0), seconds: Number(seconds ?? 0) };
      });

/** Number of whole days, from `atLeast` on; "never" means no limit. */
export const Days = ({ atLeast = 1, ...meaning }: SettingMeaning<number | "never"> & { atLeast?: number } = {}) =>
  Type.Union([Type.Integer({ minimum: atLeast, maximum: 36_500 }), Type.Literal("never")], {
    expected: `a whole number from ${atLeast} to 36500, or never`,
    unit: "days",
    ...meaning,
  });

/** A URL of one of these schemes. */
export const Url = (schemes: readonly string[], meaning: SettingMeaning<string> = {}) => {
  const isSound = (text: string): boolean =>
    schemes.includes(/^([a-z+]+):\/\/[^/?#]/.exec(text)?.[1] ?? "") && URL.canParse(text);
  return Checked(`a URL ${schemes.map((each) => `${each}://…`).join(" or ")}`, isSound, meaning);
};

/** An http or https URL; a trailing slash is dropped. */
export const HttpUrl = (meaning: SettingMeaning<string> = {}) =>
  Type.Decode(Url(["http", "https"], meaning), (text) => text.replace(/\/+$/, ""));

/** Not a URL for the parser: the URL of a cluster has several hosts. */
export const EventStoreUrl = (meaning: SettingMeaning<string> = {}) =>
  Checked(
    "a URL such as esdb://… or kurrentdb://…",
    (text) => /^(esdb|kurrentdb|kurrent|kdb)(\+discover)?:\/\/\S+$/.test(text),
    meaning,
  );

/** A name of labels, each with these characters inside and at its ends; converted to lower case. */
const NameOf = (
  expected: string,
  { inside, end }: { inside: string; end: string },
  meaning: SettingMeaning<string>,
) => {
  const label = `[${end}]([${inside}]*[${end}])?`;
  const pattern = new RegExp(`^(?=.{1,253}$)${label}(\\.${label})*$`, "i");
  return Type.Decode(
    Checked(expected, (text) => pattern.test(text), meaning),
    (text) => text.toLowerCase(),
  );
};

export const DomainName = (meaning: SettingMeaning<string> = {}) =>
  NameOf("a domain name", { inside: "a-z0-9-", end: "a-z0-9" }, meaning);

/** A name that has records in DNS but is no host: it may contain underscores. */
export const RecordName = (meaning: SettingMeaning<string> = {}) =>
  NameOf("a name in DNS such as _spf.example.com", { inside: "a-z0-9_-", end: "a-z0-9_" }, meaning);

export const HostName = (meaning: SettingMeaning<string> = {}) =>
  Checked("a host name or an IP address", (text) => /^[A-Za-z0-9.:_-]+$/.test(text), meaning);

export const MailAddress = (meaning: SettingMeaning<string> = {}) =>
  Checked("one plain email address", (text) => /^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/.test(text), meaning);

/** A secret that callers present. */
export const Token = (meaning: SettingMeaning<string> = {}) =>
  Checked("16 or more printable characters without blanks", (text) => /^[\x21-\x7e]{16,}$/.test(text), meaning);

/** A secret that was issued by someone else. */
export const Secret = (meaning: SettingMeaning<string> = {}) =>
  Checked("printable characters without blanks", (text) => /^[\x21-\x7e]+$/.test(text), meaning);

/** A Stripe secret, whose prefix says what it is for. */
export const StripeSecret = (kinds: readonly string[], meaning: SettingMeaning<string> = {}) =>
  Checked(
    `a secret of Stripe that begins with ${begins(kinds)}, and 16 or more characters`,
    isOfStripe(kinds, 16),
    meaning,
  );

/** The id of a Stripe object. */
export const StripeId = (kinds: readonly string[], meaning: SettingMeaning<string> = {}) =>
  Checked(`an id of Stripe that begins with ${begins(kinds)}`, isOfStripe(kinds, 1), meaning);

const begins = (kinds: readonly string[]): string => kinds.map((kind) => `${kind}_`).join(" or ");

const isOfStripe = (kinds: readonly string[], least: number) => (text: string) =>
  new RegExp(`^(${kinds.join("|")})_[A-Za-z0-9_+/=-]{${least},250}$`).test(text);

/** A secret that is the last part of a URL path. */
export const PathSecret = (meaning: SettingMeaning<string> = {}) =>
  Checked("16 or more letters, digits, - or _", (text) => /^[\w-]{16,200}$/.test(text), meaning);

/** The public key that verifies posts: the DER of SPKI in base64, as SendGrid shows it. */
export const SigningKey = (meaning: SettingMeaning<string> = {}) =>
  Checked("an elliptic public key as SendGrid shows it (base64)", isSigningKey, meaning);

function isSigningKey(text: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
    return key.asymmetricKeyType === "ec";
  } catch {
    return false;
  }
}

const namedNetworks = ["loopback", "linklocal", "uniquelocal"];

/** A number of proxies, or a list of networks. */
export const Proxies = (meaning: SettingMeaning<string> = {}) =>
  Checked(
    `a whole number from 0 to 10, or a comma-separated list, each an IP address, a network such as 10.0.0.0/8, or one of ${namedNetworks.join(", ")}`,
    (text) => /^(\d|10)$/.test(text) || (!/^\d+$/.test(text) && listed(text).every(isNamedOrNetwork)),
    meaning,
  );

/** Parses such a setting: a number of proxies, or the networks that they are in. */
export const trustedProxies = (text: string): number | string[] => (/^\d+$/.test(text) ? Number(text) : listed(text));

const isNamedOrNetwork = (text: string): boolean => namedNetworks.includes(text) || isNetwork(text);

const listed = (text: string): string[] => text.split(",").map((each) => each.trim());

/** In the forms of node:dns: 192.0.2.1, 192.0.2.1:5353, 2001:db8::1, [2001:db8::1]:5353. */
export const DnsServer = () => Checked("an IP address or IP:port", isDnsServer);

function isDnsServer(text: string): boolean {
  const [, bracketed, plain, port = "53"] =
    /^(?:\[([^\]]+)\]|([^:]+|[^[\]]*:[^[\]]*:[^[\]]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isAddress = bracketed === undefined ? isIP(plain ?? "") !== 0 : isIP(bracketed) === 6;
  return isAddress && Number(port) > 0 && Number(port) <= 65_535;
}

export const Address = () => Checked("an IP address", (text) => isIP(text) !== 0 && !text.includes("%"));

/** An IP address or network, such as 192.0.2.1, 10.0.0.0/8, ::1 or 2001:db8::/32. */
export const Network = () => Checked("an IP address or a network such as 10.0.0.0/8", isNetwork);

function isNetwork(text: string): boolean {
  const [address = "", bits, ...more] = text.split("/");
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const isLength = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest);
  return more.length === 0 && longest > 0 && !address.includes("%") && isLength;
}

/** A verifier key and a URL, with a space between. */
export const Witness = () =>
  Checked(
    "a verifier key of a witness (<name>+<id>+<key>, type 0x04) and its URL http(s)://…, with a space between",
    isWitness,
  );

function isWitness(text: string): boolean {
  const { verifierKey, url } = namedWitness(text);
  if (!/^\S+\s+https?:\/\/[^\s?#]+$/.test(text) || !URL.canParse(url)) return false;
  try {
    return readCosignerKey(verifierKey) !== undefined;
  } catch {
    return false;
  }
}

const keyBytes = 32;

/** A comma-separated list of `kid:base64` entries. */
export const KeyRing = (meaning: SettingMeaning<string> = {}) =>
  Checked(
    `kid:base64,… (each key has ${keyBytes} random bytes, each kid occurs once; openssl rand -base64 ${keyBytes} makes a key)`,
    isKeyRing,
    meaning,
  );

function isKeyRing(text: string): boolean {
  const entries = text.split(",").map((entry) => /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+={0,2})$/.exec(entry.trim()));
  const kids = new Set(entries.map((entry) => entry?.[1]));
  return (
    kids.size === entries.length &&
    entries.every((entry) => entry && Buffer.from(entry[2]!, "base64").length === keyBytes)
  );
}

/** `<point>` or `<point>:n`, of these points. */
export const PointOf = (points: readonly string[], meaning: SettingMeaning<string> = {}) =>
  Checked(
    `<point> or <point>:n, where <point> is one of ${points.join(", ")}`,
    (text) => points.includes(text.replace(/:\d+$/, "")),
    meaning,
  );

/**
 * Returns what a setting of this kind has to be, in words that complete "expected …". They never repeat the value, which may be a
 * password.
 */
export const expectedOf = (kind: TSchema): string => (kind as { expected?: string }).expected ?? "";

/** Converts the text of a setting to the value that its kind checks: parses numbers and lists. */
export function valueIn(text: string, kind: TSchema): unknown {
  if (Type.IsArray(kind)) return text.split(",").map((each) => valueIn(each.trim(), kind.items));
  if (Type.IsTuple(kind)) return text.split(",").map((each) => valueIn(each.trim(), kind.items[0]!));
  // A union with a list consists of that list and of single words.
  if (Type.IsUnion(kind) && text.includes(",")) return text.split(",").map((each) => valueIn(each.trim(), kind));
  const takesNumber = Type.IsInteger(kind) || Type.IsUnion(kind);
  return takesNumber && /^\d+$/.test(text) ? Number(text) : text;
}
