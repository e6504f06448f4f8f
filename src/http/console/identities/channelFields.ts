import { shortLine } from "#src/html/visible.ts";

export type ChannelType = "email" | "telegram" | "slack";

/** A channel as the API shows it, with masked secrets. */
export type ShownChannel = { type: ChannelType; config: Record<string, string> };

export type ChannelField = { name: string; label: string; hint: string; required?: true; secret?: true };

/** All channel types of the API, and the fields of their `config`. */
export const channelTypes: Record<ChannelType, { label: string; hint: string; fields: readonly ChannelField[] }> = {
  email: {
    label: "Mail",
    hint: "The approver gets a mail with the draft and two links. Use a person's mailbox: an address of this service is refused.",
    fields: [
      { name: "to", label: "Approver's address", hint: "One mailbox. Anyone who reads it can decide.", required: true },
    ],
  },
  telegram: {
    label: "Telegram",
    hint: "Your own bot asks in a chat. Create one with @BotFather, and add it to the chat.",
    fields: [
      {
        name: "bot_token",
        label: "Bot token",
        hint: "The token that @BotFather gave you.",
        required: true,
        secret: true,
      },
      {
        name: "chat_id",
        label: "Chat id",
        hint: "The chat's number; a group's begins with a minus. Or the @name of a public group or channel.",
        required: true,
      },
      {
        name: "allowed_users",
        label: "Who may decide",
        hint: "Ids of Telegram users, separated by commas. Empty: every member of the chat.",
      },
    ],
  },
  slack: {
    label: "Slack",
    hint: "Your own Slack app posts in a channel. A webhook is enough to ask; the fields below add buttons that decide.",
    fields: [
      {
        name: "webhook_url",
        label: "Webhook URL",
        hint: "The URL of an incoming webhook of your app.",
        required: true,
        secret: true,
      },
      {
        name: "signing_secret",
        label: "Signing secret",
        hint: "From the same app. It proves who pressed a button.",
        secret: true,
      },
      {
        name: "bot_token",
        label: "Bot token",
        hint: "From the same app. With it, cards change after a decision, and Reject asks for a reason.",
        secret: true,
      },
      {
        name: "channel",
        label: "Channel",
        hint: "The channel that the bot posts in: its id, or a public channel's name.",
      },
      {
        name: "allowed_users",
        label: "Who may decide",
        hint: "Ids of Slack users, separated by commas; needs the bot token and a signing secret. Empty: every member of the channel.",
      },
    ],
  },
};

export const isChannelType = (text: string | null): text is ChannelType =>
  text !== null && Object.hasOwn(channelTypes, text);

/** The name of an input. It contains the type, because several types have fields of the same name. */
export const inputName = (channel: string, type: ChannelType, field: string): string => `${channel}.${type}.${field}`;

export const typeInput = (channel: string): string => `${channel}.type`;

/** The channel in a form, as the API accepts it; null: none; undefined: the form has no channel fields. */
export function readChannel(form: URLSearchParams, channel: string): ShownChannel | null | undefined {
  const type = form.get(typeInput(channel));
  if (type === null) return undefined;
  if (!isChannelType(type)) return null;
  const config: Record<string, string> = {};
  for (const { name } of channelTypes[type].fields) {
    const value = form.get(inputName(channel, type, name))?.trim() ?? "";
    if (value !== "") config[name] = value;
  }
  return { type, config };
}

/** Fills a channel's values into form inputs. */
export function writeChannel(form: URLSearchParams, name: string, channel: ShownChannel | null): void {
  form.set(typeInput(name), channel?.type ?? "none");
  for (const [field, value] of Object.entries(channel?.config ?? {})) {
    form.set(inputName(name, channel!.type, field), value);
  }
}

/** A channel's recipient in a few words: "ann@example.com (mail)". Never contains a secret. */
export function channelInWords({ type, config }: ShownChannel): string {
  switch (type) {
    case "email":
      return `${shortLine(config.to ?? "", 100)} (mail)`;
    case "telegram":
      return `chat ${shortLine(config.chat_id ?? "", 40)} (Telegram)`;
    case "slack":
      return config.channel ? `${shortLine(config.channel, 60)} (Slack)` : "a Slack webhook";
  }
}
