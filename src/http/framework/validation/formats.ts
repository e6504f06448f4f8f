import { isUuid } from "#src/commands/ids.ts";

/** String formats: the test for ajv's `format` and the words for error messages. */
export const formats: Record<string, { expected: string; test: (text: string) => boolean }> = {
  uuid: { expected: "a UUID", test: isUuid },
  date: { expected: "a date (YYYY-MM-DD)", test: (text) => isDate(text) },
  "date-time": { expected: "a date and time with a UTC offset (ISO 8601)", test: (text) => isDateTime(text) },
  "date-or-time": {
    expected: "a date (YYYY-MM-DD) or a date and time with a UTC offset (ISO 8601)",
    test: (text) => isDate(text) || isDateTime(text),
  },
  "email-address": { expected: "one plain email address", test: (text) => isAddress(text) },
  "local-part": {
    expected: "lowercase letters, digits and _ + -, with single dots between them",
    test: (text) => /^[a-z0-9_+-]+(\.[a-z0-9_+-]+)*$/.test(text),
  },
  "visible-line": {
    expected: "text without control characters, not blank",
    test: (text) => /\S/.test(text) && !/\p{Cc}/u.test(text),
  },
  "single-line": { expected: "text without line breaks", test: (text) => !/[\r\n]/.test(text) },
};

const date = /^\d{4}-\d{2}-\d{2}$/;
const dateTime = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Compared with the formatted date, because Date reads 31 February as 3 March. */
function isDate(text: string): boolean {
  return date.test(text) && isTime(`${text}T00:00:00Z`) && new Date(text).toISOString().startsWith(text);
}

function isDateTime(text: string): boolean {
  const match = dateTime.exec(text);
  return match !== null && isDate(match[1]!) && isTime(text);
}

/** True if the time is within the years 1 to 9999 UTC, which both PostgreSQL and ISO 8601 can express. */
function isTime(text: string): boolean {
  const at = Date.parse(text);
  return at >= Date.parse("0001-01-01T00:00:00Z") && at <= Date.parse("9999-12-31T23:59:59.999Z");
}

const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const domain = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

/** True for one ASCII addr-spec without anything around it: a comma, a name or a group could make it several recipients. */
function isAddress(text: string): boolean {
  const at = text.lastIndexOf("@");
  const [local, host] = [text.slice(0, at), text.slice(at + 1)];
  return at > 0 && text.length <= 254 && local.length <= 64 && localPart.test(local) && domain.test(host);
}
