import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";

const generate = promisify(generateKeyPair);
const bits = 2048;

/** A new RSA pair to sign mail with: the public half as DKIM publishes it (base64 of its DER), the private one as PEM of PKCS 8. */
export async function newDkimKeys(): Promise<{ publicKey: string; privateKey: string }> {
  const { publicKey, privateKey } = await generate("rsa", {
    modulusLength: bits,
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { publicKey: publicKey.toString("base64"), privateKey };
}
