import type { RuleAction } from "./events.ts";
import { lineAt, listAt, objectWith, oneOf, wrong } from "./judging.ts";

const maxTag = 64;
const maxSecret = 2048;

type Read = (given: unknown, path: string) => RuleAction;

/** Reads a rule's actions, in order. Throws Rejected invalid_request naming the path of the fault. */
export function readActions(value: unknown, path: string): RuleAction[] {
  return listAt(value, path).map((item, index) => readAction(item, `${path}[${index}]`));
}

function readAction(value: unknown, path: string): RuleAction {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(path, "expected an object");
  const type = oneOf((value as { type?: unknown }).type, `${path}.type`, Object.keys(reading) as RuleAction["type"][]);
  return reading[type](value, path);
}

const reading: Record<RuleAction["type"], Read> = {
  set_thread_status(given, path) {
    const { status } = objectWith(given, path, ["type", "status"]);
    const statuses = ["open", "waiting", "draft_pending", "closed"] as const;
    return { type: "set_thread_status", status: oneOf(status, `${path}.status`, statuses) };
  },
  set_approval_mode(given, path) {
    const { mode } = objectWith(given, path, ["type", "mode"]);
    return { type: "set_approval_mode", mode: oneOf(mode, `${path}.mode`, ["manual", "auto"]) };
  },
  skip_approval(given, path) {
    objectWith(given, path, ["type"]);
    return { type: "skip_approval" };
  },
  notify_channel(given, path) {
    const { channel: name, config } = objectWith(given, path, ["type", "channel", "config"]);
    const channel = oneOf(name, `${path}.channel`, ["telegram", "slack", "email"]);
    return { type: "notify_channel", channel, config: readConfig(config, `${path}.config`, channel) };
  },
  add_tag(given, path) {
    const { tag } = objectWith(given, path, ["type", "tag"]);
    return { type: "add_tag", tag: lineAt(tag, `${path}.tag`, maxTag) };
  },
  set_priority(given, path) {
    const { priority } = objectWith(given, path, ["type", "priority"]);
    const priorities = ["low", "normal", "high", "urgent"] as const;
    return { type: "set_priority", priority: oneOf(priority, `${path}.priority`, priorities) };
  },
};

/** Fields of an approval channel's configuration; `true`: required. */
const configs: Record<"telegram" | "slack" | "email", Record<string, boolean>> = {
  telegram: { bot_token: true, chat_id: true },
  slack: { webhook_url: true, channel: false, signing_secret: false, bot_token: false },
  email: { to: true },
};

/** One plain address: a comma, a name or a group would make it several recipients. */
const plainAddress = /^(?=.{3,254}$)[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;

function readConfig(value: unknown, path: string, channel: keyof typeof configs): Record<string, string> {
  const fields = configs[channel];
  const given = objectWith(value, path, Object.keys(fields));
  const config: Record<string, string> = {};
  for (const [name, required] of Object.entries(fields)) {
    if (!required && given[name] === undefined) continue;
    config[name] = lineAt(given[name], `${path}.${name}`, maxSecret);
  }
  if (config.to !== undefined && !plainAddress.test(config.to))
    throw wrong(`${path}.to`, "expected one plain email address");
  return config;
}
