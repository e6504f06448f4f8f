import { recordCheckout, recordProcessorEvent } from "#src/commands/billing/customers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { currentPlan } from "#src/commands/plans/plans.ts";
import { quotaStreamOf, reserveQuota } from "#src/commands/plans/quotas.ts";
import { followSubscriptions } from "#src/processes/followSubscriptions.ts";
import { createHandlerContext } from "#src/runtime/work/handlerContext.ts";
import { isRelevant } from "#src/runtime/work/relevance.ts";
import { Rejected } from "#streams/decider.ts";
import type { Recorded } from "#streams/event.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { system } from "#test/support/cause.ts";
import { workspaceCreated } from "#test/support/examples/index.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";
import type { Random } from "../../../scripts/support/random.ts";
import type { Life } from "./lives.ts";
import { createSubscriptionWorld, type ProcessorTold } from "./subscriptionWorld.ts";

const workspaceId = "0199aaaa-0000-7000-8000-000000000001";
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Caps of mails, small so that every customer reaches them. */
export const caps = { builder_pack: 3, pro: 5, agency: 8 };

/** The delivery of the processor's events: milliseconds from sending to each arrival; several times, or never. */
export type EventDelivery = { arrivals: () => number[]; isAway: () => boolean; listensToTimers: boolean };

export const inOrder: EventDelivery = { arrivals: () => [0], isAway: () => false, listensToTimers: false };

/** Loses a third of the events, delivers a third twice, in any order; a tenth of the time the processor is unreachable. */
export const shuffled = (random: Random): EventDelivery => ({
  arrivals: () => {
    const late = () => random.below(random.pick([minuteMs, 60 * minuteMs, 3 * dayMs]));
    return Array.from({ length: random.below(3) }, late);
  },
  isAway: () => random.chance(0.1),
  listensToTimers: true,
});

export type LifeMoment = {
  /** The plan that the service knows and enforces, and what the customer has. */
  plan: Awaited<ReturnType<typeof currentPlan>>;
  truth: ReturnType<ReturnType<typeof createSubscriptionWorld>["truth"]>;
  now: Date;
};

type Reserved = { stream: string; cap: number };

/**
 * Plays a customer's life for a workspace: the processor's events by this delivery, the process that follows subscriptions, and between
 * them mail up to the cap. `onMoment` is called when nothing more happens at a moment.
 */
