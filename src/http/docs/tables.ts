import { globalAttributes, keptAttributes, keptElements, keptProperties } from "#src/html/reduce/names.ts";
import { measures } from "#src/platform/metrics/metrics.ts";
import { type Role, roles } from "#streams/member/roles.ts";
import { fieldsOf } from "#streams/rule/content.ts";
import { operators, triggerEvents } from "#streams/rule/events.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { statuses } from "../framework/errors.ts";
import { allScopes, namedScopes, scopes } from "../framework/keys/scopes.ts";
import { keysPerWorkspace } from "../framework/rateLimits/rateLimits.ts";
import { scopesOf } from "../framework/roles.ts";
import type { LimitClass, Route } from "../framework/route.ts";
import { nextSteps } from "../mcp/errors.ts";
import type { Tool } from "../mcp/tool.ts";
import { tools } from "../mcp/tools/index.ts";
import { mailKindsTable } from "./documents.ts";
import { errorMeanings } from "./errorMeanings.ts";
import { eventKinds } from "./eventKinds.ts";
import { historyTypes } from "./historyTypes.ts";
import { ruleActions } from "./ruleActions.ts";
import { code, codes, table } from "./table.ts";

/** A setting of the service, as src/settings/settings.ts describes it. */
export type DescribedSetting = {
  name: string;
  /** The allowed values. */
  takes: string;
  unit?: string;
  /** Default value as written in `.env`, or a description. */
  default: string;
  meaning: string;
};

/** Additional input of the generated tables. */
export type Declared = { routes: readonly Route[]; settings: readonly DescribedSetting[] };

/** Tables generated from constants and files only. */
export const fixedTables = (): Record<string, string> => ({
  scopes: table(
    ["scope", "may", "a new key has it"],
    Object.entries(scopes).map(([name, may]) => [
      code(name),
      may,
      isNamed(name) ? "if it is named" : "unless others are named",
    ]),
  ),
  roles: table(
    ["role", "scopes"],
    roles.map((role) => [code(role), scopesInWords(role)]),
  ),
  errors: table(
    ["status", "error", "what it means"],
    Object.entries(errorMeanings).map(([name, means]) => [statusesOf(name), code(name), means]),
  ),
  history: table(
    ["type", "what happened"],
    Object.entries(historyTypes).map(([type, says]) => [code(type), says]),
  ),
  events: table(
    ["kind", "when", "`data`"],
    Object.entries(eventKinds).map(([kind, { when, data }]) => [code(kind), when, codes(data)]),
  ),
  plans: table(
    ["plan", "mails sent", "mails received", "identities", "rules", "domains", "counted"],
    Object.entries(planLimits).map(([plan, { emailsPerPeriod, inboundPerPeriod, identities, rules, domains }]) => [
      ...[code(plan), ...[emailsPerPeriod, inboundPerPeriod, identities, rules, domains].map(String)],
      plan === "builder_pack" ? "once, for the life of the workspace" : "in each period",
    ]),
  ),
  html: table(
    ["what", "which"],
    [
      ["elements", codes(keptElements)],
      ["attributes of any element", codes(globalAttributes)],
      ...[...keptAttributes].map(([element, attributes]) => [`attributes of ${code(element)}`, codes(attributes)]),
      ["style properties", codes(keptProperties)],
    ],
  ),
  mailKinds: mailKindsTable(),
  ruleFields: table(
    ["trigger", "fields of its conditions"],
    triggerEvents.map((trigger) => [code(trigger), codes(fieldsOf[trigger])]),
  ),
  ruleOperators: table(["operators"], [[codes(operators)]]),
  ruleActions: table(
    ["action", "fields", "does"],
    Object.entries(ruleActions).map(([type, { fields, does }]) => [code(type), codes(fields) || "none", does]),
  ),
  metrics: table(
    ["metric", "kind", "labels", "meaning"],
    Object.values(measures).map(({ name, kind, labels, help }) => [code(name), kind, codes(labels) || "none", help]),
  ),
});

/** Tables of the MCP tools and the advice given on errors. */
const mcpTables = (): Record<string, string> => ({
  mcpTools: table(
    ["tool", "scopes", "rate class", "effect", "description for the model"],
    tools.map(({ name, scopes: needed, limit, annotations, description }) => [
      ...[code(name), codes(needed), limit, effectOf(annotations), inOneLine(description)],
    ]),
  ),
  mcpNext: table(
    ["error", "next step for the model"],
    Object.entries(nextSteps).map(([name, says]) => [code(name), says]),
  ),
});

