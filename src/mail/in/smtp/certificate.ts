import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Logger } from "pino";
import { StartError } from "#src/platform/startError.ts";

/** A certificate with its issuer chain, and its private key, both in PEM. */
export type Pem = { cert: string; key: string };

/** Paths of the certificate and key files. */
export type CertificateFiles = { certFile: string; keyFile: string };

/** The operator's certificate, read from its files. */
export type Certificate = {
  /** The pair as first read. */
  pem: Pem;
  /** Calls `use` with each newer pair, until `close`. */
  watch(use: (pem: Pem) => void): void;
  close(): void;
};

/**
 * Reads a certificate, and every `everyMs` (default 10,000) checks whether its files have changed. A change takes effect once two
 * readings in a row agree, because a certificate and its key are never replaced at the same moment. An unusable new pair is logged once,
 * and the previous one stays in use. Files are polled, not watched: a replacement may be a link, a mount or another file of the same
 * name. Throws StartError if the first reading finds no usable pair.
 */
export async function openCertificate(
  files: CertificateFiles,
  { log, everyMs = 10_000 }: { log: Pick<Logger, "info" | "warn">; everyMs?: number },
): Promise<Certificate> {
  const first = await lookAt(files);
  if ("fault" in first) throw new StartError(first.fault);
  let judged: CertificateReading = first;
  let before: CertificateReading = first;
  let use: (pem: Pem) => void = () => {};
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    const reading = await lookAt(files);
    const settled = isSame(reading, before);
    before = reading;
    if (!settled || isSame(reading, judged)) return;
    judged = reading;
    if ("fault" in reading) {
      log.warn({ fault: reading.fault }, "the new certificate for mail cannot be used, keeping the previous one");
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

type CertificateReading = Pem | { fault: string };

const isSame = (one: CertificateReading, other: CertificateReading): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Reads the files, or returns a sentence saying why they are unusable. It never quotes the key. */
async function lookAt({ certFile, keyFile }: CertificateFiles): Promise<CertificateReading> {
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
