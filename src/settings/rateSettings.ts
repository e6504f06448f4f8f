import Type from "typebox";
import { Rate, TwoOf, Whole } from "./settingKinds.ts";

const rate = (what: string, perMinute?: number) =>
  Rate({
    description: `How many ${what} are answered; off lifts the limit.`,
    ...(perMinute === undefined ? { otherwise: "each route that signs in has its own" } : { default: perMinute }),
  });

/** Limits: numbers of connections, and requests per minute by caller and kind. */
export const rateSettings = {
  HTTP_CONNECTIONS: TwoOf(Whole(1, 1_000_000), {
    default: [4_000, 200],
    description:
      "How many connections HTTP holds at once, and how many of them one address may have; the second limit is not for the proxies of TRUST_PROXY or this machine.",
  }),
  RATE_LIMIT_READ: rate("reading requests of one API key, and five times as many of all keys of its workspace,", 60),
  RATE_LIMIT_WRITE: rate("writing requests of one API key, and five times as many of all keys of its workspace,", 20),
  RATE_LIMIT_SEND: rate("requests of one API key that send, and five times as many of all keys of its workspace,", 10),
  RATE_LIMIT_NOTIFY: rate("requests of one workspace to notify approvers", 10),
  RATE_LIMIT_TEST_EMAIL: rate(
    "requests of one API key for a test mail, and five times as many of all keys of its workspace,",
    10,
  ),
  RATE_LIMIT_AUTH: Type.Optional(rate("requests of one address to sign in")),
  RATE_LIMIT_BAD_KEY: rate("requests of one address without a live API key", 60),
  RATE_LIMIT_BAD_LINK: rate("requests of one address for links of our mails that do not exist", 30),
  RATE_LIMIT_CONSOLE: rate("pages and forms of one person who is signed in", 300),
  RATE_LIMIT_DOCUMENT: rate("requests of one address for the front page and the documents", 120),
};
