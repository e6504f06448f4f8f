import { isDeepStrictEqual } from "node:util";
import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import { startInProcess } from "#test/support/inProcess.ts";
import { createRandom, type Random } from "../support/random.ts";
import { makeHistory } from "./pastHistory.ts";
import { openReplay, type PastQuestion } from "./pastReplay.ts";
import type { Proof, Report } from "./proof.ts";

/** Questions asked about each change of the history, on average. */
const questionsPerChange = 4;
/** Changes, at most. */
const mostChanges = 300;

export const past: Proof = {
  name: "past",
  title: "what a route answers about a time is what a replay of the log up to that time answers",
  unit: "questions",
  full: 10_000,
  checked: 1_500,
  sample: 300,
  async run({ size, seed, report }) {
    const random = createRandom(seed);
    const service = await startInProcess();
    try {
      const changes = Math.min(mostChanges, Math.ceil(size / questionsPerChange));
      const onProgress = (done: number): void => report.progress(done, changes, "changes");
      const tenant = await makeHistory(service, { random, changes, onProgress });
      await service.database.transaction(async (sql) => {
        const replay = await openReplay(service, sql, tenant.id);
        const questions = drawQuestions(replay.events, tenant.id, { random, size });
        const durations = new Map<string, number[]>();
        let existing = 0;
        for (const [index, question] of questions.entries()) {
          const began = performance.now();
          const answer = await tenant.ask(pathOf(question));
          const took = performance.now() - began;
          durations.set(question.line, [...(durations.get(question.line) ?? []), took]);
          const expected = await replay.ask(question);
          if (expected !== undefined) existing += 1;
          const isSame = isDeepStrictEqual(comparable(answer.json, answer.status), comparable(expected));
          if (!isSame) report.violation(differenceOf(question, { answer, expected }));
          report.progress(index + 1, size, "questions");
        }
        report.figure("events", replay.events.length);
        report.figure("questions about what existed", `${existing} of ${size}`);
        if (existing < size / 4) report.violation(`only ${existing} of ${size} questions are about what existed`);
        reportDurations(report, durations);
      });
    } finally {
      await service.stop();
    }
  },
};

/** Routes that answer about a time, and the streams that they are about; none: about the workspace. */
const asked: Record<string, string | null> = {
  "GET /v1/threads/:id": "thread",
  "GET /v1/drafts/:id": "draft",
  "GET /v1/identities/:identity_id": "identity",
  "GET /v1/identities": null,
  "GET /v1/rules/:id": "rule",
  "GET /v1/rules": null,
  "GET /v1/billing/subscription": null,
};

/** Draws questions, ordered by time. Many are about the moment of an event, or the millisecond before or after it. */
function drawQuestions(
  log: readonly Recorded[],
  workspaceId: string,
  { random, size }: { random: Random; size: number },
): PastQuestion[] {
  const ours = log.filter(({ metadata }) => metadata.workspaceId === workspaceId);
  const times = ours.map(({ metadata }) => Date.parse(metadata.at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const idsOf = (category: string): string[] => [
    ...new Set(ours.filter(({ stream }) => categoryOf(stream) === category).map(({ stream }) => idOf(stream))),
  ];
  const ids = new Map(Object.entries(asked).map(([line, category]) => [line, category ? idsOf(category) : []]));

  const draw = (): PastQuestion => {
    const line = random.pick(Object.keys(asked));
    const name = /:(\w+)/.exec(line)?.[1];
    const id = name && (random.pick(ids.get(line) as string[]) ?? workspaceId);
    const near = id && random.chance(0.7) ? ours.filter(({ stream }) => idOf(stream) === id) : ours;
    const ofEvent = Date.parse(random.pick(near.length > 0 ? near : ours).metadata.at) + random.below(3) - 1;
    const time = random.chance(0.8) ? ofEvent : first + random.below(last - first);
    return { line, params: name ? { [name]: id as string } : {}, at: new Date(Math.min(time, last)) };
  };
  return Array.from({ length: size }, draw).sort((a, b) => a.at.getTime() - b.at.getTime());
}

const pathOf = ({ line, params, at }: PastQuestion): string => {
  const path = line.replace(/:(\w+)/, (_, name) => params[name] as string);
  return `${path}?at=${at.toISOString()}${asked[line] === null && !line.endsWith("subscription") ? "&limit=100" : ""}`;
};

/** Returns an answer without what is about the present: an identity's warnings, and the cursor, which names the question. */
function comparable(answer: any, status = 200): unknown {
  if (answer === undefined || status === 404) return undefined;
  const { next_cursor: _, next: __, ...rest } = answer;
  const bare = ({ warnings, ...row }: any) => ("email_address" in row ? row : { warnings, ...row });
  return Array.isArray(rest.data) ? { ...rest, data: rest.data.map(bare) } : bare(rest);
}

function differenceOf(question: PastQuestion, { answer, expected }: { answer: any; expected: any }): string {
  const [is, should] = [comparable(answer.json, answer.status), comparable(expected)] as any[];
  const shown = is && should ? differences(is, should, "").join("; ").slice(0, 500) : "";
  return `${pathOf(question)}: ${answer.outcome}${expected ? "" : ", replayed 404"} ${shown}`;
}

/** Returns the differing values of two answers, each with its path. */
function differences(is: any, should: any, path: string): string[] {
  if (isDeepStrictEqual(is, should)) return [];
  if (typeof is !== "object" || typeof should !== "object" || is === null || should === null)
    return [`${path} ${JSON.stringify(is)}, replayed ${JSON.stringify(should)}`];
  return [...new Set([...Object.keys(is), ...Object.keys(should)])].flatMap((key) =>
    differences(is[key], should[key], `${path}.${key}`),
  );
}

function reportDurations(report: Report, durations: ReadonlyMap<string, readonly number[]>): void {
  for (const [line, all] of [...durations, ["all", [...durations.values()].flat()] as const]) {
    const sorted = all.toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
    report.figure(line, `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms of ${sorted.length}`);
  }
}
