import { createRequire } from "node:module";
import { Socket } from "node:net";
import { freePort } from "../../scripts/support/freePort.ts";

// The package has no types.
const dns2: any = createRequire(import.meta.url)("dns2");
const { Packet } = dns2;

type RecordType = "TXT" | "MX" | "NS" | "CNAME" | "A" | "AAAA" | "PTR";

/** Faults of the server. `truncated`: by UDP it says that the answer does not fit, by TCP it answers. */
export type DnsFault = "servfail" | "refused" | "silent" | "truncated";

const fields: Record<RecordType, (value: any) => object> = {
  TXT: (data: string[]) => ({ data }),
  MX: ([priority, exchange]: [number, string]) => ({ priority, exchange }),
  NS: (ns: string) => ({ ns }),
  CNAME: (domain: string) => ({ domain }),
  A: (address: string) => ({ address }),
  AAAA: (address: string) => ({ address }),
  PTR: (domain: string) => ({ domain }),
};

const rcodes = { nxdomain: 3, servfail: 2, refused: 5 } as const;

const longestString = 255;
const split = (text: string): string[] => text.match(new RegExp(`[^]{1,${longestString}}`, "g")) ?? [""];

/** Starts a real DNS server on loopback, by UDP and TCP, with the records that a test sets. Other names do not exist. */
export async function startDnsServer() {
  const zone = new Map<string, Map<RecordType, unknown[]>>();
  const troubles = new Map<string, DnsFault>();
  const asked: { name: string; type: string; by: "udp" | "tcp" }[] = [];

  function answersTo(name: string, type: RecordType, answers: object[] = []): object[] {
    const records = zone.get(name);
    const alias = records?.get("CNAME")?.[0] as string | undefined;
    const own = { name, class: Packet.CLASS.IN, ttl: 0 };
    if (alias !== undefined && type !== "CNAME" && answers.length < 8) {
      answers.push({ ...own, type: Packet.TYPE.CNAME, ...fields.CNAME(alias) });
      return answersTo(alias.toLowerCase(), type, answers);
    }
    for (const value of records?.get(type) ?? [])
      answers.push({ ...own, type: Packet.TYPE[type], ...fields[type](value) });
    return answers;
  }

  const exists = (name: string): boolean =>
    [...zone.keys()].some((known) => known === name || known.endsWith(`.${name}`));

  function handle(request: any, send: (response: any) => void, client: unknown): void {
    const [question] = request.questions;
    const name = question.name.toLowerCase();
    const type = Object.keys(Packet.TYPE).find((known) => Packet.TYPE[known] === question.type) as RecordType;
    const by = client instanceof Socket ? "tcp" : "udp";
    asked.push({ name, type, by });
    const response = Packet.createResponseFromRequest(request);
    const trouble = troubles.get(`${name} ${type}`) ?? troubles.get(name) ?? troubles.get("*");
    if (trouble === "silent") return;
    if (trouble === "servfail" || trouble === "refused") response.header.rcode = rcodes[trouble];
    else if (trouble === "truncated" && by === "udp") response.header.tc = 1;
    else {
      response.answers = answersTo(name, type);
      if (response.answers.length === 0 && !exists(name)) response.header.rcode = rcodes.nxdomain;
    }
    send(response);
  }

  const { server, port } = await listen(handle);

  function put(name: string, type: RecordType, values: readonly unknown[]): void {
    const records = zone.get(name.toLowerCase()) ?? new Map<RecordType, unknown[]>();
    zone.set(name.toLowerCase(), records.set(type, [...values]));
  }

  return {
    /** In the form of DNS_SERVERS. */
    address: `127.0.0.1:${port}`,
    asked,
    /** Sets TXT records: one per value; an array of strings is one record of these strings. */
    txt: (name: string, ...values: (string | string[])[]) =>
      put(
        name,
        "TXT",
        values.map((value) => (typeof value === "string" ? split(value) : value)),
      ),
    mx: (name: string, ...values: [priority: number, exchange: string][]) => put(name, "MX", values),
    ns: (name: string, ...values: string[]) => put(name, "NS", values),
    cname: (name: string, target: string) => put(name, "CNAME", [target]),
    a: (name: string, ...values: string[]) => put(name, "A", values),
    aaaa: (name: string, ...values: string[]) => put(name, "AAAA", values),
    ptr: (name: string, ...values: string[]) => put(name, "PTR", values),
    /** Sets a fault for a name, for one type of it ("mail.example TXT"), or for everything ("*"); undefined removes it. */
    trouble(name: string, kind: DnsFault | undefined) {
      if (kind === undefined) troubles.delete(name);
      else troubles.set(name, kind);
    },
    remove: (name: string) => void zone.delete(name.toLowerCase()),
    /** Publishes the records of a domain as its owner would, from those that GET /v1/domains shows. */
    publish(records: readonly { type: string; fqdn: string; value: string; priority: number | null }[]) {
      for (const { type, fqdn, value, priority } of records) {
        if (type === "MX") put(fqdn, "MX", [[priority, value]]);
        else put(fqdn, "TXT", [split(value)]);
      }
    },
    close: () => server.close(),
  };
}

export type DnsServer = Awaited<ReturnType<typeof startDnsServer>>;

/** Listens on one port for both UDP and TCP; tries another port if one half is taken. */
async function listen(handle: unknown, tries = 5): Promise<{ server: any; port: number }> {
  const port = await freePort();
  const server = dns2.createServer({ udp: true, tcp: true, handle });
  const failed = new Promise<never>((_, reject) => server.once("error", reject));
  try {
    const where = { port, address: "127.0.0.1" };
    await Promise.race([server.listen({ udp: where, tcp: where }), failed]);
    server.on("error", () => {});
    return { server, port };
  } catch (error) {
    if (tries <= 1) throw error;
    return listen(handle, tries - 1);
  }
}
