import { Webhook } from "standardwebhooks";

/** Returns the headers of Standard Webhooks: one signature per secret, so that a receiver can rotate secrets in its own time. */
export const signedHeaders = ({
  id,
  at,
  body,
  secrets,
}: {
  id: string;
  at: Date;
  body: string;
  secrets: readonly string[];
}): Record<string, string> => ({
  "webhook-id": id,
  "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(" "),
});
