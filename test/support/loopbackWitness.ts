import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

type Answer = { status: number; text: string; type?: string };
type Seen = { size: number; root: Buffer };

const sha256 = (...parts: (string | Buffer)[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const parent = (left: Buffer, right: Buffer): Buffer => sha256(Buffer.from([1]), left, right);
const derPrefix = Buffer.from("302a300506032b6570032100", "hex");

/**
 * A witness of C2SP tlog-witness on loopback, written from the document and without this project's code, so that both do not share a fault.
 * It keeps its state in memory. `logs`: the verifier keys that it knows, by origin. `lie`: changes an answer.
 */
export async function startLoopbackWitness({ name = "witness.example/w1" }: { name?: string } = {}) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ type: "spki", format: "der" }).subarray(derPrefix.length);
  const typed = Buffer.concat([Buffer.from([4]), raw]);
  const id = sha256(`${name}\n`, typed).subarray(0, 4);
  const logs = new Map<string, string>();
  const seen = new Map<string, Seen>();
  const answers: number[] = [];
  let lie: ((answer: Answer) => Answer | undefined) | undefined;

  function cosign(text: string): string {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(1_679_315_147n);
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime 1679315147\n${text}`), privateKey);
    return `— ${name} ${Buffer.concat([id, time, signature]).toString("base64")}\n`;
  }

  function addCheckpoint(body: string): Answer {
    const [, old = "", hashes = "", text = "", signatures = ""] =
      /^old (0|[1-9]\d*)\n((?:[\w+/]{43}=\n)*)\n((?:[^\n]+\n)+)\n((?:— [^\n]+\n)+)$/.exec(body) ?? [];
    if (text === "") return { status: 400, text: "malformed\n" };
    const [origin = "", sizeLine = "", rootLine = ""] = text.split("\n");
    const [size, oldSize] = [Number(sizeLine), Number(old)];
    const root = Buffer.from(rootLine, "base64");
    const log = logs.get(origin);
    if (log === undefined) return { status: 404, text: "unknown origin\n" };
    if (!isSignedBy(log, text, signatures)) return { status: 403, text: "no signature of a known key\n" };
    if (oldSize > size) return { status: 400, text: "old size is larger\n" };
    const known = seen.get(origin) ?? { size: 0, root: Buffer.alloc(0) };
    if (known.size !== oldSize) return { status: 409, text: `${known.size}\n`, type: "text/x.tlog.size" };
    if (known.size === size && size > 0 && !known.root.equals(root)) return { status: 409, text: `${size}\n` };
    const proof = hashes.match(/.+/g)?.map((hash) => Buffer.from(hash, "base64")) ?? [];
    if (!continues(known, { size, root }, proof)) return { status: 422, text: "the proof does not verify\n" };
    seen.set(origin, { size, root });
    return { status: 200, text: cosign(text) };
  }

  const server = createServer(async (request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isCall = request.method === "POST" && request.url === "/w/add-checkpoint";
    const truth = isCall ? addCheckpoint(Buffer.concat(chunks).toString()) : { status: 404, text: "no such call\n" };
    const answer = lie ? lie(truth) : truth;
    if (answer === undefined) return void response.destroy();
    answers.push(answer.status);
    const headers = answer.status === 302 ? { location: answer.text } : {};
    response.writeHead(answer.status, { "content-type": answer.type ?? "text/plain", ...headers }).end(answer.text);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/w`;
  const verifierKey = `${name}+${id.toString("hex")}+${typed.toString("base64")}`;

  return {
    name,
    verifierKey,
    url,
    setting: `${verifierKey} ${url}`,
    logs,
    seen,
    /** Status of each answer. */
    answers,
    cosign,
    /** Changes each answer from now on; one that is undefined ends the connection. Without an argument, answers are true again. */
    lie(change?: (answer: Answer) => Answer | undefined) {
      lie = change;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** True if one of the signature lines is a valid one of this verifier key. */
function isSignedBy(verifierKey: string, text: string, lines: string): boolean {
  const [name, id, key = ""] = verifierKey.split(/\+(?=[0-9a-f]{8}\+)|(?<=\+[0-9a-f]{8})\+/);
  const der = Buffer.concat([derPrefix, Buffer.from(key, "base64").subarray(1)]);
  const publicKey = createPublicKey({ key: der, format: "der", type: "spki" });
  return lines.split("\n").some((line) => {
    const [, signer, encoded = ""] = line.split(" ");
    const bytes = Buffer.from(encoded, "base64");
    if (signer !== name || bytes.toString("hex", 0, 4) !== id) return false;
    return verify(null, Buffer.from(text), publicKey, bytes.subarray(4));
  });
}

/** True if the proof (RFC 6962, section 2.1.2) leads to both roots. Follows the recursive definition, from the last hash to the first. */
function continues(old: Seen, now: Seen, proof: Buffer[]): boolean {
  if (old.size === 0) return proof.length === 0;
  const rest = [...proof];
  const next = (): Buffer => rest.pop() ?? Buffer.alloc(0);
  function roots(m: number, n: number, isKnown: boolean): [Buffer, Buffer] {
    if (m === n) {
      const hash = isKnown ? old.root : next();
      return [hash, hash];
    }
    let k = 1;
    while (k * 2 < n) k *= 2;
    const beside = next();
    const [older, newer] = m <= k ? roots(m, k, isKnown) : roots(m - k, n - k, false);
    return m <= k ? [older, parent(newer, beside)] : [parent(beside, older), parent(beside, newer)];
  }
  const [oldRoot, newRoot] = roots(old.size, now.size, true);
  return rest.length === 0 && oldRoot.equals(old.root) && newRoot.equals(now.root);
}
