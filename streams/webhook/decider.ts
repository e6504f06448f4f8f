import { type Decider, Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type WebhookEvent, type WebhookSecret, type WebhookSettings, webhookStream } from "./events.ts";

export type Webhook = {
  exists: boolean;
  deleted: boolean;
  workspaceId: string;
  settings: WebhookSettings;
  /** Why the service itself disabled it; null unless it did. */
  disabledBecause: string | null;
  secret: WebhookSecret;
  /** Replaced secrets, newest first, and until when each still signs. */
  previous: readonly { secret: WebhookSecret; until: string }[];
};

export type WebhookCommand =
  | { type: "CreateWebhook"; webhook: WebhookSettings & { workspaceId: string; secret: WebhookSecret } }
  | { type: "UpdateWebhook"; changes: Partial<WebhookSettings> }
  | { type: "RotateSecret"; secret: WebhookSecret; previousUntil: string }
  | { type: "ResealSecrets"; secrets: WebhookSecret[] }
  | { type: "DisableWebhook"; because: string }
  | { type: "DeleteWebhook" };

/** Replaced secrets kept, at most: every one signs, and a header with more signatures is useless. */
const maxPrevious = 4;

function decide(command: WebhookCommand, webhook: Webhook): WebhookEvent[] {
  if (command.type === "CreateWebhook") {
    return webhook.exists ? [] : [{ type: "WebhookCreated", data: command.webhook }];
  }
  if (!webhook.exists || webhook.deleted) throw new Rejected("not_found", "no such webhook");
  switch (command.type) {
    case "UpdateWebhook": {
      const changes = changed(webhook.settings, command.changes);
      return Object.keys(changes).length === 0 ? [] : [{ type: "WebhookUpdated", data: { changes } }];
    }
    case "RotateSecret": {
      const { secret, previousUntil } = command;
      const known = [webhook.secret, ...webhook.previous.map((each) => each.secret)].some(({ id }) => id === secret.id);
      return known ? [] : [{ type: "WebhookSecretRotated", data: { secret, previousUntil } }];
    }
    case "ResealSecrets": {
      const kept = [webhook.secret, ...webhook.previous.map((each) => each.secret)];
      const secrets = command.secrets.filter(({ id, sealed }) =>
        kept.some((secret) => secret.id === id && secret.sealed !== sealed),
      );
      return secrets.length === 0 ? [] : [{ type: "WebhookSecretsResealed", data: { secrets } }];
    }
    case "DisableWebhook":
      return webhook.settings.status === "disabled"
        ? []
        : [{ type: "WebhookDisabled", data: { because: command.because } }];
    case "DeleteWebhook":
      return [{ type: "WebhookDeleted", data: {} }];
    default:
      return unreachable(command);
  }
}

const changed = (settings: WebhookSettings, changes: Partial<WebhookSettings>): Partial<WebhookSettings> =>
  Object.fromEntries(
    Object.entries(changes).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(settings[name as keyof WebhookSettings]),
    ),
  );

function evolve(webhook: Webhook, event: WebhookEvent): Webhook {
  switch (event.type) {
    case "WebhookCreated": {
      const { workspaceId, secret, ...settings } = event.data;
      return { exists: true, deleted: false, workspaceId, settings, disabledBecause: null, secret, previous: [] };
    }
    case "WebhookUpdated": {
      const { changes } = event.data;
      const settings = { ...webhook.settings, ...changes };
      return { ...webhook, settings, disabledBecause: changes.status ? null : webhook.disabledBecause };
    }
    case "WebhookSecretRotated": {
      const { secret, previousUntil: until } = event.data;
      const previous = [{ secret: webhook.secret, until }, ...webhook.previous].slice(0, maxPrevious);
      return { ...webhook, secret, previous };
    }
    case "WebhookSecretsResealed": {
      const { secrets } = event.data;
      const again = (secret: WebhookSecret) => secrets.find(({ id }) => id === secret.id) ?? secret;
      const previous = webhook.previous.map((each) => ({ ...each, secret: again(each.secret) }));
      return { ...webhook, secret: again(webhook.secret), previous };
    }
    case "WebhookDisabled":
      return {
        ...webhook,
        settings: { ...webhook.settings, status: "disabled" },
        disabledBecause: event.data.because,
      };
    case "WebhookDeleted":
      return { ...webhook, deleted: true };
    default:
      return unreachable(event);
  }
}

export const webhookDecider: Decider<Webhook, WebhookCommand, WebhookEvent> = {
  category: "webhook",
  initial: {
    exists: false,
    deleted: false,
    workspaceId: "",
    settings: { url: "", events: [], identityIds: null, description: null, status: "active" },
    disabledBecause: null,
    secret: { id: "", sealed: "" },
    previous: [],
  },
  evolve,
  decide,
};

export const webhooks = stream({ decider: webhookDecider, name: webhookStream });
