import { generateKeyPairSync, randomUUID, sign } from "node:crypto";

/** A field of a form: its name, its bytes, and headers of its part besides Content-Disposition. */
export type FormField = readonly [name: string, value: string | Buffer, headers?: readonly string[]];

export type FormPost = { body: Buffer; headers: Record<string, string> };

/** Makes a body of multipart/form-data, byte by byte. `end`: what follows the last part. */
export function formPost(
  fields: readonly FormField[],
  { boundary = "xYzZY", end = `--${boundary}--\r\n` }: { boundary?: string; end?: string } = {},
): FormPost {
  const parts = fields.flatMap(([name, value, headers = []]) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n`,
    value,
    "\r\n",
  ]);
  const body = Buffer.concat([...parts, end].map((part) => Buffer.from(part)));
  return {
    body,
    headers: {
      "content-type": `multipart/form-data; boundary=${/^[\w-]+$/.test(boundary) ? boundary : JSON.stringify(boundary)}`,
    },
  };
}

type Inbound = { raw: string | Buffer; to: readonly string[]; from?: string; ip?: string };

/** The fields that SendGrid posts in raw mode: all that the service reads, and some others. */
export const inboundFields = ({ raw, to, from = "ann@customer.example", ip = "192.0.2.1" }: Inbound): FormField[] => [
  ["dkim", "{@customer.example : pass}"],
  ["email", raw],
  ["to", to.join(", ")],
  ["from", "Ann Example <ann@customer.example>"],
  ["sender_ip", ip],
  ["envelope", JSON.stringify({ to, from })],
  ["subject", "My order"],
  ["charsets", '{"to":"UTF-8","from":"UTF-8","subject":"UTF-8"}'],
  ["SPF", "pass"],
];

/** Makes a post like SendGrid's for a mail. Every post has its own boundary. */
export const inboundPost = (inbound: Inbound): FormPost =>
  formPost(inboundFields(inbound), { boundary: `xYzZY-${randomUUID()}` });

/** Makes the key pair of a security policy: its public key as SendGrid shows it, and a function that signs posts. */
export function securityPolicy() {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return {
    publicKey: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    signed({ body, headers }: FormPost, at = new Date()): FormPost {
      const timestamp = String(Math.floor(at.getTime() / 1000));
      const signature = sign("sha256", Buffer.concat([Buffer.from(timestamp), body]), privateKey).toString("base64");
      return {
        body,
        headers: {
          ...headers,
          "x-twilio-email-event-webhook-signature": signature,
          "x-twilio-email-event-webhook-timestamp": timestamp,
        },
      };
    },
  };
}
