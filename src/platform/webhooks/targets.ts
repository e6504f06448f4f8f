import { isAllowedHost, isPrivateHost } from "#src/platform/publicWeb/hosts.ts";

/** Checks targets of webhooks: https and public addresses only, except for hosts that the operator allows. */

const maxUrlBytes = 2048;

const orAllowed = "or one that the operator lists in WEBHOOK_ALLOWED_HOSTS";
const notHttps =
  "expected an https URL; http is allowed only for hosts that the operator lists in WEBHOOK_ALLOWED_HOSTS";

/**
 * Returns what is wrong with a URL as a webhook's target, as the end of a sentence that begins with the field; undefined if it is valid.
 */
export function targetFault(text: string, allowedHosts: readonly string[]): string | undefined {
  if (Buffer.byteLength(text) > maxUrlBytes) return `expected a URL of at most ${maxUrlBytes} bytes`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return notHttps;
  if (url.username !== "" || url.password !== "") {
    return "expected a URL without a user name and password; verify the signature instead";
  }
  if (isAllowedHost(url, allowedHosts)) return undefined;
  if (url.protocol !== "https:") return notHttps;
  return isPrivateHost(url) ? `expected a host on the public internet, ${orAllowed}` : undefined;
}
