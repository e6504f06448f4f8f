import type { DatabaseUrls } from "#src/platform/postgres/database.ts";

/** What every service of a test is given; instances that share a database agree on it. */
export const testSettings = {
  SECRETS_KEYS: `k1:${Buffer.alloc(32, 7).toString("base64")}`,
  // Nobody answers there: no test asks an outside host.
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

/** The same for one in the test's own process, which has them from nowhere else. */
export const settingsOn = ({ serviceUrl, ownerUrl }: DatabaseUrls): Record<string, string> => ({
  NODE_ENV: "test",
  PUBLIC_URL: "http://localhost:8080",
  DATABASE_URL: serviceUrl,
  DATABASE_OWNER_URL: ownerUrl,
  ...testSettings,
});
