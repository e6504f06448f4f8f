import type { Dependencies } from "#src/commands/dependencies.ts";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { idOf } from "#streams/event.ts";
import type { Process } from "./process.ts";

/**
 * Files every received mail into its thread, in order per identity. Never given up: only infrastructure can make it fail, because a mail
 * that cannot be read or filed is quarantined.
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
