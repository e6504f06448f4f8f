import { cutText } from "#streams/cutText.ts";

const maxValue = 300;
/** Maximum number of events described per calendar. */
const maxEvents = 5;
/** Maximum number of UTF-16 units that are read from a calendar. */
const readLength = 256 * 1024;

type Property = { name: string; parameters: string; value: string };

/** Describes an invitation in a few lines: its summary, time and place. "" if it has no event. */
export function textOfCalendar(calendar: string): string {
  const properties = propertiesOf(calendar.slice(0, readLength));
  const method = properties.find(({ name }) => name === "METHOD")?.value.toUpperCase() ?? "";
  return eventsOf(properties)
    .slice(0, maxEvents)
    .map((event) => textOfEvent(event, method))
    .join("\n\n");
}

const titles: Record<string, string> = {
  REPLY: "Answer to an invitation",
  CANCEL: "Cancelled event",
  COUNTER: "Proposal of another time",
};

function textOfEvent(event: readonly Property[], method: string): string {
  const wordsOf = (name: string): string => shown(event.find((property) => property.name === name)?.value ?? "");
  const timeOf = (name: string): string => timeShown(event.find((property) => property.name === name));
  const [start, end] = [timeOf("DTSTART"), timeOf("DTEND")];
  const answer = event.find(({ name }) => name === "ATTENDEE")?.parameters ?? "";
  const [, status = ""] = /;PARTSTAT=([\w-]{1,30})/i.exec(answer) ?? [];
  return [
    `${titles[method] ?? "Invitation"}: ${wordsOf("SUMMARY") || "(no title)"}`,
    start && `When: ${start}${end ? ` to ${end}` : ""}`,
    wordsOf("LOCATION") && `Where: ${wordsOf("LOCATION")}`,
    method === "REPLY" && status && `Answer: ${status.toLowerCase()}`,
    wordsOf("DESCRIPTION"),
  ]
    .filter(Boolean)
    .join("\n");
}

/** Returns the properties of each event, without those of its alarms. */
function eventsOf(properties: readonly Property[]): Property[][] {
  const events: Property[][] = [];
  const inside: string[] = [];
  for (const property of properties) {
    if (property.name === "BEGIN") {
      inside.push(property.value.toUpperCase());
      if (inside.at(-1) === "VEVENT") events.push([]);
    } else if (property.name === "END") inside.pop();
    else if (inside.at(-1) === "VEVENT") events.at(-1)!.push(property);
  }
  return events;
}

/** Splits a calendar into properties. A line that begins with a blank continues the previous one. */
const propertiesOf = (calendar: string): Property[] =>
  calendar
    .replace(/\r?\n[ \t]/g, "")
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, name, parameters = "", value = ""] =
        /^([\w-]{1,60})((?:;[^:;"]{0,200}(?:"[^"]{0,200}")?)*):(.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [{ name: name.toUpperCase(), parameters, value }];
    });

const shown = (value: string): string =>
  cutText(
    value.replace(/\\([\\;,nN])/g, (_, escaped: string) => (escaped.toLowerCase() === "n" ? "\n" : escaped)).trim(),
    maxValue,
  );

/** Formats `20261201T140000Z` as `2026-12-01 14:00 UTC`. A time in words stays unchanged. */
function timeShown(property: Property | undefined): string {
  if (!property) return "";
  const { value, parameters } = property;
  const [, year, month, day, hour, minute, isUtc] =
    /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d{0,2}(Z?))?/.exec(value) ?? [];
  if (year === undefined) return shown(value);
  const [, zone = ""] = /;TZID="?([^";:]{1,80})/i.exec(parameters) ?? [];
  const time = hour === undefined ? "" : ` ${hour}:${minute}`;
  return `${year}-${month}-${day}${time}${isUtc ? " UTC" : zone && time ? ` (${zone})` : ""}`;
}