export async function liveThrough(
  life: Life,
  post: EventDelivery,
  onMoment: (moment: LifeMoment) => void = () => undefined,
) {
  let nowMs = life.begins.getTime();
  const clock = { now: () => new Date(nowMs), monotonic: () => nowMs };
  const store = createMemoryEventStore();
  let ids = 0;
  const uuid = () => `0199aaaa-0000-7000-8000-${String(++ids).padStart(12, "0")}`;
  const services = createStreamServices({ store, clock, ids: { uuid, random: () => Buffer.alloc(0) } });
  const limits = Object.fromEntries(
    Object.entries(planLimits).map(([plan, all]) => [
      plan,
      { ...all, emailsPerPeriod: caps[plan as keyof typeof caps] },
    ]),
  );
  const deps = { ...services, store, clock, settings: { planLimits: limits } } as unknown as Dependencies;
  const cause = system(workspaceId);

  const queue: { at: number; run: () => unknown }[] = [];
  const later = (at: number, run: () => unknown) => void queue.push({ at, run });
  const timers = new Map<string, number>();
  const alarms: string[] = [];
  deps.log = { error: (_, message) => void alarms.push(message) };

  const hook = (event: ProcessorTold) => recordProcessorEvent(deps, event, system());
  const world = createSubscriptionWorld({
    now: clock.now,
    tells: (event) => {
      for (const delay of post.arrivals()) later(nowMs + delay, () => hook(event));
    },
  });
  const process = followSubscriptions(deps, world.payments);

  /** Handles an event or timer as the runner of processes does: the handler, its timers, and its request to be called again. */
  async function handle(subject: Recorded | { key: string; name: string; dueAt: Date }, attempt = 1): Promise<void> {
    world.setAway(post.isAway());
    const timer = { payload: {}, ...subject } as never;
    const context = createHandlerContext(
      {
        ...{ process: process.name, clock, projected: async () => true, attempt, signal: new AbortController().signal },
        onTimer(change) {
          if ("set" in change) timers.set(change.set.name, change.set.dueAt.getTime());
          else timers.delete(change.name);
        },
      },
      timer,
    );
    const answer =
      "key" in subject ? await process.onTimer!(timer, context) : await process.on[subject.type]!(timer, context);
    if (answer && "againInMs" in answer) later(nowMs + answer.againInMs, () => handle(subject, attempt + 1));
  }

  let read = 0;
  async function handleNew(): Promise<void> {
    while (read < store.all.length) {
      const event = store.all[read++]!;
      if (isRelevant(process, event)) await handle(event);
    }
  }

  const reserved: Reserved[] = [];
  /** Sends mail up to the cap. */
  async function send(): Promise<void> {
    for (;;) {
      const quotaStream = await quotaStreamOf(deps, workspaceId);
      const { plan } = await currentPlan(deps, workspaceId);
      try {
        await reserveQuota(deps, { workspaceId, quotaStream, reservationId: uuid() }, cause);
      } catch (error) {
        if (error instanceof Rejected && error.code === "plan_limit_reached") return;
        throw error;
      }
      reserved.push({ stream: quotaStream, cap: caps[plan] });
    }
  }

  const workspace = workspaceCreated({
    plan: "builder_pack",
    betaOverride: false,
    createdAt: life.begins.toISOString(),
  });
  await deps.workspaces.handle(workspaceId, { type: "CreateWorkspace", workspace }, cause);
  await deps.processorCustomers.handle("cus_1", { type: "LinkCustomer", workspaceId }, cause);
  await deps.billings.handle(workspaceId, { type: "KeepCustomer", customerId: "cus_1" }, cause);

  let sessions = 0;
  for (const { at, action } of life.steps) {
    later(life.begins.getTime() + at, async () => {
      if (action.does === "subscribe") {
        const { state } = await deps.billings.load(workspaceId);
        const { plan, interval } = action;
        const checkout = {
          sessionId: `cs_${++sessions}`,
          plan,
          interval,
          expiresAt: new Date(nowMs + dayMs).toISOString(),
        };
        await recordCheckout(deps, { workspaceId, checkout, replaces: state.checkout?.sessionId ?? null }, cause);
      }
      world.act(action);
    });
  }
  // Mail reaches the cap every few days, and exactly at the turn of periods.
  const ends = life.begins.getTime() + life.ends;
  for (let at = life.begins.getTime(); at < ends; at += 5 * dayMs) later(at, send);

  // Long enough for everything that was delayed, and for the check of the next day.
  const settled = ends + 5 * dayMs;
  for (;;) {
    const dueTimer = post.listensToTimers ? [...timers].sort(([, one], [, other]) => one - other)[0] : undefined;
    queue.sort((one, other) => one.at - other.at);
    const next = Math.min(queue[0]?.at ?? settled, dueTimer?.[1] ?? settled, world.due(), settled);
    if (next >= settled) break;
    nowMs = Math.max(nowMs, next);
    if (world.due() <= nowMs) {
      world.turn();
      // Queued in order: by then the processor's event about it has arrived.
      later(nowMs, send);
    } else if (queue[0] && queue[0].at <= nowMs) await queue.shift()!.run();
    else if (dueTimer) {
      timers.delete(dueTimer[0]);
      await handle({ key: workspaceId, name: dueTimer[0], dueAt: clock.now() });
    }
    await handleNew();
    const isQuiet = world.due() > nowMs && queue.every(({ at }) => at > nowMs);
    if (isQuiet) onMoment({ plan: await currentPlan(deps, workspaceId), truth: world.truth(), now: clock.now() });
  }
  nowMs = settled;

  return { plan: await currentPlan(deps, workspaceId), truth: world.truth(), world, reserved, alarms, log: store.all };
}
