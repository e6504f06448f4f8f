import { expect } from "chai";
import { textOfCalendar } from "#src/mail/in/text/calendar.ts";

const calendar = (...lines: string[]): string => ["BEGIN:VCALENDAR", ...lines, "END:VCALENDAR"].join("\r\n");
const event = (...lines: string[]): string => ["BEGIN:VEVENT", ...lines, "END:VEVENT"].join("\r\n");

const fair = ["SUMMARY:Fair", "DTSTART:20261201T140000Z", "DTEND:20261201T150000Z"];
const when = "When: 2026-12-01 14:00 UTC to 2026-12-01 15:00 UTC";

describe("textOfCalendar", () => {
  const calendars: Record<string, [calendar: string, text: string]> = {
    "an event in UTC": [calendar("METHOD:REQUEST", event(...fair)), `Invitation: Fair\n${when}`],
    "a cancelled event": [calendar("METHOD:CANCEL", event(...fair)), `Cancelled event: Fair\n${when}`],
    "another time": [calendar("METHOD:COUNTER", event(...fair)), `Proposal of another time: Fair\n${when}`],
    "an answer": [
      calendar(
        "METHOD:REPLY",
        event(...fair, 'ATTENDEE;CN="Lund: Ada; of Lamps";PARTSTAT=DECLINED:mailto:ada@x.example'),
      ),
      `Answer to an invitation: Fair\n${when}\nAnswer: declined`,
    ],
    "days without times": [
      calendar(event("SUMMARY:Fair", "DTSTART;VALUE=DATE:20261201", "DTEND;VALUE=DATE:20261203")),
      "Invitation: Fair\nWhen: 2026-12-01 to 2026-12-03",
    ],
    "a time zone with its own days": [
      calendar(
        "BEGIN:VTIMEZONE\r\nTZID:W. Europe Standard Time\r\nBEGIN:STANDARD\r\nDTSTART:16010101T030000\r\nEND:STANDARD\r\nEND:VTIMEZONE",
        event("SUMMARY:Fair", 'DTSTART;TZID="W. Europe Standard Time":20261201T140000'),
      ),
      "Invitation: Fair\nWhen: 2026-12-01 14:00 (W. Europe Standard Time)",
    ],
    "an alarm with words": [
      calendar(event("BEGIN:VALARM", "DESCRIPTION:Reminder", "END:VALARM", "SUMMARY:Fair", "DESCRIPTION:Come early")),
      "Invitation: Fair\nCome early",
    ],
    "escaped signs and folded lines": [
      calendar(event("SUMMARY;LANGUAGE=en:Lamps\\, new\\; o\r\n ld", "LOCATION:Room\r\n\t 5", "DESCRIPTION:a\\nb")),
      "Invitation: Lamps, new; old\nWhere: Room 5\na\nb",
    ],
    "lower case and bare line feeds": [
      "begin:vcalendar\nbegin:vevent\nsummary:Fair\ndtstart:20261201T1400\nend:vevent\nend:vcalendar\n",
      "Invitation: Fair\nWhen: 2026-12-01 14:00",
    ],
    "no summary, and a time in words": [
      calendar(event("DTSTART:next Tuesday")),
      "Invitation: (no title)\nWhen: next Tuesday",
    ],
    "two events": [
      calendar(event("SUMMARY:First"), event("SUMMARY:Second")),
      "Invitation: First\n\nInvitation: Second",
    ],
    "a task and no event": [calendar("BEGIN:VTODO", "SUMMARY:Buy lamps", "END:VTODO"), ""],
    "no calendar": ["Hello", ""],
  };
  for (const [what, [given, text]] of Object.entries(calendars)) {
    it(`textOfCalendar describes ${what}`, () => expect(textOfCalendar(given)).to.equal(text));
  }

  it("textOfCalendar takes time proportional to the length", () => {
    for (const piece of ["BEGIN:VEVENT\n", "a;b\n", 'a;"', ";a=b", "END:X\n", "\n ", "SUMMARY:\\n"]) {
      const began = process.cpuUsage();
      textOfCalendar(`BEGIN:VEVENT\n${piece.repeat(1_000_000 / piece.length)}`);
      expect(process.cpuUsage(began).user / 1_000, JSON.stringify(piece)).to.be.below(3_000);
    }
  });
});
