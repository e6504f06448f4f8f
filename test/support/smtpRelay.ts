import { createServer, type Socket } from "node:net";

/** Stage at which a relay fails. `content`: before all of it arrived, `dot`: after the final dot. */
export type RelayStage = "connect" | "greeting" | "EHLO" | "AUTH" | "MAIL" | "RCPT" | "DATA" | "content" | "dot";

/**
 * drop: closes the connection · reset: by RST · stall: sends nothing more · garbage: sends an invalid reply · any other string: sends that
 * reply, CRLF added. `taken`: the mail is accepted nevertheless (at `dot`: the gap of RFC 1047). `every`: only every n-th time; not at
 * `dot`.
 */
export type RelayFault = {
  at: RelayStage;
  how: "drop" | "reset" | "stall" | "garbage" | (string & {});
  taken?: boolean;
  times?: number;
  every?: number;
  recipient?: string;
};

/** A complete mail, after removal of the dots that SMTP adds. A mail that was accepted twice is listed twice. */
export type TakenMail = { from: string; to: string[]; content: Buffer };

/** Returns an accepted mail's text as a person reads it, if it is plain or quoted-printable. */
export const textOf = ({ content }: TakenMail): string =>
  content.toString("latin1").replaceAll("=\r\n", "").replaceAll("=3D", "=");

export type SmtpRelay = {
  readonly port: number;
  readonly url: string;
  readonly mails: readonly TakenMail[];
  /** The commands of every connection, in order of arrival. */
  readonly commands: readonly string[];
  /** Maximum number of connections that were open at once, except refused ones and those being closed. */
  readonly mostAtOnce: number;
  /** Number of connections, except those that were refused. */
  readonly connections: number;
  /** Number of connections refused because there were too many. */
  readonly refusedConnections: number;
  /** Bytes of content received after a 354, whether or not the mail was completed. */
  readonly contentBytes: number;
  /** Resolves once every connection is closed, so that everything written to one has been read. */
  idle(): Promise<void>;
  /** Replaces the faults from now on. */
  setFaults(...faults: RelayFault[]): void;
  close(): Promise<void>;
};

export type RelayOptions = {
  extensions?: string[];
  password?: string;
  port?: number;
  onGoAhead?: () => void;
  /** Maximum number of connections; further ones are refused with 421. */
  connections?: number;
  /** Milliseconds before each answer, by stage. */
  answersAfterMs?: Partial<Record<Exclude<RelayStage, "connect" | "content">, number>>;
};

const endOfContent = Buffer.from("\r\n.\r\n");

