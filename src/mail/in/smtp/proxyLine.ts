import { isIP, type Socket } from "node:net";

/** The longest line that version 1 of the protocol knows, its end included. */
const maxLength = 107;

/**
 * Reads the line of the PROXY protocol (version 1) that a connection begins with, and leaves what follows in the socket. Resolves with the
 * address of the client; undefined if the proxy speaks for itself (a health check). Rejects if something else comes, or nothing in time.
 */
export function readProxyLine(socket: Socket, patienceMs: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let line = "";
    function settle(answer: () => void): void {
      clearTimeout(timer);
      socket.off("readable", read).off("end", breakOff).off("close", breakOff);
      answer();
    }
    const refuse = (why: string): void => settle(() => reject(new Error(why)));
    const breakOff = (): void => refuse("the connection ended before its PROXY line");
    function take(): void {
      const client = clientIn(line);
      if (client === null) refuse("no PROXY line");
      else settle(() => resolve(client));
    }
    function read(): void {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read()) {
        const end = chunk.indexOf("\n");
        line += chunk.toString("latin1", 0, end < 0 ? chunk.length : end + 1);
        if (line.length > maxLength) {
          refuse("the PROXY line is too long");
          return;
        }
        if (end < 0) continue;
        if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1));
        take();
        return;
      }
    }
    const timer = setTimeout(() => refuse("no PROXY line in time"), patienceMs);
    socket.on("readable", read).on("end", breakOff).on("close", breakOff);
  });
}

/** null: this is no such line. */
function clientIn(line: string): string | undefined | null {
  if (/^PROXY UNKNOWN[ \r]/.test(line)) return undefined;
  const client = /^PROXY TCP[46] (\S+) \S+ \d+ \d+\r\n$/.exec(line)?.[1];
  return client !== undefined && isIP(client) !== 0 ? client : null;
}
