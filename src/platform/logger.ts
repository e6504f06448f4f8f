import { isatty } from "node:tty";
import { type DestinationStream, type Logger, pino } from "pino";
import pretty from "pino-pretty";

/**
 * Creates a logger that removes secrets: text that looks like one is replaced in the finished line, in any field. Bodies of mail are never
 * passed to a logger; fields that would contain one by name are dropped all the same.
 */
export function createLogger(level: string, destination: DestinationStream = logTo(1)): Logger {
  return pino(
    {
      level,
      // Level names and times in the form that common tools read: {"level":"info","time":"2026-11-26T22:30:00.000Z",…}.
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

/** Destination on standard output (1) or standard error (2): readable text on a terminal, JSON lines otherwise. */
export const logTo = (fd: 1 | 2): DestinationStream =>
  // The carriage return makes each log line overwrite a progress line.
  isatty(fd) ? readable(fd, { customPrettifiers: { time: (time) => `\r\x1b[K[${time}]` } }) : pino.destination(fd);

/** Destination with one readable line per entry, errors with their stack below. */
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

/**
 * Reduces an error to the fields that help to find its cause. PostgreSQL's `detail` and similar fields are dropped: they quote rows, which
 * contain mail.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause, code } = error as Error & { code?: string };
  return { type: name, message, code, stack, ...(cause !== undefined && { cause: describeError(cause) }) };
}

/** True for the line in which a development installation shows its first API key, once: it is the only place to learn it. */
const isReadyLine = (line: string): boolean => /"msg":"ready"\}\s*$/.test(line);

const secrets: readonly [pattern: RegExp, shown: string][] = [
  // Passwords in URLs, however long. Each stretch up to an @ is scanned once, as a line may repeat text sent by a stranger.
  [/(?<![^\s@"])(?=[^\s@"]+@)([^\s@"]*?(?<![a-z+])[a-z+]+:\/\/[^\s:/@"]*:)[^\s@"]+@/g, "$1[removed]@"],
  // The token of an approval page or a list, the secret of a hook's path.
  [/(\/[al]\/|[?&]list=)[A-Za-z0-9_-]{16,}/g, "$1[removed]"],
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
