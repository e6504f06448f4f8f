import { shortLine, visibleLine } from "#src/html/visible.ts";

/** Quotes a name within our own sentence, in quotation marks that it cannot close. `max`: its characters. */
export const named = (name: string, max = 100): string => `“${shortLine(name, max).replace(/["“”„‟«»＂]/g, "'")}”`;

/** Names the author of a message within a sentence; the address is never cut, because its end identifies it. */
export const writerOf = ({ fromName, fromEmail }: { fromName: string | null; fromEmail: string }): string =>
  fromName ? `${named(fromName)} (${visibleLine(fromEmail)})` : visibleLine(fromEmail);
