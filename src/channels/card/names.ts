import { shortLine, visibleLine } from "#src/html/visible.ts";

/** A name within a sentence of ours, in quotes that it cannot end: it reads as a name, whatever it says. */
export const named = (name: string): string => `“${shortLine(name, 100).replace(/["“”„‟«»＂]/g, "'")}”`;

/** Who wrote a message, within a sentence; the address is never cut, its end is what matters. */
export const writerOf = ({ fromName, fromEmail }: { fromName: string | null; fromEmail: string }): string =>
  fromName ? `${named(fromName)} (${visibleLine(fromEmail)})` : visibleLine(fromEmail);
