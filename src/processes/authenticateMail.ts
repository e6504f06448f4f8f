import type { Dependencies } from "#src/commands/dependencies.ts";
import { authenticateMessage } from "#src/commands/inbound/mailAuthentication.ts";
import { idOf } from "#streams/event.ts";
import type { InboundMessage } from "#streams/thread/events.ts";
import type { Process } from "./process.ts";

/** A sender whose DNS does not answer holds a place for 10 s: there have to be more of them than one could fill by the way. */
const atOnce = 256;

/** A large mail for which there is no room yet gives its place back for so long. */
const pauseMs = 1_000;

/**
 * What a mail proves about its sender is found out after its filing, in order per thread, and becomes an event of its own: filing and sending
 * never wait for it. Never given up: what is wrong with a mail is a result, so only infrastructure can be in the way.
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
