import type { Dependencies } from "#src/commands/dependencies.ts";
import { authenticateMessage } from "#src/commands/inbound/mailAuthentication.ts";
import { idOf } from "#streams/event.ts";
import type { InboundMessage } from "#streams/thread/events.ts";
import type { Process } from "./process.ts";

/**
 * Maximum number of mails checked concurrently. A sender whose DNS does not answer occupies one check for 10 s; the number is so high that
 * one sender cannot easily occupy all.
 */
const atOnce = 256;

/** Milliseconds until a large mail that found no room in memory is tried again. No check is occupied in that time. */
const pauseMs = 1_000;

/**
 * Checks SPF, DKIM and DMARC of a mail after its filing, in order per thread, and records the result as a separate event, so that filing
 * and sending never wait for it. Retried for ever: a faulty mail also has a result, so only a failure of the infrastructure can make this
 * process fail.
 */
export const authenticateMail = (deps: Dependencies): Process => ({
  name: "authenticateMail",
  categories: ["thread"],
  keyOf: (event) => idOf(event.stream),
  on: {
    MessageReceived: async (event, { cause }) => {
      const workspaceId = event.metadata.workspaceId as string;
      const message = event.data as InboundMessage;
      const received = { threadId: idOf(event.stream), revision: event.revision };
      const isDone = await authenticateMessage(deps, { workspaceId, received, message }, cause);
      return isDone ? undefined : { againInMs: pauseMs };
    },
  },
  concurrency: atOnce,
  givingUp: "never",
});
