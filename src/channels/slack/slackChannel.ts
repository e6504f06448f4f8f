import type { ChatMessage } from "#streams/draft/events.ts";
import { allowedUsersOf } from "../allowedUsers.ts";
import { editPlace } from "../approvalView.ts";
import type { Channel, ChannelAnswer, ChannelRequest } from "../channel.ts";
import type { SlackAnswer } from "./answers.ts";
import { maxEditText } from "./editForm.ts";
import type { SlackApi } from "./slackApi.ts";
import { concludedMessage, type Deciding, noticeMessage, type SlackMessage, slackMessages } from "./slackCard.ts";
import { apiOf, isSlackUrl } from "./slackHosts.ts";

type SlackChannelOptions = {
  api: Pick<SlackApi, "post" | "hosts">;
  /** Signing secret of the service's own Slack app; an identity's own overrides it. */
  signingSecret: string | undefined;
  /** Maximum time in milliseconds for sending all messages of a question. */
  withinMs?: number;
};

/**
 * Asks approvers in a Slack channel. With a bot token and a channel the question is posted by chat.postMessage and can be changed later;
 * otherwise by the incoming webhook, which does not return where it was posted.
 */
export const slackChannel = ({ api, signingSecret, withinMs = 30_000 }: SlackChannelOptions): Channel => ({
  async ask(request) {
    const way = wayTo(api, request.channel.config);
    if ("fault" in way) return unreached({ ok: false, again: false, why: way.fault });
    const deciding = decidingIn(request.channel.config, signingSecret);
    const isForNamed = allowedUsersOf(request.channel.config) !== null;
    const messages = slackMessages(request.view.card, {
      ...request,
      ...{ deciding, isForNamed, edit: editPlace(request.view, maxEditText) },
    });
    const signal = AbortSignal.timeout(withinMs);
    const posted: ChatMessage = { chat: "", ids: [] };
    for (const message of messages) {
      const answer = await way.post(message, signal);
      if (!answer.ok) return unreached(answer);
      const { channel, ts } = answer.body;
      if (typeof channel !== "string" || typeof ts !== "string") continue;
      posted.chat = channel;
      posted.ids.push(ts);
    }
    return posted.ids.length === 0 ? { reached: true } : { reached: true, message: posted };
  },

  async conclude({ channel, message, ...what }) {
    const { bot_token: token } = channel.config;
    const url = targetOf(api, channel.config);
    const ts = message.ids.at(-1);
    if (!token || typeof url === "string" || ts === undefined) {
      return unreached({ ok: false, again: false, why: "without a bot_token a message in Slack cannot be changed" });
    }
    const body = { channel: message.chat, ts, ...concludedMessage(what) };
    const answer = await api.post(new URL("chat.update", apiOf(url)), body, { token });
    return answer.ok ? { reached: true } : unreached(answer);
  },

  async tell({ channel, lines }) {
    const way = wayTo(api, channel.config);
    if ("fault" in way) return unreached({ ok: false, again: false, why: way.fault }, nobodyTold);
    const answer = await way.post(noticeMessage(lines), AbortSignal.timeout(withinMs));
    return answer.ok ? { reached: true } : unreached(answer, nobodyTold);
  },
});

const nobodyAsked = "no approver was notified through the slack channel";
const nobodyTold = "nothing was posted in Slack";

/** Chooses the way of deciding: depends on whether Slack's presses can be verified, and a form for the reason can be opened. */
export function decidingIn(config: ChannelRequest["channel"]["config"], own: string | undefined): Deciding {
  if (!signingSecretOf(config, own)) return "linked";
  return config.bot_token ? "pressed" : "approved";
}

/** Returns the secret that verifies presses in a channel; an empty one was encrypted with a key that is gone, and verifies nothing. */
export const signingSecretOf = (
  config: ChannelRequest["channel"]["config"],
  own: string | undefined,
): string | undefined => (config.signing_secret ?? own) || undefined;

type PostingWay = { post(message: SlackMessage, signal: AbortSignal): Promise<SlackAnswer> };

function wayTo(
  api: SlackChannelOptions["api"],
  config: ChannelRequest["channel"]["config"],
): PostingWay | { fault: string } {
  const { bot_token: token, channel } = config;
  const url = targetOf(api, config);
  if (typeof url === "string") return { fault: url };
  if (token === "") return { fault: "its bot_token can no longer be decrypted: set it again" };
  if (token === undefined || !channel) return { post: (message, signal) => api.post(url, message, { signal }) };
  if (!/^[\x21-\x7e]+$/.test(token)) return { fault: "its bot_token has invalid characters: set it again" };
  const method = new URL("chat.postMessage", apiOf(url));
  return { post: (message, signal) => api.post(method, { channel, ...message }, { token, signal }) };
}

/** Returns the channel's webhook URL, or why it cannot be used. */
function targetOf(
  { hosts }: SlackChannelOptions["api"],
  { webhook_url: text = "" }: Record<string, string>,
): URL | string {
  if (text === "") return "its webhook_url can no longer be decrypted: set it again";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !isSlackUrl(url, hosts)) return "the host of its webhook_url is not in SLACK_ALLOWED_HOSTS";
  return url;
}

function unreached(
  { again, why, code }: Extract<SlackAnswer, { ok: false }>,
  what = nobodyAsked,
): Extract<ChannelAnswer, { reached: false }> {
  const remedy = code !== undefined && Object.hasOwn(remedies, code) ? remedies[code] : undefined;
  return { reached: false, again, error: `${what}: ${why}${remedy ? ` (${remedy})` : ""}` };
}

const newWebhook = "set a new webhook_url";
const newToken = "set a new bot_token";
const otherChannel = "name another channel";
const invite = "invite the app into the channel, or choose another channel";

const remedies: Partial<Record<string, string>> = {
  no_service: newWebhook,
  no_team: newWebhook,
  invalid_token: newWebhook,
  no_active_hooks: newWebhook,
  team_disabled: newWebhook,
  action_prohibited: "an administrator of Slack forbids it",
  posting_to_general_channel_denied: otherChannel,
  channel_is_archived: otherChannel,
  is_archived: otherChannel,
  channel_not_found: invite,
  not_in_channel: invite,
  invalid_auth: newToken,
  not_authed: newToken,
  account_inactive: newToken,
  token_revoked: newToken,
  token_expired: newToken,
  missing_scope: "the app needs the scope chat:write",
};
