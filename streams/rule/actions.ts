import type { RuleAction } from "./events.ts";
import { invalidRule, requireLine, requireList, requireObject, requireOneOf } from "./validation.ts";

const maxTag = 64;
const maxSecret = 2048;

type Read = (given: unknown, path: string) => RuleAction;

/** Reads a rule's actions, in order. Throws Rejected invalid_request naming the path of the fault. */
export function readActions(value: unknown, path: string): RuleAction[] {
  return requireList(value, path).map((item, index) => readAction(item, `${path}[${index}]`));
}

function readAction(value: unknown, path: string): RuleAction {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidRule(path, "expected an object");
  const type = requireOneOf(
    (value as { type?: unknown }).type,
    `${path}.type`,
    Object.keys(reading) as RuleAction["type"][],
  );
  return reading[type](value, path);
}

const reading: Record<RuleAction["type"], Read> = {
  set_thread_status(given, path) {
    const { status } = requireObject(given, path, ["type", "status"]);
    const statuses = ["open", "waiting", "draft_pending", "closed"] as const;
    return { type: "set_thread_status", status: requireOneOf(status, `${path}.status`, statuses) };
  },
  set_approval_mode(given, path) {
    const { mode } = requireObject(given, path, ["type", "mode"]);
    return { type: "set_approval_mode", mode: requireOneOf(mode, `${path}.mode`, ["manual", "auto"]) };
  },
  skip_approval(given, path) {
    requireObject(given, path, ["type"]);
    return { type: "skip_approval" };
  },
  notify_channel(given, path) {
    const { channel: name, config } = requireObject(given, path, ["type", "channel", "config"]);
    const channel = requireOneOf(name, `${path}.channel`, ["telegram", "slack", "email"]);
    return { type: "notify_channel", channel, config: readConfig(config, `${path}.config`, channel) };
  },
  add_tag(given, path) {
    const { tag } = requireObject(given, path, ["type", "tag"]);
    return { type: "add_tag", tag: requireLine(tag, `${path}.tag`, maxTag) };
  },
  set_priority(given, path) {
    const { priority } = requireObject(given, path, ["type", "priority"]);
    const priorities = ["low", "normal", "high", "urgent"] as const;
    return { type: "set_priority", priority: requireOneOf(priority, `${path}.priority`, priorities) };
  },
};

/** Fields of an approval channel's configuration; `true`: required. */
const configs: Record<"telegram" | "slack" | "email", Record<string, boolean>> = {
  telegram: { bot_token: true, chat_id: true },
  slack: { webhook_url: true, channel: false, signing_secret: false, bot_token: false },
  email: { to: true },
};

/** Matches one plain address: a comma, a name or a group would make it several recipients. */
const plainAddress = /^(?=.{3,254}$)[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;

function readConfig(value: unknown, path: string, channel: keyof typeof configs): Record<string, string> {
  const fields = configs[channel];
  const given = requireObject(value, path, Object.keys(fields));
  const config: Record<string, string> = {};
  for (const [name, required] of Object.entries(fields)) {
    if (!required && given[name] === undefined) continue;
    config[name] = requireLine(given[name], `${path}.${name}`, maxSecret);
  }
  if (config.to !== undefined && !plainAddress.test(config.to))
    throw invalidRule(`${path}.to`, "expected one plain email address");
  return config;
}
