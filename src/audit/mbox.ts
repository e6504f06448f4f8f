/** The beginning of a line that a mailbox would take for the beginning of a mail. `^` would also match after a carriage return. */
const fromLine = /(?<![^\n])(>*From )/g;

/** Returns a mail as part of a mailbox in the form mboxrd: its own lines that begin with "From " are quoted, so that it can be restored. */
export function mboxOf(mail: Buffer, receivedAt: string): Buffer {
  // Each byte is one character, so that every mail comes out as it came in.
  const text = mail.toString("latin1");
  const end = text.endsWith("\n") ? "\n" : "\n\n";
  return Buffer.from(`From MAILER-DAEMON ${asctime(receivedAt)}\n${text.replace(fromLine, ">$1")}${end}`, "latin1");
}

/** Formats an ISO time as C's asctime does, in UTC: "Sat Nov 28 14:05:31 2026". */
function asctime(iso: string): string {
  const [day, date, month, year, time] = new Date(iso).toUTCString().replace(",", "").split(" ");
  return `${day} ${month} ${date} ${time} ${year}`;
}
