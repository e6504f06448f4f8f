import type { Config } from "./config.ts";
import type { Service } from "./service.ts";

/** What a newcomer sees on the terminal once the service is up: where everything is, and something to paste. */
export function welcome(config: Config, { url, smtpPort }: Service, apiKey: string | undefined): void {
  if (!process.stderr.isTTY && apiKey === undefined) return;
  const lines = ["", "  Countersign is ready."];
  if (url) lines.push(`    API      ${url}/v1`, `    Docs     ${url}/docs`);
  if (url && config.mailProvider === "outbox")
    lines.push(`    Outbox   ${url}/outbox   (outgoing mail is caught here, not sent)`);
  if (smtpPort) lines.push(`    Mail in  ${config.smtpInHost}:${smtpPort} (SMTP)`);
  if (apiKey !== undefined && url) {
    lines.push(
      "",
      `  Your first API key (shown only once):  ${apiKey}`,
      "",
      "  Try it:",
      `    curl -s -H "Authorization: Bearer ${apiKey}" ${url}/v1/domains`,
    );
  }
  process.stderr.write(`${lines.join("\n")}\n\n`);
}
