/** A mail read to its final dot, or why it was thrown away meanwhile. */
export type MessageBody = { raw: Buffer } | { refused: "too_large" | "no_room" };

export type MessageLimits = {
  maxBytes: number;
  /** What all messages being read or stored may hold together. */
  maxBufferedBytes: number;
};

export type MessageReader = {
  /**
   * Reads to the end, keeping nothing once the message is refused. Rejects if the stream breaks off. Calls `onFlood` if the
   * sender goes on far beyond the limit.
   */
  read(stream: AsyncIterable<Buffer>, onFlood: () => void): Promise<MessageBody>;
  /** Gives back what a message that was read holds. */
  release(body: MessageBody): void;
};

const firstBytes = 16 * 1024;

/** Reads messages into memory, never more than the limits of one and of all together. */
export function createMessageReader({ maxBytes, maxBufferedBytes }: MessageLimits): MessageReader {
  const held = new Map<MessageBody, number>();
  let buffered = 0;

  async function read(stream: AsyncIterable<Buffer>, onFlood: () => void): Promise<MessageBody> {
    let buffer = Buffer.allocUnsafe(0);
    let size = 0;
    let refused: "too_large" | "no_room" | undefined;

    function refuse(reason: "too_large" | "no_room"): void {
      refused = reason;
      buffered -= buffer.length;
      buffer = Buffer.allocUnsafe(0);
    }

    // One growing buffer: a list of chunks of a few bytes each would weigh many times what they hold.
    function grow(needed: number): boolean {
      const capacity = Math.min(maxBytes, Math.max(firstBytes, needed, buffer.length * 2));
      if (buffered + capacity - buffer.length > maxBufferedBytes) return false;
      buffered += capacity - buffer.length;
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
        else if (size > buffer.length && !grow(size)) refuse("no_room");
        else chunk.copy(buffer, size - chunk.length);
      }
    } catch (error) {
      buffered -= buffer.length;
      throw error;
    }
    const body: MessageBody = refused ? { refused } : { raw: buffer.subarray(0, size) };
    held.set(body, buffer.length);
    return body;
  }

  return {
    read,
    release(body) {
      buffered -= held.get(body) ?? 0;
      held.delete(body);
    },
  };
}
