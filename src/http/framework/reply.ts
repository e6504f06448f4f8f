import type { Readable } from "node:stream";

type Content = { json: unknown } | { bytes: Buffer } | { stream: Readable };

/** An answer as it goes out. A handler that returns anything else means: this value as JSON, with the route's status. */
export class Reply {
  readonly status: number | undefined;
  readonly headers: Record<string, string>;
  readonly content: Content;
  constructor(content: Content, status: number | undefined, headers: Record<string, string>) {
    this.content = content;
    this.status = status;
    this.headers = headers;
  }
}

/** An explicit answer: `json`, or `bytes` or a `stream` with their own Content-Type among the headers. The status is the route's unless given. */
export function reply(answer: Content & { status?: number; headers?: Record<string, string> }): Reply {
  const { status, headers = {}, ...content } = answer;
  return new Reply(content, status, headers);
}
