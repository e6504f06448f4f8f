import { parseArgs } from "node:util";
import type { Composition } from "#src/compose.ts";
import type { Sql } from "#src/postgres/database.ts";
import { StartError } from "#src/startError.ts";
import { type Parked, requestRetry } from "#src/subscriptions/parked.ts";
import { besideService } from "./support/beside.ts";
import { Misuse, runCommand } from "./support/command.ts";

const usage = `The processes: which instance runs each, how far it has got, and what it gave up on. Works beside a running service.

  npm run processes -- status
  npm run processes -- parked [--process NAME]           lists the items that a process gave up on, with their errors
  npm run processes -- retry ID                          retries one item
  npm run processes -- retry --all [--process NAME]      retries all items (of one process); the instance that runs the process does it`;

type Run = (composition: Composition) => Promise<void>;

const status: Run = async ({ database, store }) => {
  const head = await store.head();
  const { rows } = await database.query(
    `select substr(name, length('process:') + 1) as process, case when expires_at > now() then holder end as holder, position,
       (select count(*) from work.parked where 'process:' || process = name) as parked,
       (select count(*) from work.timers where 'process:' || process = name) as timers,
       (select min(due_at) from work.timers where 'process:' || process = name) as next_timer
     from work.leases where name like 'process:%' order by name`,
  );
  console.table(
    rows.map(({ process, holder, position, parked, timers, next_timer }) => {
      const lag = Math.max(0, head - position);
      return { process, holder: holder ?? "nobody", position, head, lag, parked, timers, next_timer };
    }),
  );
};

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

/** Everything but the item's content, which may be mail. */
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
  return `${head}\n${error.replace(/^/gm, "      ")}`;
}

const retry =
  (which: { id?: number; process?: string }): Run =>
  async ({ database, deps }) => {
    const count = await requestRetry(database, which, deps.clock.now());
    if (count === 0) throw new StartError("No such parked item.");
    console.log(`${count} scheduled for retry by the instance that runs the process`);
  };

function read(args: string[]): Run {
  const { command, id, all, process } = options(args);
  if (command === "status" && !id && !all && !process) return status;
  if (command === "parked" && !id && !all) return showParked(process);
  if (command === "retry" && all && !id) return retry({ process });
  if (command === "retry" && id && !all && !process) return retry({ id: idFrom(id) });
  throw new Misuse(command === undefined ? "Give a command." : "Wrong arguments.");
}

function options(args: string[]) {
  const known = { all: { type: "boolean" }, process: { type: "string" } } as const;
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

await runCommand(usage, () => besideService(read(process.argv.slice(2))));
