import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import { parseArgs } from "node:util";
import type { Cause } from "#src/commands/handle.ts";
import { pauseInForce, pauseInstallation, resumeInstallation } from "#src/commands/installation.ts";
import type { Composition } from "#src/compose.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { visible } from "#src/html/visible.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { StartError } from "#src/platform/startError.ts";
import { allProcesses } from "#src/processes/index.ts";
import type { Process } from "#src/processes/process.ts";
import { oldestReadySql } from "#src/runtime/projections/depths.ts";
import { listenersReader } from "#src/runtime/work/listeners.ts";
import { type Parked, requestRetry } from "#src/runtime/work/parked.ts";
import { plannerLease } from "#src/runtime/work/plannerLease.ts";
import { type RewindGap, rewind } from "#src/runtime/work/rewind.ts";
import { loadConfig } from "#src/settings/config.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";

const usage = `The processes: how far their work is planned, what waits and what runs, and what was given up on. Works beside a running service.

  npm run processes -- status
  npm run processes -- parked [--process NAME]           lists the items that a process gave up on, with their errors
  npm run processes -- retry ID                          retries one item
  npm run processes -- retry --all [--process NAME]      retries all items (of one process); a running instance does it
  npm run processes -- pause [--reason TEXT]             lets nothing leave any more, of any workspace: no mail, no webhook
  npm run processes -- resume [--reason TEXT]            ends that; what has waited leaves
  npm run processes -- rewind [--dry-run|--yes] [--webhooks]
      After a restore of PostgreSQL from before the end of the event log: brings the processes to its end. Rules, webhooks and notices
      pass over what lies between (with --webhooks webhooks do not); everything else looks at it again and finishes what is left. Without --yes it only says what it would do.`;

type Run = (composition: Composition) => Promise<void>;

const status: Run = async ({ database, store }) => {
  const head = await store.head();
  const { rows: planners } = await database.query<{ holder: string }>(
    "select holder from work.leases where name = $1 and expires_at > now()",
    [plannerLease],
  );
  console.log(`planner: ${planners[0]?.holder ?? "nobody"}`);
  console.log(await describePause(store));
  const { rows } = await database.query(
    `select name as process, planned,
       count(*) filter (where lane.state = 'ready') as ready,
       round((${oldestReadySql})::numeric, 1)::float as oldest_ready_s,
       count(*) filter (where lane.state = 'claimed') as running,
       count(*) filter (where lane.state = 'waiting' and lane.obstacles is null) as waiting,
       count(*) filter (where lane.obstacles is not null) as set_aside,
       (select count(*) from work.parked where parked.process = name) as parked,
       (select min(due_at) from work.items where items.process = name and timer is not null) as next_timer
     from work.planned left join work.lanes lane on lane.process = name
     group by name, planned order by name = any($1), name`,
    [[...plannersOwn.keys()]],
  );
  console.table(rows.map((row) => shownRow(row, head)));
  const { rows: aside } = await database.query(
    `select obstacle as set_aside_until_it_changes, process, count(*) from work.lanes, unnest(obstacles) as obstacle
     group by obstacle, process order by count(*) desc, obstacle, process limit 20`,
  );
  if (aside.length > 0) console.table(aside);
};

/**
 * Subscriptions of the planner itself that look like processes, with their purpose. Until it is known which processes listen, every event
 * is planned.
 */
const plannersOwn: ReadonlyMap<unknown, string> = new Map([[listenersReader.name, "(planner: who listens)"]]);

function shownRow({ process, planned, ...counts }: Record<string, unknown>, head: number): object {
  return {
    process: plannersOwn.get(process) ?? process,
    ...counts,
    planned,
    head,
    lag: Math.max(0, head - Number(planned)),
  };
}

const showParked =
  (process: string | undefined): Run =>
  async ({ database }) => {
    const found = await parkedOf(database, process);
    for (const parked of found) console.log(describe(parked));
    console.log(found.length === 0 ? "no parked items" : `${found.length} parked`);
  };

async function parkedOf(sql: Sql, process: string | undefined): Promise<Parked[]> {
  const { rows } = await sql.query<Parked>(
    "select * from work.parked where $1::text is null or process = $1 order by id",
    [process ?? null],
  );
  return rows;
}

/** Describes an item without its content, which may be mail. */
function describe({
  id,
  process,
  key,
  position,
  timer,
  item,
  error,
  tries,
  parked_at,
  retry_requested_at,
}: Parked): string {
  const what = timer === null ? `event ${"type" in item ? item.type : ""} at ${position}` : `timer ${timer}`;
  const waiting = retry_requested_at ? ", retry requested" : "";
  const head = `${id}  ${process}  ${key}  ${what}, ${tries} tries, parked ${parked_at.toISOString()}${waiting}`;
  return `${head}\n${visible(error).replace(/^/gm, "      ")}`;
}

