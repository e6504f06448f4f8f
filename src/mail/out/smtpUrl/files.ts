import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { SMTPConnectionOptions } from "nodemailer/lib/smtp-connection";
import type { GivenOptions, Option } from "./options.ts";

/** Checks the files that the options name; returns one sentence per fault. */
export function fileProblems(given: GivenOptions): string[] {
  const names = ["passwordFile", "clientSecretFile", "refreshTokenFile"] as const;
  const checks = [
    ...names.map((name) => () => given[name] !== undefined && fromFile(name, given)),
    () => void tlsOf(given),
  ];
  return checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
}

/** Builds the TLS options from the current contents of the files. */
export function tlsOf(given: GivenOptions): NonNullable<SMTPConnectionOptions["tls"]> {
  const [ca, cert, key] = (["caFile", "certFile", "keyFile"] as const).map((name) =>
    given[name] === undefined ? undefined : fromFile(name, given),
  );
  if (ca !== undefined) usable(() => new X509Certificate(ca), "caFile holds no certificate in PEM");
  if (cert !== undefined && key !== undefined) {
    const certificate = usable(() => new X509Certificate(cert), "certFile holds no certificate in PEM");
    const privateKey = usable(
      () => createPrivateKey(key),
      "keyFile holds no private key in PEM, or one with a passphrase",
    );
    if (!certificate.checkPrivateKey(privateKey))
      throw new Error("SMTP_URL: the key of keyFile is not that of the certificate in certFile.");
    usable(() => createSecureContext({ cert, key }), "certFile cannot be used");
  }
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(given.servername !== undefined && { servername: given.servername }),
    minVersion: given.minVersion === "TLSv1.3" ? "TLSv1.3" : "TLSv1.2",
    ...(given["tls.rejectUnauthorized"] === "false" && { rejectUnauthorized: false }),
  };
}

function usable<T>(use: () => T, otherwise: string): T {
  try {
    return use();
  } catch {
    throw new Error(`SMTP_URL: ${otherwise}.`);
  }
}

/** Reads a file, without the line end that editors add. The path is the operator's own and may be shown; the content never. */
export function fromFile(name: Option, given: GivenOptions): string {
  const path = given[name] as string;
  let content: string;
  try {
    content = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new Error(`SMTP_URL: ${name} (${path}) cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
  if (content === "") throw new Error(`SMTP_URL: ${name} (${path}) is empty.`);
  return content;
}
