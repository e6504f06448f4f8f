import type { ParsedMail } from "#src/mail/in/parse.ts";
import type { Recorded } from "#streams/event.ts";
import type { InboxEvent } from "#streams/inbox/events.ts";

/** A received mail with what could be read of it. */
export type ReadMail = { event: Recorded<InboxEvent>; parsed: ParsedMail };
