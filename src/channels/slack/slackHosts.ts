import { isAllowedHost } from "#src/platform/publicWeb/hosts.ts";

/** Which hosts the operator lets messages to Slack go to. */
export type SlackHosts = {
  /** `host` or `host:port`. */
  slackAllowedHosts: readonly string[];
  /** Those among them that may be plain http and private, as webhooks may. */
  webhookAllowedHosts: readonly string[];
};

/** Whether a webhook of Slack's may be there: an allowed host by https, or by http where webhooks may use it so; no user name, no password. */
export function isSlackUrl(url: URL, { slackAllowedHosts, webhookAllowedHosts }: SlackHosts): boolean {
  if (url.username !== "" || url.password !== "" || !isAllowedHost(url, slackAllowedHosts)) return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isAllowedHost(url, webhookAllowedHosts));
}

/** The same for the address that Slack gives with a press, which is Slack's own, wherever the webhook is. */
export const isResponseUrl = (url: URL, hosts: SlackHosts): boolean =>
  isSlackUrl(url, { ...hosts, slackAllowedHosts: ["hooks.slack.com", ...hosts.slackAllowedHosts] });

/**
 * Where Slack's methods are called: `slack.com/api/` for webhooks of `hooks.slack.com`, and so for other clouds of Slack's. A stand-in that
 * the operator allows (a proxy, an emulator) has both on one host.
 */
export function apiOf(webhookUrl: URL): URL {
  const host = webhookUrl.host.replace(/^hooks\./, "");
  return new URL(`${webhookUrl.protocol}//${host}/api/`);
}

/** The workspace of Slack's that a webhook posts to, by its address; null for an address of another form. */
export const teamOf = (webhookUrl: string): string | null =>
  /^https?:\/\/[^/]+\/services\/(T[A-Z0-9]+)\//.exec(webhookUrl)?.[1] ?? null;
