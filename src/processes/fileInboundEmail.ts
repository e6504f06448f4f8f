import type { Dependencies } from "#src/commands/dependencies.ts";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { idOf } from "#streams/event.ts";
import type { Process } from "./process.ts";

/**
 * Files every received mail into its thread, in order per identity. Retried for ever: a mail that cannot be read or filed is quarantined,
 * so only a failure of the infrastructure can make this process fail.
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
