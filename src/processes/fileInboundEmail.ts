import type { Dependencies } from "#src/commands/dependencies.ts";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { idOf } from "#streams/event.ts";
import type { Process } from "./process.ts";

/**
 * Every mail received is filed into its thread, in order per identity. Never given up: only infrastructure can be in the way. A mail that is in
 * its own way is quarantined.
 */
export const fileInboundEmail = (deps: Dependencies): Process => ({
  name: "fileInboundEmail",
  categories: ["inbox"],
  keyOf: (event) => idOf(event.stream),
  looksAt: "key",
  on: {
    MailReceived: (event, { cause }) => fileInbox(deps, idOf(event.stream), cause),
  },
  givingUp: "never",
});
