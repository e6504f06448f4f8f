import { html, type Markup } from "./html.ts";

/** `seconds`: for histories, where much happens within one minute. */
type Exactness = { seconds?: boolean };

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Formats an ISO time for people, in UTC: "21 Nov 2026, 14:05 UTC"; with seconds "21 Nov 2026, 14:05:31 UTC". */
export function readableTime(iso: string, { seconds = false }: Exactness = {}): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${time.getUTCDate()} ${months[time.getUTCMonth()]} ${time.getUTCFullYear()}`;
  return `${date}, ${two(time.getUTCHours())}:${two(time.getUTCMinutes())}${seconds ? `:${two(time.getUTCSeconds())}` : ""} UTC`;
}

/** Formats a moment in the reader's own time zone, with UTC on hover. `zone`: an IANA name; an invalid one counts as UTC. */
export const when = (
  { zone }: { zone: string },
  iso: string | null | undefined,
  exactness: Exactness = {},
): Markup | string => {
  if (iso === null || iso === undefined || Number.isNaN(Date.parse(iso))) return "never";
  return html`<time datetime="${new Date(iso).toISOString()}" title="${readableTime(iso, exactness)}">${inZone(iso, zone, exactness)}</time>`;
};

/** Returns a time like `when` does, with seconds. */
export const whenExactly = (reader: { zone: string }, iso: string | null | undefined): Markup | string =>
  when(reader, iso, { seconds: true });

/** Cache by requested name: making a format costs more than using it. */
const formats = new Map<string, Intl.DateTimeFormat>();
/** More than the number of zones; most of them have several spellings. */
const mostFormats = 1_000;

function inZone(iso: string, zone: string, exactness: Exactness): string {
  const format = zone === "UTC" ? undefined : formatOf(zone, exactness);
  return format?.format(new Date(iso)) ?? readableTime(iso, exactness);
}

/** True if this is the name of a time zone. */
export const isZone = (zone: string): boolean => formatOf(zone) !== undefined;

function formatOf(zone: string, { seconds = false }: Exactness = {}): Intl.DateTimeFormat | undefined {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(zone)) return undefined;
  const key = seconds ? `${zone} to the second` : zone;
  const known = formats.get(key);
  if (known) return known;
  const parts = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" } as const;
  const second = seconds ? ({ second: "2-digit" } as const) : {};
  try {
    const format = new Intl.DateTimeFormat("en-GB", { ...parts, ...second, timeZone: zone });
    if (formats.size >= mostFormats) formats.clear();
    formats.set(key, format);
    return format;
  } catch {
    return undefined;
  }
}
