import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

/**
 * Makes a self-signed certificate for one name, valid between two moments in days from now. Uses only Node: the machine may not have openssl.
 */
export function certificateOf(
  name: string,
  { days: [from, to] }: { days: readonly [number, number] } = { days: [-1, 2] },
): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const algorithm = sequence(oid("2a8648ce3d040302"));
  const subject = sequence(tagged(0x31, sequence(oid("550403"), tagged(0x0c, Buffer.from(name)))));
  const names = sequence(tagged(0x82, Buffer.from(name)));
  const now = Date.now();
  const day = 86_400_000;
  const content = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ...[algorithm, subject],
    sequence(time(now + from * day), time(now + to * day)),
    ...[subject, publicKey.export({ type: "spki", format: "der" })],
    tagged(0xa3, sequence(sequence(oid("551d11"), tagged(0x04, names)))),
  );
  const signature = tagged(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", content, privateKey)]));
  const lines = sequence(content, algorithm, signature).toString("base64").replace(/.{64}/g, "$&\n").trimEnd();
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

/** Encodes DER: a tag, the length, the content. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts));
const oid = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, "hex"));
/** Encodes a UTCTime, valid until 2049. */
const time = (at: number): Buffer =>
  tagged(0x17, Buffer.from(`${new Date(at).toISOString().replace(/\D/g, "").slice(2, 14)}Z`));
