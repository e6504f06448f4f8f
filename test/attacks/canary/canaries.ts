/**
 * Every secret that operators, tenants and people give the service. A new secret setting or field gets a line here.
 * Each is unlike any other text, so that a match identifies it.
 */

/** Secrets of the operator, by setting. */
export const operatorSecrets = {
  SMTP_URL: "canary-smtp-password-Xq81",
  SECRETS_KEYS: Buffer.from("canary-key-ring-of-32-bytes-Lm42").toString("base64"),
  METRICS_TOKEN: "canary-metrics-token-Zt55-0123456789",
  OUTBOX_TOKEN: "canary-outbox-token-Wp93-0123456789",
  SENDGRID_API_KEY: "SG.canarySendGridKey.Rk17abcdefghijklmnop",
  SENDGRID_INBOUND_SECRET: "canary-sendgrid-inbound-secret-Bv68-0123456789",
  SLACK_SIGNING_SECRET: "canary-slack-service-signing-Hd20",
  STRIPE_SECRET_KEY: "sk_test_canaryStripeSecretKeyPj39",
  STRIPE_WEBHOOK_SECRET: "whsec_canaryStripeWebhookSecretNc74",
} as const;

/** Secrets of a tenant, by the field that takes them. */
export const tenantSecrets = {
  "telegram bot_token": "123456789:canaryTelegramBotTokenAbCdEfGhIjKlMn",
  "slack webhook_url": "canarySlackWebhookPathGf06",
  "slack signing_secret": "canary-slack-identity-signing-Ue31",
  "slack bot_token": "xoxb-canary-slack-bot-token-Kx52",
  "rule's slack webhook_url": "canaryRuleWebhookPathQw88",
} as const;

/** Secrets of a person. */
export const personSecrets = {
  "a person's password": "canary herons over quay Wd84",
  "a person's next password": "canary lanterns under ice Tn27",
  "a wrong password": "canary wrong password Vb60",
} as const;

/** Returns the forms in which an unsealed secret may be written. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // Basic credentials have a name before the secret, so base64 can start at any of three offsets.
  const within = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(shift === 0 ? 0 : 4)
      .replace(/.{4}=*$|=+$/, ""),
  );
  return [...new Set([secret, encodeURIComponent(secret), bytes.toString("hex"), ...within])];
}

/** Returns a function that names the secrets contained in a text. */
export function finderOf(secrets: Readonly<Record<string, string>>): (text: string) => string[] {
  const forms = Object.entries(secrets).map(([name, secret]) => ({ name, forms: formsOf(secret) }));
  return (text) => forms.filter((each) => each.forms.some((form) => text.includes(form))).map(({ name }) => name);
}

export const givenAway = (text: string, secrets: Readonly<Record<string, string>>): string[] => finderOf(secrets)(text);
