import type { PlantedBug } from "./bug.ts";

const beside = {
  file: "test/work/planBesideEnding.test.ts",
  titles: "forgets nothing, whichever is first",
};
const sharing = (titles: string) => ({ file: "test/work/sharing.test.ts", titles });
const schedules = { file: "test/work/schedules.test.ts", titles: "forgets no lane" };

/** Of the work table: nothing is woken for nothing or forgotten, nobody works alone, and nobody waits for anybody. */
export const bugsInWorkTable: readonly PlantedBug[] = [
  {
    breaks: "an event raises the generation of its lane",
    file: "src/work/plan.ts",
    text: "on conflict (process, key) do update set generation = lane.generation + 1,",
    becomes: "on conflict (process, key) do update set generation = lane.generation,",
    foundBy: beside,
  },
  {
    breaks: "a time that has come raises the generation of its lane",
    file: "src/work/lanes.ts",
    text: "turn = turns.turn, generation = generation + 1, retry_at = null,",
    becomes: "turn = turns.turn, retry_at = null,",
    foundBy: { file: "test/work/takenAtOnce.test.ts", titles: "are none that changed since the plan was begun" },
  },
  {
    breaks: "the end of an obstacle raises the generation of the lanes that waited for it",
    file: "src/work/setAside.ts",
    text: "generation = generation + 1, obstacles = null\n     from turns where lane.process = turns.process and lane.key = turns.key`,",
    becomes: "obstacles = null\n     from turns where lane.process = turns.process and lane.key = turns.key`,",
    foundBy: { file: "test/work/takenAtOnce.test.ts", titles: "are none that changed since the plan was begun" },
  },
  {
    breaks: "a try of one that is set aside raises its generation",
    file: "src/work/setAside.ts",
    text: "generation = generation + 1, obstacles = null\n     from turns where lane.process = turns.process and lane.key = turns.key\n     returning",
    becomes:
      "obstacles = null\n     from turns where lane.process = turns.process and lane.key = turns.key\n     returning",
    foundBy: { file: "test/work/takenAtOnce.test.ts", titles: "are none that changed since the plan was begun" },
  },
  {
    breaks: "another try of what was parked raises the generation of its lane",
    file: "src/work/parked.ts",
    text: "set generation = lane.generation + 1,",
    becomes: "set generation = lane.generation,",
    foundBy: beside,
  },
  {
    breaks: "a timer set from another lane raises the generation of its own",
    file: "src/work/endings.ts",
    text: "lane.generation + (lane.claim is distinct from $5)::integer",
    becomes: "lane.generation",
    foundBy: beside,
  },
  {
    breaks: "a timer that a lane sets for itself does not wake it for nothing",
    file: "src/work/endings.ts",
    text: "lane.generation + (lane.claim is distinct from $5)::integer",
    becomes: "lane.generation + 1",
    foundBy: { file: "test/work/faults.test.ts", titles: "is not called again at once" },
  },
  {
    breaks: "an ending compares the generation",
    file: "src/work/plainEndings.ts",
    text: "and (not said.release or lane.generation = seen.generation)",
    becomes: "",
    foundBy: beside,
  },
  {
    breaks: "setting aside compares the generation",
    file: "src/work/endings.ts",
    text: " and lane.generation = aside.generation",
    becomes: "",
    foundBy: sharing("also one that came while it was being set aside"),
  },
  {
    breaks: "setting aside compares what it saw with what was planned since",
    file: "src/work/endings.ts",
    text: "(ended.get(stream) ?? -1) <= revision",
    becomes: "(ended.get(stream) ?? -1) <= revision || true",
    foundBy: sharing("if the obstacle ended while it was being set aside"),
  },
  {
    breaks: "setting aside locks the stream's row",
    file: "src/work/endings.ts",
    text: "order by stream for update",
    becomes: "order by stream",
    foundBy: beside,
  },
  {
    breaks: "a plan locks the lanes in the order of their keys",
    file: "src/work/plan.ts",
    text: "from given order by process, key",
    becomes: "from given order by process desc, key desc",
    foundBy: { file: "test/work/endingLocks.test.ts", titles: "locks in the order of their keys" },
  },
  {
    breaks: "an ending locks the lanes in the order of their keys",
    file: "src/work/endingLocks.ts",
    text: "as touched (process, key, workspace) order by process, key",
    becomes: "as touched (process, key, workspace) order by process desc, key desc",
    foundBy: { file: "test/work/endingLocks.test.ts", titles: "locks in the order of their keys" },
  },
  {
    breaks: "a new event wakes what is set aside",
    file: "src/work/plan.ts",
    text: "const isWoken = \"lane.state = 'waiting' and (",
    becomes: "const isWoken = \"lane.state = 'waiting' and lane.obstacles is null and (",
    foundBy: sharing("when its key has a new event"),
  },
  {
    breaks: "one lane of each obstacle is tried now and then",
    file: "src/work/endings.ts",
    text: "where stream = any($1) and try_at is null",
    becomes: "where stream = any($1) and try_at is null and false",
    foundBy: { file: "test/work/faults.test.ts", titles: "are tried one at a time, every ten minutes" },
  },
  {
    breaks: "what was written under a claim that is gone is refused",
    file: "src/work/plainEndings.ts",
    text: "and lane.key = said.key and lane.claim = said.claim",
    becomes: "and lane.key = said.key",
    foundBy: schedules,
  },
  {
    breaks: "an instance that comes back extends its claims before it takes over others'",
    file: "src/work/takeovers.ts",
    text: "now - backAt >= patienceMs && extendedAt >= backAt",
    becomes: "true",
    foundBy: { file: "test/work/takeovers.test.ts", titles: "after a silence" },
  },
  {
    breaks: "every instance takes lanes, not the one that plans alone",
    file: "src/work/lanes.ts",
    text: "where process = room.process and state = 'ready' and workspace",
    becomes:
      "where process = room.process and state = 'ready' and exists (select from work.leases where holder = $2) and workspace",
    foundBy: sharing("two instances each do a good part"),
  },
  {
    breaks: "a workspace with much to do does not come before one with little",
    file: "src/work/turns.ts",
    text: "past.workspace in (counted.workspace, '*')",
    becomes: "past.workspace is not null",
    foundBy: { file: "test/work/takenAtOnce.test.ts", titles: "of a workspace that comes later, too" },
  },
  {
    breaks: "one workspace does not get all the room",
    file: "src/work/room.ts",
    text: "Math.ceil(places * 0.75)",
    becomes: "places",
    foundBy: sharing("leaves room to others beside a workspace whose handlers never end"),
  },
  {
    breaks: "a new process begins where it says",
    file: "src/work/processRows.ts",
    text: 'begins === "now" ? head : 0',
    becomes: "0",
    foundBy: sharing("begins a new process where it says"),
  },
  {
    breaks: "a renamed process goes on where it stood",
    file: "src/work/processRows.ts",
    text: "before.name = any(wanted.formerly)",
    becomes: "false",
    foundBy: sharing("a renamed one where the slowest of those before stood"),
  },
  {
    breaks: "what is due goes by one clock for all instances",
    file: "src/postgres/sharedClock.ts",
    text: "offsetMs = Math.round((least + most) / 2);",
    becomes: "offsetMs = 0;",
    foundBy: { file: "test/work/clocks.test.ts", titles: "neither early nor late" },
  },
];