/** Starts a relay on loopback that has the given faults and records accepted mail. */
export async function startSmtpRelay(faults: RelayFault[] = [], options: RelayOptions = {}): Promise<SmtpRelay> {
  const mails: TakenMail[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let contentBytes = 0;
  let mostAtOnce = 0;
  const open = new Set<Socket>();
  let refusedConnections = 0;
  let connections = 0;
  let armed = faults.map(asArmed);

  /** Returns the fault of this stage, if one is left. */
  function fault(at: RelayStage, line = "") {
    const found = armed.find(
      (each) => each.at === at && each.left > 0 && (!each.recipient || line.includes(`<${each.recipient}>`)),
    );
    if (!found || ++found.met % (found.every ?? 1) !== 0) return undefined;
    found.left -= 1;
    return found;
  }

  function serve(socket: Socket) {
    let pending: Buffer = Buffer.alloc(0);
    let inContent = false;
    let stalled = false;
    let mail: TakenMail = { from: "", to: [], content: Buffer.alloc(0) };

    function leave(): void {
      open.delete(socket);
      socket.end();
    }
    const write = (line: string) => socket.writable && socket.write(`${line}\r\n`);
    /** Replies are sent in order, each after the delay of its stage. */
    let saying: Promise<unknown> | undefined;
    function say(line: string, at?: keyof NonNullable<RelayOptions["answersAfterMs"]>) {
      const afterMs = (at && options.answersAfterMs?.[at]) ?? 0;
      if (afterMs === 0 && !saying) return write(line);
      saying = (saying ?? Promise.resolve())
        .then(() => new Promise((resolve) => setTimeout(resolve, afterMs)))
        .then(() => write(line));
    }
    /** True if the stage failed: nothing else may be sent then. */
    function wentWrong(at: RelayStage, line?: string): boolean {
      const how = fault(at, line)?.how;
      if (how === undefined) return false;
      if (how === "drop") socket.destroy();
      else if (how === "reset") socket.resetAndDestroy();
      else if (how === "stall") stalled = true;
      else if (how === "garbage") say("\u0001\u0002 this is no reply");
      else say(how);
      return true;
    }

    function command(line: string) {
      commands.push(line);
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === "EHLO") return wentWrong("EHLO") || greet();
      if (verb === "AUTH")
        return wentWrong("AUTH") || say(signsIn(line) ? "235 welcome" : "535 5.7.8 wrong password", "AUTH");
      if (verb === "MAIL") {
        mail = { from: inBrackets(line), to: [], content: Buffer.alloc(0) };
        return wentWrong("MAIL") || say("250 sender ok", "MAIL");
      }
      if (verb === "RCPT") {
        if (wentWrong("RCPT", line)) return;
        mail.to.push(inBrackets(line));
        return say("250 recipient ok", "RCPT");
      }
      if (verb === "DATA") {
        if (wentWrong("DATA")) return;
        if (mail.to.length === 0) return say("554 no valid recipients");
        options.onGoAhead?.();
        inContent = true;
        return say("354 go ahead", "DATA");
      }
      if (verb === "QUIT") {
        say("221 bye");
        return saying ? saying.then(leave) : leave();
      }
      return say("250 ok");
    }

    const signsIn = (line: string) =>
      Buffer.from(line.split(" ")[2] ?? "", "base64")
        .toString()
        .endsWith(`\0${options.password}`);

    function greet() {
      const extensions = [
        ...(options.password ? ["AUTH PLAIN"] : []),
        ...(options.extensions ?? ["PIPELINING", "SIZE 36700160", "8BITMIME"]),
      ];
      const lines = ["relay.test", ...extensions];
      say(lines.map((line, n) => `250${n < lines.length - 1 ? "-" : " "}${line}`).join("\r\n"), "EHLO");
    }

    /** Returns the rest after the content, or undefined while more of it is to come. */
    function content(): Buffer | undefined {
      // A mail without any line ends by ".CRLF" right after DATA.
      const framed = Buffer.concat([Buffer.from("\r\n"), pending]);
      const end = framed.indexOf(endOfContent);
      if (end < 0) {
        if (pending.length === 0 || !wentWrong("content")) return undefined;
        // Stops reading: the sender is stuck with its content.
        stalled = true;
        socket.pause();
        return undefined;
      }
      const body = framed.subarray(2, Math.max(2, end + 2));
      const taken = { ...mail, content: Buffer.from(body.toString("latin1").replace(/^\.\./gm, "."), "latin1") };
      inContent = false;
      const wrong = armed.find((each) => each.at === "dot" && each.left > 0);
      if (!wrong || wrong.taken) mails.push(taken);
      if (!wentWrong("dot")) say(`250 2.0.0 queued as ${mails.length}`, "dot");
      return framed.subarray(end + endOfContent.length);
    }

    function work() {
      while (!stalled && !socket.destroyed) {
        if (inContent) {
          const rest = content();
          if (!rest) return;
          pending = rest;
        } else {
          const end = pending.indexOf("\r\n");
          if (end < 0) return;
          const line = pending.toString("utf8", 0, end);
          pending = pending.subarray(end + 2);
          command(line);
        }
      }
    }

    socket.on("error", () => {});
    if (open.size >= (options.connections ?? Number.POSITIVE_INFINITY)) {
      refusedConnections += 1;
      socket.end("421 4.7.0 too many connections\r\n");
      return;
    }
    sockets.add(socket.setNoDelay(true));
    open.add(socket);
    connections += 1;
    mostAtOnce = Math.max(mostAtOnce, open.size);
    socket.on("close", () => {
      sockets.delete(socket);
      open.delete(socket);
      if (sockets.size === 0) for (const told of waiting.splice(0)) told();
    });
    socket.on("data", (chunk) => {
      if (inContent) contentBytes += chunk.length;
      pending = Buffer.concat([pending, chunk]);
      work();
    });
    if (!wentWrong("connect") && !wentWrong("greeting")) say("220 relay.test ESMTP", "greeting");
  }

  const server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;

  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    mails,
    commands,
    get mostAtOnce() {
      return mostAtOnce;
    },
    get connections() {
      return connections;
    },
    get refusedConnections() {
      return refusedConnections;
    },
    get contentBytes() {
      return contentBytes;
    },
    idle: () => new Promise((resolve) => (sockets.size === 0 ? resolve() : waiting.push(resolve))),
    setFaults(...next) {
      armed = next.map(asArmed);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const asArmed = (fault: RelayFault) => ({ ...fault, left: fault.times ?? Number.POSITIVE_INFINITY, met: 0 });

const inBrackets = (line: string): string => /<([^>]*)>/.exec(line)?.[1] ?? "";
