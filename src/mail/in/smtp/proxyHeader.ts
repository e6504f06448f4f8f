import { isIP, type Socket } from "node:net";

/** The client's address from a PROXY header; undefined if the proxy speaks for itself (a health check). */
type ProxiedClient = string | undefined;

/**
 * Result of parsing the bytes so far; parsing throws if they begin no header. `length`: bytes of the header, to be consumed from the
 * stream.
 */
type HeaderProgress = { client: ProxiedClient; length: number } | "needs more";

/** Maximum number of bytes of a version 1 line, including its line end. */
const longestLine = 107;
/** First bytes of version 2, which no line protocol can begin with. */
const signature = Buffer.from("0d0a0d0a000d0a515549540a", "hex");
/** Bytes of signature, version and command, family, and length. */
const fixedLength = 16;
/** Maximum number of bytes after the fixed part: addresses take 36; other fields of a proxy (names, certificate owners) are skipped. */
const mostFollowing = 4_096;

/**
 * Reads the PROXY protocol header at the start of a connection, a line (version 1) or binary (version 2), and leaves the following bytes
 * in the socket. Resolves with the client's address; undefined if the proxy speaks for itself. Rejects on anything else, or on a timeout.
 */
export function readProxyHeader(socket: Socket, patienceMs: number): Promise<ProxiedClient> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    function settle(answer: () => void): void {
      clearTimeout(timer);
      socket.off("readable", read).off("end", breakOff).off("close", breakOff);
      answer();
    }
    const refuse = (error: unknown): void => settle(() => reject(error));
    const breakOff = (): void => refuse(new Error("the connection ended before its PROXY header"));
    function read(): void {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read()) {
        bytes = Buffer.concat([bytes, chunk]);
        let header: HeaderProgress;
        try {
          header = headerIn(bytes);
        } catch (error) {
          refuse(error);
          return;
        }
        if (header === "needs more") continue;
        const { client, length } = header;
        if (length < bytes.length) socket.unshift(bytes.subarray(length));
        settle(() => resolve(client));
        return;
      }
    }
    const timer = setTimeout(() => refuse(new Error("no PROXY header in time")), patienceMs);
    socket.on("readable", read).on("end", breakOff).on("close", breakOff);
  });
}

function headerIn(bytes: Buffer): HeaderProgress {
  const known = Math.min(bytes.length, signature.length);
  return bytes.compare(signature, 0, known, 0, known) === 0 ? binaryIn(bytes) : lineIn(bytes);
}

function lineIn(bytes: Buffer): HeaderProgress {
  const end = bytes.indexOf("\n");
  const length = end < 0 ? bytes.length : end + 1;
  if (length > longestLine) throw new Error("the PROXY line is too long");
  if (end < 0) return "needs more";
  const line = bytes.toString("latin1", 0, length);
  if (/^PROXY UNKNOWN[ \r]/.test(line)) return { client: undefined, length };
  const client = /^PROXY TCP[46] (\S+) \S+ \d+ \d+\r\n$/.exec(line)?.[1];
  if (client === undefined || isIP(client) === 0) throw new Error("no PROXY line");
  return { client, length };
}

function binaryIn(bytes: Buffer): HeaderProgress {
  if (bytes.length < fixedLength) return "needs more";
  const [version, command] = [bytes[12]! >> 4, bytes[12]! & 0x0f];
  if (version !== 2 || command > 1) throw new Error("no PROXY header of version 2");
  const following = bytes.readUInt16BE(14);
  if (following > mostFollowing) throw new Error("the PROXY header is too long");
  const length = fixedLength + following;
  if (bytes.length < length) return "needs more";
  // LOCAL: the proxy's own connection, whatever addresses it gives.
  const client = command === 0 ? undefined : clientOf(bytes[13]!, bytes.subarray(fixedLength, length));
  return { client, length };
}

/** Returns the client's address for TCP over IPv4 and IPv6; unknown for other families. */
function clientOf(family: number, addresses: Buffer): ProxiedClient {
  if (family === 0x11 && addresses.length >= 12) return [...addresses.subarray(0, 4)].join(".");
  if (family === 0x21 && addresses.length >= 36) return groupsOf(addresses.subarray(0, 16)).join(":");
  if (family === 0x00) return undefined;
  throw new Error("a PROXY header of version 2 without the addresses of a TCP connection");
}

const groupsOf = (bytes: Buffer): string[] =>
  Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(2 * n).toString(16));
