import { isatty } from "node:tty";
import { type DestinationStream, type Logger, pino } from "pino";
import pretty from "pino-pretty";

/**
 * Lines without secrets: what looks like one is blanked in the finished line, in whichever field it is. Bodies of mail are not given to a
 * logger in the first place; fields that would carry one by name are dropped all the same.
 */
export function createLogger(level: string, destination: DestinationStream = logTo(1)): Logger {
  return pino(
    {
      level,
      // Names and times as the usual tools read them: {"level":"info","time":"2026-11-26T22:30:00.000Z",…}.
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      base: { pid: process.pid },
      redact: { paths: sensitive.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: "[removed]" },
      serializers: { err: describeError, error: describeError },
      hooks: { streamWrite: withoutSecrets },
    },
    destination,
  );
}

/** Standard output (1) or standard error (2): for a person on a terminal, as JSON lines everywhere else. */
export const logTo = (fd: 1 | 2): DestinationStream =>
  // Each line takes the place of a progress line.
  isatty(fd) ? readable(fd, { customPrettifiers: { time: (time) => `\r\x1b[K[${time}]` } }) : pino.destination(fd);

/** One line each that a person can read, errors with their stack below it. */
export const readable = (
  destination: number | NodeJS.WritableStream,
  options: pretty.PrettyOptions = {},
): DestinationStream =>
  pretty({ destination, sync: true, singleLine: true, ignore: "pid", translateTime: "SYS:HH:MM:ss", ...options });

const sensitive = [
  "authorization",
  "cookie",
  "password",
  "secret",
  "token",
  "body_text",
  "body_html",
  "text",
  "html",
  "mime",
  "raw",
];

/** An error in what helps to find it. PostgreSQL's `detail` and the like are left out: they quote rows, and rows are mail. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause, code } = error as Error & { code?: string };
  return { type: name, message, code, stack, ...(cause !== undefined && { cause: describeError(cause) }) };
}

/** The line in which a development install shows its first API key, once; there is no other way to learn it. */
const isReadyLine = (line: string): boolean => /"msg":"ready"\}\s*$/.test(line);

const secrets: readonly [pattern: RegExp, shown: string][] = [
  // Passwords in URLs, however long: each stretch up to an @ is looked through once, as a line may repeat what a stranger sent.
  [/(?<![^\s@"])(?=[^\s@"]+@)([^\s@"]*?(?<![a-z+])[a-z+]+:\/\/[^\s:/@"]*:)[^\s@"]+@/g, "$1[removed]@"],
  // The token of an approval page, the secret of a hook's path.
  [/(\/a\/)[A-Za-z0-9_-]{16,}/g, "$1[removed]"],
  [/(\/hooks\/sendgrid\/inbound\/)[^\s/?"]+/g, "$1[removed]"],
  [/(hooks\.slack\.com\/services\/)[^\s"]+/g, "$1[removed]"],
  // Bearer credentials, our keys and webhook secrets; Telegram's, SendGrid's, Stripe's and Slack's.
  [/(Bearer\s+)[^\s"\\]+/gi, "$1[removed]"],
  [/\b(svc_live_|whsec_|sk_live_|sk_test_|rk_live_|SG\.|xox[abprs]-)[A-Za-z0-9._+/=-]{6,}/g, "$1[removed]"],
  [/(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}/g, "[removed]"],
];

function withoutSecrets(line: string): string {
  if (isReadyLine(line)) return line;
  return secrets.reduce((blanked, [pattern, shown]) => blanked.replace(pattern, shown), line);
}
