import type { Dependencies } from "#src/commands/dependencies.ts";
import { authenticateMessage } from "#src/commands/inbound/mailAuthentication.ts";
import { idOf } from "#streams/event.ts";
import type { InboundMessage } from "#streams/thread/events.ts";
import type { Process } from "./process.ts";

/**
 * Mails checked at once. A sender whose DNS does not answer occupies one check for 10 s, so one sender
 * must not be able to fill them all casually.
 */
const atOnce = 256;

/** Milliseconds after which a large mail is tried again that found no room in memory; it occupies no check meanwhile. */
const pauseMs = 1_000;

/**
 * Checks SPF, DKIM and DMARC of a mail after its filing, in order per thread, and records the result as its own event: filing and sending
 * never wait for it. Never given up: a faulty mail is a result too, so only infrastructure can make this fail.
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
