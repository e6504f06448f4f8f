const months = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
const shape = new RegExp(
  `(\\d{1,2})\\s+(${months})[a-z]{0,6}\\s+(\\d{2,4})\\s+(\\d{1,2}:\\d{2}(?::\\d{2})?)\\s*([+-]\\d{4}|[ecmp][sd]t)?`,
  "i",
);

/** Parses a Date header to ISO 8601 in UTC; null if invalid. A date without a zone is read as UTC. */
export function parseMailDate(value: string): string | null {
  const match = shape.exec(value.slice(0, 200));
  if (!match) return null;
  const [, day, month, year, time, zone = "GMT"] = match;
  const date = new Date(`${day} ${month} ${fullYear(Number(year))} ${time} ${zone}`);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** Completes a short year (RFC 5322, 4.3): two digits below 50 are 20xx, three digits count from 1900. */
function fullYear(year: number): number {
  if (year < 50) return 2000 + year;
  return year < 1000 ? 1900 + year : year;
}
