import type { DatabaseUrls } from "#src/platform/postgres/database.ts";

/** Settings of every service of a test; instances that share a database have the same ones. */
export const testSettings = {
  SECRETS_KEYS: `k1:${Buffer.alloc(32, 7).toString("base64")}`,
  // An address without a DNS server, so that no test queries an outside host.
  DNS_SERVERS: "127.0.0.1:9",
  TELEGRAM_API_ROOT: "http://127.0.0.1:9",
  SERVICE_MAIL_PER_HOUR: "off",
  ...Object.fromEntries(
    ["READ", "WRITE", "SEND", "NOTIFY", "TEST_EMAIL", "BAD_KEY", "BAD_LINK", "DOCUMENT"].map((kind) => [
      `RATE_LIMIT_${kind}`,
      "off",
    ]),
  ),
};

/** All settings of a service in the test's own process. */
export const settingsOn = ({ serviceUrl, ownerUrl }: DatabaseUrls): Record<string, string> => ({
  NODE_ENV: "test",
  PUBLIC_URL: "http://localhost:8080",
  DATABASE_URL: serviceUrl,
  DATABASE_OWNER_URL: ownerUrl,
  ...testSettings,
});
