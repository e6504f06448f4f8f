import type { ServerResponse } from "node:http";
import { type MockFault, type MockSendGrid, problem } from "./mockSendGrid.ts";

/** Moment of the fault: when the connection is accepted, before the whole request arrived, or after. */
export type FaultStage = "connect" | "request" | "answer";

/** `taken`: the mail is accepted nevertheless. */
export type NamedFault = { at: FaultStage; what: string; fault: MockFault };

/** Writes raw bytes, without HTTP encoding. */
const raw = (response: ServerResponse, bytes: string, end = true): true => {
  const socket = response.socket!;
  socket.write(bytes);
  if (end) socket.end();
  return true;
};
const reset = (response: ServerResponse): true => {
  response.socket!.resetAndDestroy();
  return true;
};
const drop = (response: ServerResponse): true => {
  response.socket!.destroy();
  return true;
};

const after = (what: string, does: (response: ServerResponse) => true): NamedFault => ({
  at: "answer",
  what,
  fault: { after: (_call, _answer, response) => does(response) },
});
/** Answers without handling the request. */
const answered = (status: number, what: string, headers: Record<string, string> = {}): NamedFault => ({
  at: "request",
  what,
  fault: {
    before(request, response) {
      request.resume().once("end", () => {
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify(problem(status, what).body));
      });
      return true;
    },
  },
});

const page = "<html><body>Bad gateway</body></html>";
const tenMegabytes = "x".repeat(10_000_000);

/** All faults of the mock. */
export const faults: readonly NamedFault[] = [
  { at: "request", what: "reset", fault: { before: (_, response) => reset(response) } },
  { at: "request", what: "closed", fault: { before: (_, response) => drop(response) } },
  { at: "request", what: "silence", fault: { before: () => true } },
  {
    at: "request",
    what: "202 before the body came",
    fault: { before: (_, response) => raw(response, "HTTP/1.1 202 Accepted\r\n\r\n") },
  },
  answered(400, "400"),
  answered(401, "401"),
  answered(403, "403"),
  answered(404, "404"),
  answered(413, "413"),
  answered(429, "429, reset in 90 s", { "x-ratelimit-reset": "90" }),
  answered(429, "429, no time named"),
  answered(500, "500"),
  answered(503, "503"),
  answered(307, "307 to elsewhere", { location: "http://127.0.0.1:9/" }),
  after("reset", reset),
  after("closed", drop),
  after("silence", () => true),
  after("garbage", (response) => raw(response, "250 queued\r\n")),
  after("half a status line", (response) => raw(response, "HTTP/1.1 20")),
  after("502 with a page", (response) => raw(response, `HTTP/1.1 502 Bad Gateway\r\n\r\n${page}`)),
  after("200 with a page", (response) => raw(response, `HTTP/1.1 200 OK\r\n\r\n${page}`)),
  after("202 with 10 MB", (response) => raw(response, `HTTP/1.1 202 Accepted\r\n\r\n${tenMegabytes}`)),
  after("202, then silence", (response) => raw(response, "HTTP/1.1 202 Accepted\r\ncontent-length: 9\r\n\r\n", false)),
  after("202 without X-Message-Id", (response) => raw(response, "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")),
  after("headers of 1 MB", (response) =>
    raw(response, `HTTP/1.1 202 Accepted\r\nx-a: ${"y".repeat(1_000_000)}\r\n\r\n`),
  ),
];

/** Fails only requests that send mail, this many times. */
export function failSends(
  mock: Pick<MockSendGrid, "setFault">,
  fault: MockFault,
  times = Number.POSITIVE_INFINITY,
): void {
  let left = times;
  const isSend = (url: string | undefined) => url === "/v3/mail/send" && left > 0;
  mock.setFault({
    before(request, response) {
      if (!fault.before || !isSend(request.url)) return false;
      left -= 1;
      return fault.before(request, response);
    },
    after(call, answer, response) {
      if (!fault.after || !isSend(call.path)) return false;
      left -= 1;
      return fault.after(call, answer, response);
    },
  });
}
