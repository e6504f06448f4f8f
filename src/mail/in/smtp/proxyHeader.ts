import { isIP, type Socket } from "node:net";

/** What a header of the PROXY protocol said: the client's address; undefined if the proxy speaks for itself (a health check). */
type Client = string | undefined;

/** What can be made of the bytes so far; throws if they begin no header. `length`: of the header in bytes, to be taken from the stream. */
type Read = { client: Client; length: number } | "needs more";

/** The longest line that version 1 knows, its end included. */
const longestLine = 107;
/** What version 2 begins with, so that nothing that speaks first by lines can be taken for it. */
const signature = Buffer.from("0d0a0d0a000d0a515549540a", "hex");
/** The signature, version and command, family, and how many bytes follow. */
const fixedLength = 16;
/** Bytes that may follow: addresses take 36, what else a proxy says (names, certificates' owners) is read over. */
const mostFollowing = 4_096;

/**
 * Reads the header of the PROXY protocol that a connection begins with, a line (version 1) or binary (version 2), and leaves what follows in the
 * socket. Resolves with the address of the client; undefined if the proxy speaks for itself. Rejects if something else comes, or nothing in time.
 */
export function readProxyHeader(socket: Socket, patienceMs: number): Promise<Client> {
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
        let header: Read;
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

function headerIn(bytes: Buffer): Read {
  const known = Math.min(bytes.length, signature.length);
  return bytes.compare(signature, 0, known, 0, known) === 0 ? binaryIn(bytes) : lineIn(bytes);
}

function lineIn(bytes: Buffer): Read {
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

function binaryIn(bytes: Buffer): Read {
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

/** Who connected, by the family of the addresses: those of TCP over IPv4 and IPv6. Of others nothing is known. */
function clientOf(family: number, addresses: Buffer): Client {
  if (family === 0x11 && addresses.length >= 12) return [...addresses.subarray(0, 4)].join(".");
  if (family === 0x21 && addresses.length >= 36) return groupsOf(addresses.subarray(0, 16)).join(":");
  if (family === 0x00) return undefined;
  throw new Error("a PROXY header of version 2 without the addresses of a TCP connection");
}

const groupsOf = (bytes: Buffer): string[] =>
  Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(2 * n).toString(16));