function effectOf({ readOnlyHint, destructiveHint, openWorldHint }: Tool["annotations"]): string {
  if (readOnlyHint) return "reads";
  const effect = openWorldHint ? "may cause mail to be sent" : "changes";
  return destructiveHint ? `${effect}, cannot be undone` : effect;
}

const inOneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** All generated tables. */
export const allTables = ({ routes, settings }: Declared): Record<string, string> => ({
  ...fixedTables(),
  ...mcpTables(),
  routes: table(
    ["route", "scope", "rate class", "what it does"],
    routes.map(({ method, path, scope, limit, options }) => [
      ...[code(`${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`), scope === null ? "no key" : code(scope)],
      ...[limit, options.summary],
    ]),
  ),
  limits: table(
    ["class", "requests a minute", "counted by", "routes"],
    Object.entries(limitClasses)
      .map(([name, { setting, countedBy }]) => {
        const defaultRate = settings.find((each) => each.name === setting)?.default ?? "";
        return [code(name), `${defaultRate} (${code(setting)})`, countedBy, routesOf(routes, name as LimitClass)];
      })
      .filter(([, , , its]) => its !== ""),
  ),
  times: table(
    ["what", "by default", "setting"],
    settings
      .filter(({ unit }) => unit === "seconds" || unit === "hours")
      .map(({ name, default: value, unit, meaning }) => [
        meaning,
        inWords(value, unit === "hours" ? 3_600 : 1),
        code(name),
      ]),
  ),
  settings: table(
    ["setting", "default", "takes", "meaning"],
    settings.map(({ name, default: value, takes, unit, meaning }) => [
      ...[code(name), value, unit && !takes.includes(unit) ? `${takes} (${unit})` : takes, meaning],
    ]),
  ),
});

/** Durations as words: `5 s, 5 min, 2 h`. `value`: comma-separated numbers; `secondsEach`: their unit. */
const inWords = (value: string, secondsEach: number): string =>
  value
    .split(",")
    .map((each) => duration(Number(each) * secondsEach))
    .join(", ");

function duration(seconds: number): string {
  if (seconds % 3_600 === 0 && seconds > 0) return `${seconds / 3_600} h`;
  return seconds % 60 === 0 && seconds >= 120 ? `${seconds / 60} min` : `${seconds} s`;
}

/** The scopes of a role; or those that it lacks, if they are few. */
function scopesInWords(role: Role): string {
  const has = scopesOf(role);
  const lacks = allScopes.filter((scope) => !has.includes(scope));
  if (lacks.length === 0) return "all";
  if (lacks.length <= 3) return `all but ${codes(lacks)}`;
  return allScopes.every((scope) => has.includes(scope) === scope.startsWith("read:")) ? "every `read:…`" : codes(has);
}

const isNamed = (scope: string): boolean => (namedScopes as string[]).includes(scope);

/** invalid_request has two statuses: 409 if a name is taken. */
const statusesOf = (error: string): string =>
  error === "invalid_request" ? "422, 409" : String(statuses[error as keyof typeof statuses]);

const keysAndWorkspace = `API key; ${keysPerWorkspace} times as many for all keys of a workspace`;

/** The setting of each class, and what its requests are counted by. */
const limitClasses: Record<LimitClass, { setting: string; countedBy: string }> = {
  read: { setting: "RATE_LIMIT_READ", countedBy: keysAndWorkspace },
  write: { setting: "RATE_LIMIT_WRITE", countedBy: keysAndWorkspace },
  send: { setting: "RATE_LIMIT_SEND", countedBy: keysAndWorkspace },
  notify: { setting: "RATE_LIMIT_NOTIFY", countedBy: "workspace" },
  test_email: { setting: "RATE_LIMIT_TEST_EMAIL", countedBy: keysAndWorkspace },
  auth: { setting: "RATE_LIMIT_AUTH", countedBy: "address" },
};

/** The routes of a class. The two large classes are described by method, plus exceptions; the others list all routes. */
function routesOf(routes: readonly Route[], limit: LimitClass): string {
  const usual = ({ method }: Route) => (method === "GET" ? "read" : "write");
  const beside = routes.filter((route) => route.limit === limit && usual(route) !== limit);
  const named = beside.map(({ method, path }) => code(`${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`));
  if (limit === "read") return ["every `GET`", ...named].join(", ");
  if (limit === "write") return ["every `POST`, `PATCH` and `DELETE` of no other class", ...named].join(", ");
  return named.join(", ");
}
