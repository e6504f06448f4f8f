import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";

const generate = promisify(generateKeyPair);
const bits = 2048;

/** Makes an RSA key pair for signing mail: the public key as DKIM publishes it (base64 of its DER), the private key as PKCS 8 PEM. */
export async function newDkimKeys(): Promise<{ publicKey: string; privateKey: string }> {
  const { publicKey, privateKey } = await generate("rsa", {
    modulusLength: bits,
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { publicKey: publicKey.toString("base64"), privateKey };
}
