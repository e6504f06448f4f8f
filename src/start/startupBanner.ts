import type { Service } from "../service.ts";
import type { Config } from "../settings/config.ts";

/** Secrets shown only on the terminal: the first API key, at the first start alone, and the first owner's invitation. */
export type BannerSecrets = { apiKey: string | undefined; ownerLink: string | undefined };

/** Replaces any address of this machine, or the wildcard address, by `localhost`. */
export const asLocalhost = (address: string): string =>
  address.replace(/(^|\/\/)(0\.0\.0\.0|127\.0\.0\.1|\[?::1?\]?)(?=:\d|$)/, "$1localhost");

/** Prints what a newcomer needs once the service is up: the addresses, and something to paste. */
export function printStartupBanner(config: Config, service: Service, shown: BannerSecrets): void {
  const isTerminal = process.stderr.isTTY;
  if (!isTerminal && shown.apiKey === undefined) return;
  // Output that is not a terminal may be a stored log: it gets no owner invitation.
  const lines = startupBannerLines(config, service, isTerminal ? shown : { ...shown, ownerLink: undefined });
  process.stderr.write(`${lines.join("\n")}\n\n`);
}

export function startupBannerLines(
  config: Pick<Config, "mailProvider" | "smtpInHost" | "publicUrl">,
  { url: listensAt, smtpPort }: Pick<Service, "url" | "smtpPort">,
  { apiKey, ownerLink }: BannerSecrets,
): string[] {
  const url = listensAt === null ? null : asLocalhost(listensAt);
  const lines = ["", "  Countersign is ready."];
  // People sign in at the address that links in mail have.
  if (url) lines.push(`    Console  ${config.publicUrl}/`, `    API      ${url}/v1`, `    Docs     ${url}/docs`);
  if (url && config.mailProvider === "outbox")
    lines.push(`    Outbox   ${url}/outbox   (outgoing mail is caught here, not sent)`);
  if (smtpPort) lines.push(`    Mail in  ${asLocalhost(config.smtpInHost)}:${smtpPort} (SMTP)`);
  if (ownerLink !== undefined && url) {
    lines.push(
      "",
      "  Your workspace has no owner yet. Open this link to become its owner (only the newest link works, for 7 days):",
    );
    lines.push(`    ${ownerLink}`);
  }
  if (apiKey !== undefined && url) {
    lines.push(
      "",
      `  Your first API key (shown only once):  ${apiKey}`,
      "",
      "  Try it:",
      `    curl -s -H "Authorization: Bearer ${apiKey}" ${url}/v1/domains`,
    );
  }
  return lines;
}
