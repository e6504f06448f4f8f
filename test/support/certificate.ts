import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate for one name, signed by itself, made this moment and good for two days. */
export function certificateOf(name: string): { key: string; cert: string } {
  const directory = mkdtempSync(join(tmpdir(), "countersign-tls-"));
  try {
    const [key, cert] = ["key.pem", "cert.pem"].map((file) => join(directory, file)) as [string, string];
    const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
    const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    execFileSync("openssl", [...args, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
