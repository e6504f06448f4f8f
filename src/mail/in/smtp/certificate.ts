import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Logger } from "pino";
import { StartError } from "#src/platform/startError.ts";

/** A certificate, with those that lead to its issuer, and its private key, both in PEM. */
export type Pem = { cert: string; key: string };

/** Paths. */
export type CertificateFiles = { certFile: string; keyFile: string };

/** The operator's certificate, as its files have it. */
export type Certificate = {
  /** As it was read first. */
  pem: Pem;
  /** Calls `use` with each newer one, until `close`. */
  watch(use: (pem: Pem) => void): void;
  close(): void;
};

/**
 * Reads a certificate, and then every `everyMs` (default 10,000) whether its files have changed. A change is acted on once two readings in a
 * row agree, because a certificate and its key are never replaced at one moment. A new pair that cannot be used is warned of once, and the
 * one before stays. The files are read and not watched: what replaces them may be a link, a mount or another file of the same name.
 * Throws StartError if the first reading finds nothing that can be used.
 */
export async function openCertificate(
  files: CertificateFiles,
  { log, everyMs = 10_000 }: { log: Pick<Logger, "info" | "warn">; everyMs?: number },
): Promise<Certificate> {
  const first = await lookAt(files);
  if ("fault" in first) throw new StartError(first.fault);
  let judged: Reading = first;
  let before: Reading = first;
  let use: (pem: Pem) => void = () => {};
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    const reading = await lookAt(files);
    const settled = isSame(reading, before);
    before = reading;
    if (!settled || isSame(reading, judged)) return;
    judged = reading;
    if ("fault" in reading) {
      log.warn({ fault: reading.fault }, "the new certificate for mail cannot be used, keeping the one before");
      return;
    }
    use(reading);
    log.info("new connections for mail use the new certificate");
  }

  return {
    pem: first,
    watch(newer) {
      use = newer;
      timer = setInterval(() => void look(), everyMs).unref();
    },
    close() {
      clearInterval(timer);
      use = () => {};
    },
  };
}

type Reading = Pem | { fault: string };

const isSame = (one: Reading, other: Reading): boolean => JSON.stringify(one) === JSON.stringify(other);

/** What the files hold, or a sentence on why that is no certificate to be used. The sentence repeats nothing of the key. */
async function lookAt({ certFile, keyFile }: CertificateFiles): Promise<Reading> {
  try {
    const [cert, key] = await Promise.all([textOf("SMTP_IN_TLS_CERT", certFile), textOf("SMTP_IN_TLS_KEY", keyFile)]);
    const certificate = parsed(
      () => new X509Certificate(cert),
      `SMTP_IN_TLS_CERT (${certFile}) holds no certificate in PEM`,
    );
    const privateKey = parsed(
      () => createPrivateKey(key),
      `SMTP_IN_TLS_KEY (${keyFile}) holds no private key in PEM, or one with a passphrase`,
    );
    if (!certificate.checkPrivateKey(privateKey))
      throw new Error(
        `the key of SMTP_IN_TLS_KEY (${keyFile}) is not that of the certificate in SMTP_IN_TLS_CERT (${certFile})`,
      );
    parsed(() => createSecureContext({ cert, key }), `SMTP_IN_TLS_CERT (${certFile}) cannot be used`);
    return { cert, key };
  } catch (error) {
    const { message } = error as Error;
    return { fault: `${message[0]?.toUpperCase()}${message.slice(1)}.` };
  }
}

async function textOf(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Error(`${setting} (${file}) cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function parsed<T>(parse: () => T, otherwise: string): T {
  try {
    return parse();
  } catch {
    throw new Error(otherwise);
  }
}
