import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { createApiKey } from "#src/commands/apiKeys.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { isUuid } from "#src/commands/ids.ts";
import { invitationLink } from "#src/commands/members/invitations.ts";
import { invite as inviteMember } from "#src/commands/members/members.ts";
import { createWorkspace, setPlanByOperator } from "#src/commands/workspaces.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { firstKeyScopes } from "#src/http/framework/keys/scopes.ts";
import { formats } from "#src/http/framework/validation/formats.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { type Role, roles } from "#streams/member/roles.ts";
import { type Workspace, workspaceDecider } from "#streams/workspace/decider.ts";
import type { Plan, PlanStatus, WorkspaceEvent } from "#streams/workspace/events.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { untilReadable } from "./support/readable.ts";
import { terminalJson } from "./support/terminalJson.ts";

const usage = `Manages workspaces, for the operator. Works beside a running service.

  npm run workspace -- create --name NAME [--plan builder_pack|pro|agency] [--beta] [--owner EMAIL]
  npm run workspace -- invite --workspace ID --email EMAIL [--role owner|admin|approver|auditor]
  npm run workspace -- set-plan --workspace ID [--plan builder_pack|pro|agency]
                                [--status trialing|active|past_due|canceled] [--beta true|false]
                                [--trial-ends TIME|none] [--period-start TIME|none] [--period-end TIME|none]
  npm run workspace -- list

Times are ISO 8601. --plan starts a period now, with new counters, unless the times of one are given. If nobody
named a period, calendar months since the workspace was created apply. A workspace with a subscription at the payment
processor follows that again as soon as the processor says something of it.
invite and --owner print the link of an invitation, which you hand over: no mail is sent. It is good for 7 days, for that
address alone, and once; invited again, only the newest link is good. Without --role it is the owner's.
The output is JSON. The API key of a new workspace is shown only once. While the running service is still
catching up with its event log, the command waits until the service knows of the change.`;

/** The result to show, and the position of the log at which a running service has read it. */
type CommandResult = { shown: unknown; position?: number };
type Run = (deps: Dependencies) => Promise<CommandResult>;

const plans: readonly Plan[] = ["builder_pack", "pro", "agency"];
const statuses: readonly PlanStatus[] = ["trialing", "active", "past_due", "canceled"];
const maxNameBytes = 255;

const planOptions = {
  workspace: "string",
  plan: "string",
  status: "string",
  beta: "string",
  "trial-ends": "string",
  "period-start": "string",
  "period-end": "string",
} as const;

/** Parses the arguments to an action; throws Misuse before anything is changed. */
function read([command, ...rest]: string[]): Run {
  switch (command) {
    case "create":
      return create(options(rest, { name: "string", plan: "string", beta: "boolean", owner: "string" }));
    case "invite":
      return invite(options(rest, { workspace: "string", email: "string", role: "string" }));
    case "set-plan":
      return changePlan(options(rest, planOptions));
    case "list":
      options(rest, {});
      return async ({ store }) => ({ shown: await list(store) });
    default:
      throw new Misuse(command === undefined ? "Give a command." : `Unknown command: ${command}.`);
  }
}

type Given = Record<string, string | boolean | undefined>;

function options(args: string[], known: Record<string, "string" | "boolean">): Given {
  const config = Object.fromEntries(Object.entries(known).map(([name, type]) => [name, { type }]));
  return parseArgs({ args, options: config, strict: true, allowPositionals: false }).values as Given;
}

function oneOf<T extends string>(name: string, value: unknown, allowed: readonly T[]): T | undefined {
  const found = allowed.find((each) => each === value);
  if (value !== undefined && found === undefined) throw new Misuse(`--${name}: expected ${allowed.join(", ")}.`);
  return found;
}

function create({ name, plan: givenPlan, beta, owner: givenOwner }: Given): Run {
  if (typeof name !== "string" || name.trim() === "") throw new Misuse("--name is required.");
  if (Buffer.byteLength(name) > maxNameBytes) throw new Misuse(`--name: expected at most ${maxNameBytes} bytes.`);
  const plan = oneOf("plan", givenPlan, plans) ?? "builder_pack";
  const owner = givenOwner === undefined ? undefined : address("owner", givenOwner);
  return async (deps) => {
    const cause = byOperator();
    const { workspaceId } = await createWorkspace(deps, { name, plan, betaOverride: beta === true }, cause);
    const wish = { workspaceId, name: "first key", scopes: firstKeyScopes };
    const { key, position } = await createApiKey(deps, wish, cause);
    const shown = { workspace_id: workspaceId, api_key: key };
    if (owner === undefined) return { shown, position };
    const invited = await invitedAs(deps, { workspaceId, email: owner, role: "owner" });
    return { shown: { ...shown, ...(invited.shown as object) }, position: invited.position };
  };
}

