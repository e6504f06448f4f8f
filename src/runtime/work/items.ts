import type { Timer } from "#src/processes/process.ts";

/** How often an item was tried, failed, and did not end in its time. `parked`: the id under which it was given up on before. */
type Tried = { id: number; tries: number; failures: number; timeouts: number; parked: number | null };

/** An event to be handled, by its place in the log. */
export type EventItem = Tried & { position: number; stream: string; revision: number };
/** A timer that is due. */
export type TimerItem = Tried & { timer: Omit<Timer, "key"> };

/** One thing that a lane has to do. */
export type Item = EventItem | TimerItem;

export const isEventItem = (item: Item): item is EventItem => "position" in item;

/** An item as PostgreSQL answers it. */
export type ItemRow = Tried & {
  position: number | null;
  stream: string | null;
  revision: number | null;
  timer: string | null;
  payload: Record<string, unknown> | null;
  dueAt: Date;
};

/** The columns of a row of `work.items` under which it is read. */
export const itemColumns =
  'id, position, stream, revision, timer, payload, due_at as "dueAt", tries, failures, timeouts, parked';

/** At most this many items are worked on under one turn; then other lanes come first. */
export const itemsOfTurn = 20;

/** A timer set again, in an insertion into `work.items as item`, is another item: what is said about the one before does not touch it. */
export const timerAgain = `(process, key, timer) where timer is not null and parked is null do update
  set id = default, due_at = excluded.due_at, payload = excluded.payload, tries = 0, failures = 0, timeouts = 0`;

export function itemOf({ position, stream, revision, timer, payload, dueAt, ...tried }: ItemRow): Item {
  if (timer !== null) return { ...tried, timer: { name: timer, dueAt, payload: payload ?? {} } };
  return { ...tried, position: position!, stream: stream!, revision: revision! };
}

/** Of events the newest alone, which has failed as often as any of them, and the timers; and the events it covers. */
export function newestOf(items: readonly Item[]): { toDo: Item[]; covered: Item[] } {
  const events = items.filter(isEventItem);
  const timers = items.filter((item) => !isEventItem(item));
  const newest = events.pop();
  if (!newest) return { toDo: timers, covered: [] };
  const most = (count: "tries" | "failures" | "timeouts"): number =>
    Math.max(newest[count], ...events.map((event) => event[count]));
  const counts = { tries: most("tries"), failures: most("failures"), timeouts: most("timeouts") };
  return { toDo: [{ ...newest, ...counts }, ...timers], covered: events };
}
