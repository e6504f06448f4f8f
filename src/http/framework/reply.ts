import type { Readable } from "node:stream";

type Content = { json: unknown } | { bytes: Buffer } | { stream: Readable };

/** An explicit answer. If a handler returns any other value, that value is sent as JSON with the route's status. */
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

/**
 * Makes an explicit answer of `json`, `bytes` or a `stream`; bytes and streams need a Content-Type among the headers. Default status: the
 * route's.
 */
export function reply(answer: Content & { status?: number; headers?: Record<string, string> }): Reply {
  const { status, headers = {}, ...content } = answer;
  return new Reply(content, status, headers);
}
