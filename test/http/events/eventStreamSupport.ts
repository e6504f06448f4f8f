import { setTimeout as pause } from "node:timers/promises";

export type Frame = { id?: string; event?: string; data?: any; comment?: string; retry?: string };

/** A client of server-sent events that keeps every frame. */
export async function openStream(
  url: string,
  key: string,
  { path = "/v1/events/stream", lastEventId }: { path?: string; lastEventId?: string | undefined } = {},
) {
  const abort = new AbortController();
  const response = await fetch(url + path, {
    headers: { Authorization: `Bearer ${key}`, ...(lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId }) },
    signal: abort.signal,
  });
  const frames: Frame[] = [];
  let ended: "open" | "cleanly" | "cut" = "open";
  const reading = (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body!) {
        const parts = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n");
        rest = parts.pop()!;
        frames.push(...parts.map(parsed));
      }
      ended = "cleanly";
    } catch {
      ended = "cut";
    }
  })();
  return {
    response,
    frames,
    ended: () => ended,
    events: () => frames.filter((frame) => frame.event !== undefined),
    lastId: () => frames.findLast((frame) => frame.id !== undefined)?.id,
    async until(isSo: () => boolean, timeoutMs = 90_000) {
      const deadline = Date.now() + timeoutMs;
      while (!isSo()) {
        if (Date.now() > deadline) throw new Error(`still not so: ${isSo}; frames: ${frames.length}, ${ended}`);
        await pause(5);
      }
    },
    async close() {
      abort.abort();
      await reading;
    },
    over: () => reading,
  };
}

function parsed(text: string): Frame {
  const frame: Frame = {};
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-z]*): ?(.*)$/.exec(line) ?? [];
    if (name === "") frame.comment = value!;
    else if (name === "data") frame.data = JSON.parse(value!);
    else if (name) frame[name as "id" | "event" | "retry"] = value!;
  }
  return frame;
}
