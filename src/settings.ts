import { isIP } from "node:net";

/** Settings come as text. A parser answers the value, or throws Expected with what should have stood there. */
export class Expected extends Error {}

export type Parser<T> = (text: string) => T;

export const text: Parser<string> = (value) => value;

export const integer =
  (from: number, to: number): Parser<number> =>
  (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < from || number > to)
      throw new Expected(`a whole number from ${from} to ${to}`);
    return number;
  };

export const oneOf =
  <const Choice extends string>(...choices: readonly Choice[]): Parser<Choice> =>
  (value) => {
    const choice = choices.find((each) => each === value);
    if (!choice) throw new Expected(choices.join(", ").replace(/, (?=[^,]*$)/, " or "));
    return choice;
  };

/** At least one, comma separated. */
export const listOf =
  <T>(item: Parser<T>): Parser<T[]> =>
  (value) => {
    try {
      return value.split(",").map((each) => item(each.trim()));
    } catch (error) {
      throw error instanceof Expected ? new Expected(`a comma separated list, each ${error.message}`) : error;
    }
  };

/** A URL of one of these schemes; `what` says it to a person, since the value itself may hold a password. */
export const url =
  (...schemes: readonly string[]): Parser<string> =>
  (value) => {
    const scheme = /^([a-z+]+):\/\/[^/?#]/.exec(value)?.[1];
    if (!scheme || !schemes.includes(scheme) || !URL.canParse(value))
      throw new Expected(`a URL ${schemes.map((each) => `${each}://…`).join(" or ")}`);
    return value;
  };

/** An http or https URL without a trailing slash. */
export const httpUrl: Parser<string> = (value) => url("http", "https")(value).replace(/\/+$/, "");

export const domainName: Parser<string> = (value) => {
  if (!/^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(value))
    throw new Expected("a domain name");
  return value.toLowerCase();
};

export const hostName: Parser<string> = (value) => {
  if (!/^[A-Za-z0-9.:_-]+$/.test(value)) throw new Expected("a host name or an IP address");
  return value;
};

/** As node:dns takes them: 192.0.2.1, 192.0.2.1:5353, 2001:db8::1, [2001:db8::1]:5353. */
export const dnsServer: Parser<string> = (value) => {
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]+)\]|([^:]+|[^[\]]*:[^[\]]*:[^[\]]*))(?::(\d{1,5}))?$/.exec(value) ?? [];
  const sound = bracketed === undefined ? isIP(plain ?? "") !== 0 : isIP(bracketed) === 6;
  if (!sound || Number(port ?? 53) > 65_535 || Number(port ?? 53) === 0) throw new Expected("an IP address or IP:port");
  return value;
};

export const mailAddress: Parser<string> = (value) => {
  if (!/^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/.test(value)) throw new Expected("one plain mail address");
  return value;
};

/** Requests a minute; "off" is no limit. */
export const rate: Parser<number | "off"> = (value) => {
  if (value === "off") return "off";
  try {
    return integer(1, 1_000_000)(value);
  } catch {
    throw new Expected("a number of requests a minute, or off");
  }
};

const keyBytes = 32;

/** `kid:base64` entries, comma separated. Never repeats what it was given. */
export const keyRing: Parser<string> = (value) => {
  const entries = value
    .split(",")
    .map((entry) => /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+={0,2})$/.exec(entry.trim()));
  const kids = new Set(entries.map((entry) => entry?.[1]));
  const sound = entries.every((entry) => entry && Buffer.from(entry[2]!, "base64").length === keyBytes);
  if (!sound || kids.size !== entries.length)
    throw new Expected(
      `kid:base64,… (each ${keyBytes} random bytes, every kid once; openssl rand -base64 ${keyBytes} makes one)`,
    );
  return value;
};

/** Reads settings from an environment, collecting everything that is wrong instead of stopping at the first. */
export type Reader = {
  /** The value, or `fallback` where it is not set. An empty one counts as not set: compose files hand on empty ones. */
  read<T, F>(name: string, parse: Parser<T>, fallback: F): T | F;
  /** Whether a setting was given at all. */
  given(name: string): boolean;
  /** Something that is wrong with a setting beyond its own text. */
  wrong(sentence: string): void;
  problems: readonly string[];
};

export function createReader(environment: Record<string, string | undefined>): Reader {
  const problems: string[] = [];
  return {
    problems,
    wrong: (sentence) => void problems.push(sentence),
    given: (name) => Boolean(environment[name]?.trim()),
    read(name, parse, fallback) {
      const value = environment[name]?.trim();
      if (!value) return fallback;
      try {
        return parse(value);
      } catch (error) {
        if (!(error instanceof Expected)) throw error;
        problems.push(`${name} is wrong: expected ${error.message}.`);
        return fallback;
      }
    },
  };
}
