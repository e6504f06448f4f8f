import { html, type Markup } from "./html.ts";

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** An ISO time as people read it, in UTC: "21 Nov 2026, 14:05 UTC". */
export function readableTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${time.getUTCDate()} ${months[time.getUTCMonth()]} ${time.getUTCFullYear()}`;
  return `${date}, ${two(time.getUTCHours())}:${two(time.getUTCMinutes())} UTC`;
}

/** A moment in the reader's own time zone, with UTC on hover. `zone`: an IANA name; one that is none counts as UTC. */
export const when = ({ zone }: { zone: string }, iso: string | null | undefined): Markup | string => {
  if (iso === null || iso === undefined || Number.isNaN(Date.parse(iso))) return "never";
  return html`<time datetime="${new Date(iso).toISOString()}" title="${readableTime(iso)}">${inZone(iso, zone)}</time>`;
};

const formats = new Map<string, Intl.DateTimeFormat>();

function inZone(iso: string, zone: string): string {
  if (zone === "UTC" || !isZone(zone)) return readableTime(iso);
  let format = formats.get(zone);
  if (!format) {
    const parts = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" } as const;
    format = new Intl.DateTimeFormat("en-GB", { ...parts, timeZone: zone });
    // Zones are some hundreds; what is made up is none.
    formats.set(zone, format);
  }
  return format.format(new Date(iso));
}

/** Whether this is a time zone's name. */
export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: zone });
    return /^[A-Za-z][\w+/-]{0,63}$/.test(zone);
  } catch {
    return false;
  }
}
