import { pino } from "pino";
import { compose } from "#src/compose.ts";
import { loadConfig } from "#src/config.ts";
import type { TestDatabase } from "./postgres.ts";

/** What instances that share a database have to agree on, and what keeps their tests from waiting. */
export const sharedSettings = {
  SECRETS_KEYS: `k1:${Buffer.alloc(32, 7).toString("base64")}`,
  DNS_SERVERS: "127.0.0.1:9",
  RATE_LIMIT_READ: "off",
  RATE_LIMIT_WRITE: "off",
  RATE_LIMIT_SEND: "off",
};

/** Commands on the database of a running service, without any role of one. */
export function composeBeside(database: TestDatabase) {
  const { SECRETS_KEYS, DNS_SERVERS } = sharedSettings;
  const config = loadConfig({
    NODE_ENV: "test",
    PUBLIC_URL: "http://localhost:8080",
    DATABASE_URL: database.serviceUrl,
    DATABASE_OWNER_URL: database.ownerUrl,
    DNS_SERVERS,
    SECRETS_KEYS,
  });
  return compose(config, database, pino({ level: "silent" }));
}
