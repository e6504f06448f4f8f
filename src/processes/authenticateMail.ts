import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { authenticateMessage } from "#src/commands/inbound/mailAuthentication.ts";
import { createOwnAddresses } from "#src/commands/inbound/ownAddresses.ts";
import { readFiledMail } from "#src/commands/threads/answeredMail.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { InboundMessage, MessagePlace, ThreadEvent } from "#streams/thread/events.ts";
import type { Process } from "./process.ts";

type FiledByHand = Extract<ThreadEvent, { type: "MessageFiledByHand" }>["data"];

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
export function authenticateMail(deps: Dependencies): Process {
  const isOwnAddress = createOwnAddresses(deps);

  async function authenticate(
    { stream, metadata }: Recorded,
    { received, message }: { received: MessagePlace; message: InboundMessage },
    cause: Cause,
  ): Promise<{ againInMs: number } | undefined> {
    const workspaceId = metadata.workspaceId as string;
    const mail = { workspaceId, threadId: idOf(stream), received, message, isOwnAddress };
    return (await authenticateMessage(deps, mail, cause)) ? undefined : { againInMs: pauseMs };
  }

  return {
    name: "authenticateMail",
    categories: ["thread"],
    keyOf: (event) => idOf(event.stream),
    on: {
      MessageReceived: (event, { cause }) => {
        const received = { threadId: idOf(event.stream), revision: event.revision };
        return authenticate(event, { received, message: event.data as InboundMessage }, cause);
      },
      /** The result is recorded again, as that of the customer's word: email.received follows. */
      MessageFiledByHand: async (event, { cause }) => {
        const { messageId, received } = event.data as FiledByHand;
        const workspaceId = event.metadata.workspaceId as string;
        const mail = await readFiledMail(deps, received, { workspaceId, messageId });
        if (!mail) throw new Error(`message ${messageId} was not found on its thread`);
        return authenticate(event, { received, message: { ...mail, kind: "filed_by_hand" } }, cause);
      },
    },
    concurrency: atOnce,
    givingUp: "never",
  };
}
