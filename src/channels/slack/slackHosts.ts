import { isAllowedHost } from "#src/platform/publicWeb/hosts.ts";

/** The hosts to which the operator allows messages for Slack. */
export type SlackHosts = {
  /** `host` or `host:port`. */
  slackAllowedHosts: readonly string[];
  /** Allowed hosts that may use plain http and private addresses, as for webhooks. */
  webhookAllowedHosts: readonly string[];
};

/**
 * True if a Slack webhook may have this URL: an allowed host by https, or by http if webhooks may use it that way; no user name, no
 * password.
 */
export function isSlackUrl(url: URL, { slackAllowedHosts, webhookAllowedHosts }: SlackHosts): boolean {
  if (url.username !== "" || url.password !== "" || !isAllowedHost(url, slackAllowedHosts)) return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isAllowedHost(url, webhookAllowedHosts));
}

/** Checks the URL that Slack sends with a press, which is Slack's own, wherever the webhook is. */
export const isResponseUrl = (url: URL, hosts: SlackHosts): boolean =>
  isSlackUrl(url, { ...hosts, slackAllowedHosts: ["hooks.slack.com", ...hosts.slackAllowedHosts] });

/**
 * Returns the base URL of Slack's methods: `slack.com/api/` for webhooks of `hooks.slack.com`, and likewise for Slack's other clouds. A
 * stand-in that the operator allows (a proxy, an emulator) serves both on one host.
 */
export function apiOf(webhookUrl: URL): URL {
  const host = webhookUrl.host.replace(/^hooks\./, "");
  return new URL(`${webhookUrl.protocol}//${host}/api/`);
}

/** Returns the Slack workspace that a webhook URL posts to; null for a URL of another form. */
export const teamOf = (webhookUrl: string): string | null =>
  /^https?:\/\/[^/]+\/services\/(T[A-Z0-9]+)\//.exec(webhookUrl)?.[1] ?? null;
