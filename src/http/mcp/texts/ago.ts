import { readableTime } from "#src/html/times.ts";

const units = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** A time with its distance from now: "2 hours ago (21 Nov 2026, 14:05 UTC)". Null and undefined: "never". */
export function ago(iso: string | null | undefined, now: Date): string {
  if (iso === null || iso === undefined) return "never";
  return `${distance(iso, now)} (${readableTime(iso)})`;
}

function distance(iso: string, now: Date): string {
  const seconds = Math.round((now.getTime() - Date.parse(iso)) / 1000);
  const unit = units.find(([, length]) => Math.abs(seconds) >= length);
  if (!unit) return seconds < -5 ? "in less than a minute" : "just now";
  const count = Math.floor(Math.abs(seconds) / unit[1]);
  const words = `${count} ${unit[0]}${count === 1 ? "" : "s"}`;
  return seconds > 0 ? `${words} ago` : `in ${words}`;
}