function invite({ workspace, email: givenEmail, role: givenRole }: Given): Run {
  const workspaceId = workspaceIn(workspace);
  const email = address("email", givenEmail);
  const role = oneOf("role", givenRole, roles) ?? "owner";
  return async (deps) => {
    if (!(await deps.workspaces.load(workspaceId)).state.exists)
      throw new Misuse(`There is no workspace ${workspaceId}.`);
    return invitedAs(deps, { workspaceId, email, role });
  };
}

async function invitedAs(
  deps: Dependencies,
  invitation: { workspaceId: string; email: string; role: Role },
): Promise<Required<CommandResult>> {
  const { workspaceId, email, role } = invitation;
  const { memberId, position } = await inviteMember(deps, invitation, { ...byOperator(), workspaceId });
  const { state } = await deps.members.load(workspaceId);
  if (state.members.some((member) => member.memberId === memberId && member.status === "active"))
    throw new Misuse(`${email} is a member already, as ${role}.`);
  const link = await invitationLink(deps, { workspaceId, memberId });
  return { shown: { invited: email, role, invitation: link }, position };
}

function workspaceIn(given: unknown): string {
  if (typeof given !== "string" || !isUuid(given)) throw new Misuse("--workspace: expected a workspace id.");
  return given.toLowerCase();
}

function address(name: string, given: unknown): string {
  const { expected, test } = formats["email-address"]!;
  if (typeof given !== "string" || !test(given)) throw new Misuse(`--${name}: expected ${expected}.`);
  return given;
}

function changePlan({ workspace, plan: givenPlan, status, beta, ...times }: Given): Run {
  const workspaceId = workspaceIn(workspace);
  const plan = oneOf("plan", givenPlan, plans);
  const planStatus = oneOf("status", status, statuses);
  const betaText = oneOf("beta", beta, ["true", "false"]);
  const betaOverride = betaText === undefined ? undefined : betaText === "true";
  const trialEndsAt = time("trial-ends", times);
  const currentPeriodStart = time("period-start", times);
  const currentPeriodEnd = time("period-end", times);
  const given = { plan, planStatus, betaOverride, trialEndsAt, currentPeriodStart, currentPeriodEnd };
  if (Object.values(given).every((value) => value === undefined)) {
    throw new Misuse("Give something to set: --plan, --status, --beta or one of the times.");
  }
  if (currentPeriodStart && currentPeriodEnd && currentPeriodStart >= currentPeriodEnd) {
    throw new Misuse("--period-end: expected a time after --period-start.");
  }
  return async (deps) => {
    await setPlanByOperator(deps, { workspaceId, ...given }, { ...byOperator(), workspaceId });
    const { state, position } = await deps.workspaces.load(workspaceId);
    return { shown: shown(workspaceId, state), position };
  };
}

function time(name: string, times: Given): string | null | undefined {
  const value = times[name];
  if (value === undefined || value === "none") return value === undefined ? undefined : null;
  const at = new Date(value as string);
  if (Number.isNaN(at.getTime())) throw new Misuse(`--${name}: expected a time (ISO 8601) or none.`);
  return at.toISOString();
}

/** Reads the log itself: a service that is stopped, or lags, would show an older list. */
async function list(store: EventStore): Promise<unknown> {
  const workspaces = new Map<string, Workspace>();
  const head = await store.head();
  const done = new AbortController();
  if (head === 0) return [];
  for await (const batch of store.subscribe({ after: 0, categories: ["workspace"], signal: done.signal })) {
    for (const event of batch.events as Recorded<WorkspaceEvent>[]) {
      const id = idOf(event.stream);
      workspaces.set(id, workspaceDecider.evolve(workspaces.get(id) ?? workspaceDecider.initial, event));
    }
    if (batch.position >= head) break;
  }
  done.abort();
  return [...workspaces].map(([id, workspace]) => shown(id, workspace));
}

const shown = (id: string, workspace: Workspace) => ({
  workspace_id: id,
  name: workspace.name,
  plan: workspace.plan,
  plan_status: workspace.planStatus,
  beta_override: workspace.betaOverride,
  trial_ends_at: workspace.trialEndsAt,
  current_period_start: workspace.currentPeriodStart,
  current_period_end: workspace.currentPeriodEnd,
  months_from: workspace.periodsFrom,
  sending_paused: workspace.sendingPaused,
  created_at: workspace.createdAt,
});

function byOperator(): Cause {
  const requestId = randomUUID();
  const actor = { kind: "operator", id: "npm run workspace" } as const;
  return { actor, workspaceId: null, correlationId: requestId, causationId: requestId };
}

await runCommand(usage, async () => {
  const run = read(process.argv.slice(2));
  await withComposition(async (composition) => {
    const { shown, position } = await run(composition.deps);
    console.log(terminalJson(shown, 2));
    if (position !== undefined) await untilReadable(composition, ["workspaces", "apiKeys", "members"], position);
  });
});
