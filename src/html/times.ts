const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** An ISO time as people read it, in UTC: "21 Nov 2026, 14:05 UTC". */
export function readableTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${time.getUTCDate()} ${months[time.getUTCMonth()]} ${time.getUTCFullYear()}`;
  return `${date}, ${two(time.getUTCHours())}:${two(time.getUTCMinutes())} UTC`;
}
