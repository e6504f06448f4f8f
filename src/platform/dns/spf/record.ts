import { isIPv4, isIPv6 } from "node:net";
import { quoted } from "../quoted.ts";

/** A mechanism of an SPF record, in lower case. `value`: its name or address, "" if it has none. `prefixes`: such as "/24//64", or "". */
export type SpfMechanism = {
  qualifier: string;
  name: MechanismName;
  value: string;
  prefixes: string;
};

type MechanismName = "all" | "include" | "a" | "mx" | "ptr" | "ip4" | "ip6" | "exists";

/** `redirect`: the name whose record decides if no mechanism matches. */
export type SpfRecord = { mechanisms: SpfMechanism[]; redirect: string | undefined };

/** Returns those of a name's TXT records that are SPF records (RFC 7208, 4.5). */
export const spfRecordsIn = (texts: readonly string[]): string[] => texts.filter((text) => /^v=spf1( |$)/i.test(text));

/** Maximum number of characters of a record. An answer with a longer one does not fit into UDP, and not all receivers get it by TCP. */
const maxRecordLength = 8_192;
/** Maximum number of characters of a term that is evaluated. Longer names do not exist. */
const maxTermLength = 300;

/** Reads an SPF record. A fault of any term (RFC 7208, 12) makes receivers refuse the whole record; it is returned in words. */
export function readSpfRecord(text: string): SpfRecord | { fault: string } {
  if (text.length > maxRecordLength) return { fault: `an SPF record of ${text.length} characters is too long` };
  const record: SpfRecord = { mechanisms: [], redirect: undefined };
  const once = new Set<string>();
  for (const term of text.toLowerCase().split(" ").slice(1)) {
    const wrong = { fault: `${quoted([term.slice(0, 60)])} is not valid in an SPF record` };
    const [, modifier, value = ""] = /^([a-z][a-z0-9._-]*)=(.*)$/s.exec(term) ?? [];
    if (modifier === "redirect" || modifier === "exp") {
      if (once.has(modifier) || !isDomainSpec(value)) return wrong;
      once.add(modifier);
      if (modifier === "redirect") record.redirect = withoutDot(value);
    } else if (modifier !== undefined) {
      // Other modifiers are ignored, but have to be well formed.
      if (!macroString.test(value)) return wrong;
    } else if (term !== "") {
      const mechanism = term.length <= maxTermLength ? mechanismIn(term) : undefined;
      if (!mechanism) return wrong;
      record.mechanisms.push(mechanism);
    }
  }
  return record;
}

/** Writes a mechanism as it stands in a record. */
export const mechanismText = ({ qualifier, name, value, prefixes }: SpfMechanism): string =>
  `${qualifier === "+" ? "" : qualifier}${name}${value && `:${value}`}${prefixes}`;

type Argument = Pick<SpfMechanism, "value" | "prefixes">;

const none = (rest: string): Argument | undefined => (rest === "" ? { value: "", prefixes: "" } : undefined);

const domain = (rest: string): Argument | undefined =>
  rest.startsWith(":") && isDomainSpec(rest.slice(1)) ? { value: withoutDot(rest.slice(1)), prefixes: "" } : undefined;

function domainAndPrefixes(rest: string): Argument | undefined {
  const [, value, prefixes = "", short = "0", long = "0"] =
    /^(?::(.+?))?((?:\/(\d{1,2}))?(?:\/\/(\d{1,3}))?)$/.exec(rest) ?? [];
  const isSound =
    (value === undefined ? rest === prefixes : isDomainSpec(value)) && isPrefix(short, 32) && isPrefix(long, 128);
  return isSound ? { value: withoutDot(value ?? ""), prefixes } : undefined;
}

const network =
  (isAddress: (text: string) => boolean, longest: number) =>
  (rest: string): Argument | undefined => {
    const [, value = "", prefixes = ""] = /^:([^/]+)((?:\/\d{1,3})?)$/.exec(rest) ?? [];
    return isAddress(value) && isPrefix(prefixes.slice(1) || "0", longest) ? { value, prefixes } : undefined;
  };

const argumentOf: Record<MechanismName, (rest: string) => Argument | undefined> = {
  all: none,
  include: domain,
  a: domainAndPrefixes,
  mx: domainAndPrefixes,
  ptr: (rest) => none(rest) ?? domain(rest),
  ip4: network(isIPv4, 32),
  ip6: network((text) => isIPv6(text) && !text.includes("%"), 128),
  exists: domain,
};

function mechanismIn(term: string): SpfMechanism | undefined {
  const [, qualifier, name = "", rest = ""] = /^([-+~?]?)([a-z0-9]+)(.*)$/s.exec(term) ?? [];
  if (!Object.hasOwn(argumentOf, name)) return undefined;
  const argument = argumentOf[name as MechanismName](rest);
  return argument && { qualifier: qualifier || "+", name: name as MechanismName, ...argument };
}

const isPrefix = (digits: string, longest: number): boolean =>
  /^(0|[1-9]\d*)$/.test(digits) && Number(digits) <= longest;

const withoutDot = (name: string): string => name.replace(/\.$/, "");

/** Text with macros, without blanks. The letters c, r and t are for explanations only. */
const macroString = /^(?:[!-$&-~]|%\{[slodiphcrtv]\d*r?[-.+,/_=]*\}|%[%_-])*$/;
const macroOfExplanation = /%\{[crt]/;
/** The end of a name: a label that is no number, or a macro. */
const nameEnd = /(?:\.(?:[a-z0-9]*[a-z][a-z0-9]*|[a-z0-9]+-[a-z0-9-]*[a-z0-9])\.?|%\{[^}]*\}|%[%_-])$/;

function isDomainSpec(text: string): boolean {
  if (text.length > maxTermLength || !macroString.test(text) || macroOfExplanation.test(text) || !nameEnd.test(text))
    return false;
  // The length of a name with macros is not known yet.
  const labels = text.includes("%") ? [] : withoutDot(text).split(".");
  return labels.join(".").length <= 253 && labels.every((label) => label.length > 0 && label.length <= 63);
}
