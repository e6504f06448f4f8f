import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { expect } from "chai";
import { readProxyHeader } from "#src/mail/in/smtp/proxyHeader.ts";

const signature = "\r\n\r\n\0\r\nQUIT\n";

/** Makes a header of version 2. */
function binary(
  following: readonly number[],
  {
    command = 0x21,
    family = 0x11,
    length = following.length,
  }: { command?: number; family?: number; length?: number } = {},
): Buffer {
  const fixed = Buffer.from(`${signature}....`, "latin1");
  fixed.set([command, family, length >> 8, length & 0xff], 12);
  return Buffer.concat([fixed, Buffer.from(following)]);
}

const ports = [199, 56, 0, 25];
const overV4 = [203, 0, 113, 7, 192, 0, 2, 1, ...ports];
const v6 = (last: number) => [0x20, 0x01, 0x0d, 0xb8, ...Array(11).fill(0), last];
const overV6 = [...v6(7), ...v6(1), ...ports];

/** Feeds the header in these pieces. Returns the client and the bytes that are left, or the refusal. */
async function read(pieces: readonly Buffer[]): Promise<{ client: string | undefined; rest: string } | string> {
  const socket = new PassThrough();
  const reading = readProxyHeader(socket as unknown as Socket, 60_000).catch((error: Error) => error);
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise(setImmediate);
  }
  socket.end();
  const client = await reading;
  return client instanceof Error ? client.message : { client, rest: String(socket.read() ?? "") };
}

describe("readProxyHeader", () => {
  const headers: [string, Buffer, string | undefined][] = [
    ["version 2 over IPv4", binary(overV4), "203.0.113.7"],
    ["version 2 over IPv6", binary(overV6, { family: 0x21 }), "2001:db8:0:0:0:0:0:7"],
    ["version 2 with more than addresses", binary([...overV4, 4, 0, 3, 1, 2, 3]), "203.0.113.7"],
    ["version 2 of the proxy's own connection", binary(overV4, { command: 0x20 }), undefined],
    ["version 2 of an unknown family", binary([], { family: 0x00 }), undefined],
    ["version 1", Buffer.from("PROXY TCP4 203.0.113.7 192.0.2.1 51000 25\r\n"), "203.0.113.7"],
    ["version 1 of the proxy's own connection", Buffer.from("PROXY UNKNOWN\r\n"), undefined],
  ];
  for (const [what, header, client] of headers) {
    it(`a PROXY header of ${what} is read however it is cut, and what follows it is left`, async () => {
      const all = Buffer.concat([header, Buffer.from("EHLO a\r\n")]);
      expect(await read([all])).to.deep.equal({ client, rest: "EHLO a\r\n" });
      expect(await read([...all].map((byte) => Buffer.from([byte])))).to.deep.equal({ client, rest: "EHLO a\r\n" });
      for (let cut = 1; cut < header.length; cut++) {
        const [head, tail] = [all.subarray(0, cut), all.subarray(cut)];
        expect(await read([head, tail])).to.deep.equal({ client, rest: "EHLO a\r\n" });
        expect(await read([head])).to.equal("the connection ended before its PROXY header");
      }
    });
  }

  it("an invalid PROXY header is refused at once, and a valid one has at most 4 KB", async () => {
    const none = "a PROXY header of version 2 without the addresses of a TCP connection";
    const wrong: [Buffer, string][] = [
      [binary(overV4, { command: 0x11 }), "no PROXY header of version 2"],
      [binary(overV4, { command: 0x31 }), "no PROXY header of version 2"],
      [binary(overV4, { command: 0x22 }), "no PROXY header of version 2"],
      [binary(overV4.slice(0, 11)), none],
      [binary([], { family: 0x11 }), none],
      [binary(overV4, { family: 0x21 }), none],
      // Over UDP, and over a Unix socket.
      [binary(overV4, { family: 0x12 }), none],
      [binary(Array(216).fill(47), { family: 0x31 }), none],
      [binary([], { length: 4_097 }), "the PROXY header is too long"],
      [binary([], { length: 65_535 }), "the PROXY header is too long"],
      [Buffer.from("\r\n\r\n\0\r\nQUIT\r"), "no PROXY line"],
      [Buffer.from("EHLO a\r\n"), "no PROXY line"],
      [Buffer.from("PROXY TCP4 a.example 1.2.3.4 1 2\r\n"), "no PROXY line"],
      [Buffer.from("PROXY TCP4 203.0.113.7 192.0.2.1 51000 25\n"), "no PROXY line"],
      [Buffer.from("x".repeat(108)), "the PROXY line is too long"],
    ];
    for (const [header, refusal] of wrong) expect([header, await read([header])]).to.deep.equal([header, refusal]);
    expect(await read([binary([...overV4, ...Array(4_084).fill(0)])])).to.deep.include({ client: "203.0.113.7" });
  });

  it("a PROXY header that does not arrive in time is refused", async () => {
    const socket = new PassThrough();
    const refusal = await readProxyHeader(socket as unknown as Socket, 5).catch((error: Error) => error.message);
    expect(refusal).to.equal("no PROXY header in time");
    expect(socket.listenerCount("readable") + socket.listenerCount("close")).to.equal(0);
  });
});
