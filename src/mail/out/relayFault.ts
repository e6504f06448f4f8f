import { shortLine } from "#src/html/visible.ts";
import { NotConnected } from "#src/mail/mailProvider.ts";
import type { HideSecrets } from "./withoutSecrets.ts";

/**
 * nodemailer's error about a connection. `originalCode`: Node's or OpenSSL's code, in place of which `code` has a coarser one. `reason`:
 * OpenSSL's words about TLS.
 */
export type ConnectError = Error & {
  code?: string;
  originalCode?: string;
  reason?: string;
  command?: string;
  response?: string;
  responseCode?: number | false;
};

/** A cause, in a sentence that goes on from "SMTP relay: " and names the option of SMTP_URL that helps. `lasts` as in NotConnected. */
type Cause = { says: string; lasts: boolean };

const lasting = (says: string): Cause => ({ says, lasts: true });
const passing = (says: string): Cause => ({ says, lasts: false });

/** Returns why no connection to the relay came about. `hide` removes our secrets from the relay's words. */
export function relayFault(error: ConnectError, hide: HideSecrets): NotConnected {
  const { command, responseCode, reason, originalCode, code, message } = error;
  const told = { ...error, message: hide(message), response: hide(error.response ?? "") };
  const { says, lasts } = byReply(told) ?? byTls(told) ?? bySystem(told);
  const kind = [command, responseCode || reason || originalCode || code || message].join(" ");
  return new NotConnected(`SMTP relay: ${says}`, { kind, lasts });
}

/** Causes that the relay itself names in a reply. */
function byReply({ command, response, responseCode }: ConnectError): Cause | undefined {
  if (!response) return undefined;
  const words = shortLine(response, 160);
  if (!responseCode) return lasting(`what answers is no SMTP server (“${words}”): see host and port in SMTP_URL`);
  const cause = responseCode >= 500 ? lasting : passing;
  if (command === "STARTTLS")
    return cause(`it starts no TLS (${words}): requireTLS=false in SMTP_URL lets mail and password go unencrypted`);
  if (command === "EHLO" || command === "HELO")
    return cause(`it refuses our EHLO (${words}): set name in SMTP_URL to a host name that it accepts`);
  return cause(
    `it refuses connections from here (${words}): let it accept this machine, or see host and port in SMTP_URL`,
  );
}

/** Codes of OpenSSL for a chain of certificates that ends at no authority known here. */
const untrusted = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_UNTRUSTED",
]);

/** The words of OpenSSL: Node.js 24 adds advice of its own, about an option of its command line. */
const openSslWords = (message: string): string => message.replace(/; if the root CA .*/, "");

function byTls({ message, originalCode = "", reason = "" }: ConnectError): Cause | undefined {
  if (untrusted.has(originalCode))
    return lasting(
      `its certificate is not trusted (${openSslWords(message)}): in SMTP_URL name its authority by caFile, or give ignoreTLS=true if it is on this ` +
        "machine; tls.rejectUnauthorized=false turns the check off",
    );
  if (originalCode === "ERR_TLS_CERT_ALTNAME_INVALID")
    return lasting(
      `its certificate is for another name (${shortLine(reason, 160)}): set servername in SMTP_URL to that name`,
    );
  if (originalCode === "CERT_HAS_EXPIRED") return lasting("its certificate has expired: renew it there");
  if (originalCode === "CERT_NOT_YET_VALID")
    return lasting("its certificate is not valid yet: see the clocks of both machines");
  if (/^(?:CERT|CRL|UNABLE|HOSTNAME|INVALID|PATH)_/.test(originalCode))
    return lasting(`its certificate cannot be used (${message}): replace it there`);
  if (/version number|packet length|http request/.test(reason))
    return lasting(
      `it does not speak TLS here (${reason}): smtps:// needs a port with TLS from the first byte, smtp:// the others`,
    );
  if (/version|unsupported protocol|no protocols/.test(reason))
    return lasting(`it speaks no version of TLS that is allowed here (${reason}): see minVersion in SMTP_URL`);
  if (/alert/.test(reason))
    return lasting(
      `it refuses the TLS connection (${reason}): if it wants a client certificate, set certFile and keyFile in SMTP_URL`,
    );
  return reason === "" ? undefined : lasting(`TLS with it fails (${reason})`);
}

const systemCauses: Record<string, Cause> = {
  ECONNREFUSED: passing(
    "nothing listens at its address (ECONNREFUSED): see whether it runs, and host and port in SMTP_URL",
  ),
  ENOTFOUND: passing("its host name is unknown (ENOTFOUND): see the host in SMTP_URL"),
  EADDRNOTAVAIL: lasting("localAddress in SMTP_URL is no address of this machine (EADDRNOTAVAIL)"),
};

function bySystem({ message, originalCode = "", code }: ConnectError): Cause {
  if (code === "EDNS" && originalCode !== "ENOTFOUND")
    return passing(`its host name cannot be looked up (${originalCode || message})`);
  if (/^Greeting/.test(message))
    return passing("it does not greet in time: a port with TLS from the first byte needs smtps:// in SMTP_URL");
  return systemCauses[originalCode] ?? passing(message);
}