const retry =
  (which: { id?: number; process?: string }): Run =>
  async ({ database, deps }) => {
    const count = await requestRetry(database, which, deps.clock.now());
    if (count === 0) throw new StartError("No such parked item.");
    console.log(`${count} scheduled for retry by a running instance`);
  };

const pause =
  (reason: string | null): Run =>
  async ({ deps, store }) => {
    const changed = await pauseInstallation(deps, reason, byOperator());
    console.log(changed ? "paused: nothing leaves until `npm run processes -- resume`" : await describePause(store));
  };

const resume =
  (reason: string | null): Run =>
  async ({ deps }) => {
    const changed = await resumeInstallation(deps, reason, byOperator());
    console.log(changed ? "resumed: what has waited leaves" : "nothing was paused");
    if (loadConfig().startPaused) console.log("START_PAUSED is still true: the next start pauses again");
  };

async function describePause(store: EventStore): Promise<string> {
  const pause = await pauseInForce({ store });
  if (!pause) return "paused: no";
  return `paused: since ${pause.since} by ${pause.by}${pause.reason === null ? "" : `: ${pause.reason}`}`;
}

function byOperator(): Cause {
  const id = randomUUID();
  return { actor: { kind: "operator", id: userName() }, workspaceId: null, correlationId: id, causationId: id };
}

/** Returns the user's name; in a container the user may have none. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "operator";
  }
}

const rewindProcesses =
  ({ yes = false, webhooks = false }: { yes?: boolean; webhooks?: boolean }): Run =>
  async ({ store, database, deps, channels, telegram, provider, webhooks: hooks }) => {
    const holder = `rewind ${randomUUID()}`;
    const settings = {
      ...{ ...loadConfig(), provider, channels, telegram },
      ...{ instanceId: holder, webhooks: { ...hooks, onQueued() {} } },
    };
    const processes = allProcesses(deps, settings);
    const skips = ({ name, onlyNews }: Process) => onlyNews === true && !(webhooks && name === "queueWebhooks");
    const options = { store, database, clock: deps.clock, processes, holder, skips };
    const { between, logIsOlder } = await rewind(options, { act: yes });
    if (logIsOlder)
      console.log(
        "the event log is older than this database: what it lost is dropped, and the read models are made again at the next start",
      );
    const found = between.filter(({ events }) => events > 0);
    if (found.length > 0) console.table(found.map(shown));
    else console.log("the processes have nothing to do about what lies between");
    console.log(yes ? "done: start the instances" : "nothing was changed: with --yes it is done");
  };

const shown = ({ process, stood, events, skipped }: RewindGap) => ({
  ...{ process, "was at": stood, "events since": events },
  "what becomes of them": skipped ? "passed over" : "looked at again",
});

function read(args: string[]): Run {
  const { command, id, all, process, reason, yes, webhooks, "dry-run": dryRun } = options(args);
  if (command === "rewind" && !id && !all && !process && !reason && !(yes && dryRun))
    return rewindProcesses({ ...(yes && { yes }), ...(webhooks && { webhooks }) });
  if (yes || webhooks || dryRun) throw new Misuse("--yes, --dry-run and --webhooks are for `rewind`.");
  if (command === "pause" && !id && !all && !process) return pause(reason ?? null);
  if (command === "resume" && !id && !all && !process) return resume(reason ?? null);
  if (reason !== undefined) throw new Misuse("--reason is for `pause` and `resume`.");
  if (command === "status" && !id && !all && !process) return status;
  if (command === "parked" && !id && !all) return showParked(process);
  if (command === "retry" && all && !id) return retry({ process });
  if (command === "retry" && id && !all && !process) return retry({ id: idFrom(id) });
  throw new Misuse(command === undefined ? "Give a command." : "Wrong arguments.");
}

function options(args: string[]) {
  const flag = { type: "boolean" } as const;
  const text = { type: "string" } as const;
  const known = { all: flag, process: text, reason: text, yes: flag, "dry-run": flag, webhooks: flag } as const;
  const { values, positionals } = parseArgs({ args, options: known, allowPositionals: true });
  const [command, id, ...rest] = positionals;
  if (rest.length > 0) throw new Misuse(`Unexpected argument: ${rest.join(" ")}.`);
  return { command, id, ...values };
}

function idFrom(text: string): number {
  const id = Number(text);
  if (!Number.isSafeInteger(id) || id < 1) throw new Misuse("ID: expected the number that the `parked` command shows.");
  return id;
}

await runCommand(usage, () => withComposition(read(process.argv.slice(2))));
