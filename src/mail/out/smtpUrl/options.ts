import { isIP } from "node:net";

const options = [
  "requireTLS",
  "ignoreTLS",
  "opportunisticTLS",
  "caFile",
  "certFile",
  "keyFile",
  "servername",
  "minVersion",
  "tls.rejectUnauthorized",
  "name",
  "localAddress",
  "passwordFile",
  "accessUrl",
  "clientId",
  "clientSecret",
  "clientSecretFile",
  "refreshToken",
  "refreshTokenFile",
  "scope",
] as const;
export type Option = (typeof options)[number];
/** The options of the query, as text. */
export type GivenOptions = Partial<Record<Option, string>>;

export const switches = ["requireTLS", "ignoreTLS", "opportunisticTLS", "tls.rejectUnauthorized"] as const;
export const tokenOptions = [
  "clientId",
  "clientSecret",
  "clientSecretFile",
  "refreshToken",
  "refreshTokenFile",
  "scope",
] as const;
const tlsVersions = ["TLSv1.2", "TLSv1.3"] as const;
/** Alternative names; with `tls.` as nodemailer writes them in a URL. */
const otherNames: Record<string, Option> = { "tls.servername": "servername", "tls.minversion": "minVersion" };

export type ParsedSmtpUrl = { url: URL; given: GivenOptions; problems: string[] };

/** Parses the URL and its options, with the faults of each; returns one sentence if it is not a URL. */
export function parsedUrl(text: string): ParsedSmtpUrl | string {
  const shape = "SMTP_URL must be smtp://user:password@host:port or smtps://user:password@host:port.";
  if (!/^smtps?:\/\/./i.test(text)) return shape;
  let url: URL;
  try {
    url = new URL(text);
    for (const part of [url.username, url.password, url.hostname]) decodeURIComponent(part);
  } catch {
    // The error's own message may repeat the password.
    return "SMTP_URL is not a valid URL: percent-encode special characters in the user name and password.";
  }
  if (hostOf(url) === "") return shape;
  const given: GivenOptions = {};
  const problems: string[] = [];
  for (const [key, value] of url.searchParams) {
    const name = nameOf(key);
    if (name === undefined)
      problems.push(`SMTP_URL: there is no option ${shown(key)}. The options are ${options.join(", ")}.`);
    else if (given[name] !== undefined) problems.push(`SMTP_URL: ${name} is given twice.`);
    else given[name] = value;
  }
  for (const [name, value] of Object.entries(given) as [Option, string][]) {
    const expected = expectation(name, value);
    if (expected !== undefined) problems.push(`SMTP_URL: ${name} has to be ${expected}.`);
  }
  return { url, given, problems };
}

const nameOf = (key: string): Option | undefined => {
  const folded = key.toLowerCase();
  return otherNames[folded] ?? options.find((option) => option.toLowerCase() === folded);
};

/** An unknown option's name may be part of a password, so it is shown only if it looks like a name. */
const shown = (key: string): string => (/^[A-Za-z][A-Za-z._-]{0,29}$/.test(key) ? key : "of that name");

/** Returns what the value must be, if it is invalid. */
function expectation(name: Option, value: string): string | undefined {
  if ((switches as readonly string[]).includes(name))
    return /^(?:true|false)$/.test(value) ? undefined : "true or false";
  if (name === "minVersion")
    return (tlsVersions as readonly string[]).includes(value) ? undefined : tlsVersions.join(" or ");
  if (name === "localAddress") return isIP(value) ? undefined : "an IP address";
  return value.trim() === "" ? "a value: it is empty" : undefined;
}

/** Brackets are URL syntax around an IPv6 address, not part of it. */
export const hostOf = (url: URL): string => decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, "$1");
