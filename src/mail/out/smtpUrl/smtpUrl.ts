import { isIP } from "node:net";
import type { SMTPConnectionOptions } from "nodemailer/lib/smtp-connection";
import { fileProblems, fromFile, tlsOf } from "./files.ts";
import { type GivenOptions, hostOf, type ParsedSmtpUrl, parsedUrl, type switches, tokenOptions } from "./options.ts";

/** OAuth2 credentials for a relay: a refresh token buys access tokens at `accessUrl`. */
export type SmtpOAuth = {
  user: string;
  clientId: string;
  accessUrl: string;
  scope: string | undefined;
  /** Read again for each access token: a replaced file needs no restart. Throws the faults of SMTP_URL, without its secrets. */
  secrets(): { clientSecret: string; refreshToken: string };
};

/** The settings in SMTP_URL. */
export type SmtpRelaySettings = {
  /** Options for one connection; the files that the URL names are read again. Throws their faults, without their content. */
  connection(): SMTPConnectionOptions;
  /** Read again too; undefined without authentication, or with OAuth2. */
  password(): { user: string; pass: string } | undefined;
  oauth: SmtpOAuth | undefined;
};

/**
 * Parses SMTP_URL: `smtp://user:password@host:port` (STARTTLS if offered) or `smtps://…`, with options as its query. Throws an Error
 * whose message lists every fault, with no password, token or key in it. A password or token is sent to another machine only over TLS,
 * unless `ignoreTLS=true` or `requireTLS=false` allows it.
 */
export function readSmtpUrl(text: string): SmtpRelaySettings {
  const problems = problemsOfSmtpUrl(text);
  if (problems.length > 0) throw new Error(problems.join(" "));
  const { url, given } = parsedUrl(text) as ParsedSmtpUrl;
  const host = hostOf(url);
  const user = decodeURIComponent(url.username);
  const oauth = oauthOf(user, given);
  const isOn = (name: (typeof switches)[number]) => given[name] === "true";
  const signsIn = user !== "" && !isLoopback(host);
  const requireTLS = given.requireTLS === undefined ? signsIn && !isOn("ignoreTLS") : isOn("requireTLS");
  return {
    oauth,
    password: () => (user === "" || oauth ? undefined : { user, pass: passwordOf(url, given) }),
    connection: () => ({
      host,
      ...(url.port !== "" && { port: Number(url.port) }),
      secure: url.protocol === "smtps:",
      requireTLS,
      ignoreTLS: isOn("ignoreTLS"),
      opportunisticTLS: isOn("opportunisticTLS"),
      ...(given.name !== undefined && { name: given.name }),
      ...(given.localAddress !== undefined && { localAddress: given.localAddress }),
      tls: tlsOf(given),
    }),
  };
}

/** Lists every fault of SMTP_URL, one sentence each; checks the files it names too. */
export function problemsOfSmtpUrl(text: string): string[] {
  const found = parsedUrl(text);
  if (typeof found === "string") return [found];
  const { url, given, problems } = found;
  const user = url.username;
  const on = (name: (typeof switches)[number]) => given[name] === "true";
  const tokens = tokenOptions.filter((name) => given[name] !== undefined);
  const rules: [broken: boolean, sentence: string][] = [
    [
      on("requireTLS") && (on("ignoreTLS") || on("opportunisticTLS")),
      "requireTLS excludes ignoreTLS and opportunisticTLS: choose one.",
    ],
    [
      on("ignoreTLS") && url.protocol === "smtps:",
      "ignoreTLS contradicts smtps://, which is TLS from the first byte: choose one.",
    ],
    [
      (given.certFile === undefined) !== (given.keyFile === undefined),
      "certFile and keyFile belong together: give both, or neither.",
    ],
    [given.certFile !== undefined && on("ignoreTLS"), "certFile needs TLS: remove ignoreTLS."],
    [user === "" && url.password !== "", "there is a password, but no user name."],
    [
      user === "" && given.passwordFile !== undefined,
      "passwordFile needs a user name: smtp://user@host:port?passwordFile=…",
    ],
    [
      url.password !== "" && given.passwordFile !== undefined,
      "the password is given twice: remove it from the URL, or remove passwordFile.",
    ],
    [
      user !== "" &&
        url.password === "" &&
        given.passwordFile === undefined &&
        given.accessUrl === undefined &&
        tokens.length === 0,
      "there is a user name, but no password: add one, passwordFile, or accessUrl and its options for OAuth2.",
    ],
    ...oauthRules(given, { user, hasPassword: url.password !== "" || given.passwordFile !== undefined }),
  ];
  const broken = rules.filter(([isBroken]) => isBroken).map(([, sentence]) => `SMTP_URL: ${sentence}`);
  return [...problems, ...broken, ...fileProblems(given)];
}

function oauthRules(given: GivenOptions, { user, hasPassword }: { user: string; hasPassword: boolean }) {
  const { accessUrl } = given;
  const wanted = accessUrl !== undefined;
  const others = tokenOptions.filter((name) => given[name] !== undefined);
  const rules: [broken: boolean, sentence: string][] = [
    [
      !wanted && others.length > 0,
      `${others.join(", ")}: OAuth2 also needs accessUrl, the URL that issues access tokens.`,
    ],
    [
      wanted && !isSafeUrl(accessUrl),
      "accessUrl has to be a URL https://… (http:// only for this machine), without user and password.",
    ],
    [wanted && user === "", "OAuth2 needs a user name: smtp://user@host:port?accessUrl=…"],
    [wanted && hasPassword, "a password and OAuth2 (accessUrl) exclude each other: remove one of them."],
    [wanted && given.clientId === undefined, "OAuth2 (accessUrl) needs clientId."],
  ];
  for (const name of ["clientSecret", "refreshToken"] as const) {
    const [direct, file] = [given[name] !== undefined, given[`${name}File`] !== undefined];
    rules.push([direct && file, `${name} is given twice: remove ${name} or ${name}File.`]);
    rules.push([
      wanted && !direct && !file,
      `OAuth2 (accessUrl) needs ${name}, or ${name}File with the path of a file that holds it.`,
    ]);
  }
  return rules;
}

const passwordOf = (url: URL, given: GivenOptions): string =>
  given.passwordFile === undefined ? decodeURIComponent(url.password) : fromFile("passwordFile", given);

function oauthOf(user: string, given: GivenOptions): SmtpOAuth | undefined {
  if (given.accessUrl === undefined) return undefined;
  const secret = (name: "clientSecret" | "refreshToken"): string => given[name] ?? fromFile(`${name}File`, given);
  return {
    user,
    clientId: given.clientId as string,
    accessUrl: given.accessUrl,
    scope: given.scope,
    secrets: () => ({ clientSecret: secret("clientSecret"), refreshToken: secret("refreshToken") }),
  };
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

/** True if secrets may be sent to this URL: it uses TLS, or names the same machine. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const isOwn = url.protocol === "http:" && isLoopback(hostOf(url));
  return (url.protocol === "https:" || isOwn) && url.username === "" && url.password === "";
}
