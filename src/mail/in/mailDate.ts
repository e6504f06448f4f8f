const months = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
const shape = new RegExp(
  `(\\d{1,2})\\s+(${months})[a-z]{0,6}\\s+(\\d{2,4})\\s+(\\d{1,2}:\\d{2}(?::\\d{2})?)\\s*([+-]\\d{4}|[ecmp][sd]t)?`,
  "i",
);

/** A Date header as ISO 8601 in UTC; null if it is none. One without a zone is taken for UTC, wherever this runs. */
export function parseMailDate(value: string): string | null {
  const match = shape.exec(value.slice(0, 200));
  if (!match) return null;
  const [, day, month, year, time, zone = "GMT"] = match;
  const date = new Date(`${day} ${month} ${fullYear(Number(year))} ${time} ${zone}`);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** RFC 5322, 4.3: two digits below 50 are of this century, three count from 1900. */
function fullYear(year: number): number {
  if (year < 50) return 2000 + year;
  return year < 1000 ? 1900 + year : year;
}
