import { createHeldBytes } from "./smtp/heldBytes.ts";

/** Reason for refusing a mail: the mail is too large, all mails together hold too many bytes, or the mails of its holder do. */
type BodyRefusal = "too_large" | "no_room" | "no_room_for_holder";

/** A mail read up to its final dot, or the reason why it was discarded. */
export type ReceivedBody = { raw: Buffer } | { refused: BodyRefusal };

export type MessageLimits = {
  maxBytes: number;
  /** Maximum number of bytes that all messages being read or stored may hold together. */
  maxBufferedBytes: number;
  /** Maximum number of bytes that the messages of one holder may hold together. */
  maxBytesOfHolder: number;
};

export type MessageReader = {
  /**
   * Reads to the end, keeping nothing once the message is refused. Rejects if the stream breaks off. Calls `onFlood` if the sender
   * continues far beyond the limit. `holder`: the name under which the message's bytes are counted; without a holder only the total limit
   * applies.
   */
  read(
    stream: AsyncIterable<Buffer>,
    { holder, onFlood }: { holder: string | undefined; onFlood: () => void },
  ): Promise<ReceivedBody>;
  /** Releases the bytes that a message holds. */
  release(body: ReceivedBody): void;
};

const firstBytes = 16 * 1024;

/** Reads messages into memory, within the limits per message, per holder and in total. */
export function createMessageReader({ maxBytes, maxBufferedBytes, maxBytesOfHolder }: MessageLimits): MessageReader {
  const heldBytes = createHeldBytes({ inAll: maxBufferedBytes, ofHolder: maxBytesOfHolder });
  const held = new Map<ReceivedBody, { holder: string | undefined; bytes: number }>();

  async function read(
    stream: AsyncIterable<Buffer>,
    { holder, onFlood }: { holder: string | undefined; onFlood: () => void },
  ): Promise<ReceivedBody> {
    let buffer = Buffer.allocUnsafe(0);
    let size = 0;
    let refused: BodyRefusal | undefined;

    function refuse(reason: BodyRefusal): void {
      refused = reason;
      heldBytes.giveBack(holder, buffer.length);
      buffer = Buffer.allocUnsafe(0);
    }

    // Grows the one buffer: a list of chunks of a few bytes each would use many times their size.
    function grow(needed: number): boolean {
      const capacity = Math.min(maxBytes, Math.max(firstBytes, needed, buffer.length * 2));
      const taken = heldBytes.take(holder, capacity - buffer.length);
      if (taken !== "taken") {
        refuse(taken);
        return false;
      }
      const larger = Buffer.allocUnsafeSlow(capacity);
      buffer.copy(larger);
      buffer = larger;
      return true;
    }

    try {
      for await (const chunk of stream) {
        size += chunk.length;
        if (size > 2 * maxBytes) onFlood();
        if (refused) continue;
        if (size > maxBytes) refuse("too_large");
        else if (size <= buffer.length || grow(size)) chunk.copy(buffer, size - chunk.length);
      }
    } catch (error) {
      heldBytes.giveBack(holder, buffer.length);
      throw error;
    }
    const body: ReceivedBody = refused ? { refused } : { raw: buffer.subarray(0, size) };
    held.set(body, { holder, bytes: buffer.length });
    return body;
  }

  return {
    read,
    release(body) {
      const { holder, bytes } = held.get(body) ?? { holder: undefined, bytes: 0 };
      held.delete(body);
      heldBytes.giveBack(holder, bytes);
    },
  };
}
